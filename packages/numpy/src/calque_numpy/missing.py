"""The functions of NumPy that this package lacks, or that differ on purpose, each with its reason.

One idea: `__all__` lists functions that exist, these tables the absent ones, so that an AttributeError gives advice.
The page of the documentation with every function is made from both, by `tests/docs/numpy_functions.py`.
`ours_or_numpys` gives the functions that exist; names of NumPy itself, such as `pi`, load no further module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core.engine import SHORT_DTYPES, short_dtype
from calque_core.extend import late_function

_FAMILIES = {
    "concerns the memory of an array, and traced values have none; use NumPy's on the transformed function's result": (
        "asarray_chkfinite ascontiguousarray asfortranarray isfortran may_share_memory "
        "nested_iters require shares_memory"
    ),
    "changes an array in place; use x.at[index].set or calque_numpy.where": "copyto putmask",
    "makes a matrix class, whose operators are not those of arrays": "asmatrix bmat",
    "computes with dates, and calque computes with numbers": (
        "busday_count busday_offset datetime_as_string datetime_data is_busday isnat"
    ),
    "sets or reads the state of NumPy itself": (
        "get_include getbufsize geterr geterrcall info setbufsize seterr seterrcall show_config show_runtime test"
    ),
    "is NumPy's own inspection of types; use x.dtype, or calque_numpy.result_type": (
        "common_type min_scalar_type mintypecode typename"
    ),
    "has a dtype that depends on values; use calque_numpy.real": "real_if_close",
    "has another name since NumPy 2.0: vstack": "row_stack",
    "has another name: asarray, since there are no subclasses of arrays": "asanyarray",
}
MISSING = {name: reason for reason, names in _FAMILIES.items() for name in names.split()}
DIFFERENT = {
    "sum": "no `out=`; the same holds for every function",
    "copy": "a device array cannot change, so it is returned",
}


def missing_name(module: str) -> Callable[[str], type[np.generic] | None]:
    """Return the function that gives short dtypes as attributes of a module, and None for another name.

    Raises: AttributeError with the reason for a name in `MISSING`.

    >>> import calque_numpy
    >>> calque_numpy.isfortran
    Traceback (most recent call last):
    AttributeError: calque_numpy has no attribute 'isfortran': it concerns the memory of an array, ...
    """

    def attribute(name: str) -> type[np.generic] | None:
        if name in MISSING:
            raise AttributeError(f"{module} has no attribute {name!r}: it {MISSING[name]}.", name=name)
        return short_dtype(name, module) if name in SHORT_DTYPES else None

    return attribute


def ours_or_numpys(package: str, name: str, value: Any) -> Any:
    """Return `value` as the name of our package: a function of ours as `evaluated_by_numpy`, NumPy's own as it is.

    >>> ours_or_numpys("calque_numpy", "pi", np.pi)
    3.141592653589793
    """
    return value if value is getattr(np, name, None) else _evaluated_by_numpy(package, name, value)


_evaluated_by_numpy = late_function("calque_numpy.evaluation", "evaluated_by_numpy")
