"""Promotion: the dtype of an operation on operands of several dtypes.

One idea: NumPy's dtypes promote as in NumPy 2, and short dtypes promote by one table, jax's:

| operand | bool | integer | float16 | wider float or complex | another short float | Python int | float | complex |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| float that promotes | kept | kept | float32 | the other dtype | none | kept | kept | complex64 |
| other short float | kept | kept | none | none | none | kept | kept | none |
| short integer | kept | none | none | none | none | kept | none | none |

The column `promotes` of `SHORT_DTYPES` tells the first row from the second.  Where a cell says none, the operation is
refused, and the program converts.  Python scalars are weak: one that is no higher in kind than the other operand takes
its dtype.  With `numpy_dtype_promotion("by_kind")` the highest kind decides: an integer beside a float takes its dtype.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calque_core.context import Settings, here
from calque_core.types.dtypes import (
    ML_DTYPES,
    SHORT_DTYPES,
    _canonical,
    _scalar_dtype,
    canonicalize_dtype,
    is_float,
    kind_of,
)

_KIND_ORDER: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
_ORDER_OF_KIND = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "V": 4}


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """Return the dtype of a result computed from strongly typed operands of dtypes `a` and `b`.

    Raises: TypeError if they have no common dtype: a float of 8 bits beside another float, 4 bits beside 8.

    >>> import numpy as np
    >>> from calque_core import promote_types
    >>> promote_types(np.int32, np.float32)
    dtype('float64')
    """
    return canonicalize_dtype(_promote((canonicalize_dtype(a), canonicalize_dtype(b)), is_by_kind()))


def is_by_kind() -> bool:
    """Tell whether the settings ask for the promotion of dtypes by their kinds."""
    return here().settings.numpy_dtype_promotion == "by_kind"


def wide_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a quotient or a mean of integers of a dtype: float64, by kind float32 for up to 32 bits."""
    return canonicalize_dtype(np.float32 if dtype.itemsize < 8 and is_by_kind() else np.float64)


def _promote(dtypes: tuple[np.dtype[Any], ...], by_kind: bool = False) -> np.dtype[Any]:
    """Return the common dtype of strong operands."""
    added = [dtype for dtype in dtypes if dtype.isbuiltin != 1]  # it is 1 for NumPy's, whose names take 5 us
    rows = {dtype: SHORT_DTYPES[dtype.name] for dtype in added if dtype.name in SHORT_DTYPES}
    if not rows:
        floats = [dtype for dtype in dtypes if dtype.kind in "fc"] if by_kind else ()
        return np.result_type(*(floats or dtypes))
    short = next(iter(rows))
    others = [dtype for dtype in dtypes if dtype != short and kind_of(dtype) != "b"]
    if rows[short].kind == "f":
        others = [dtype for dtype in others if is_float(dtype) or dtype in rows]
    if not others:
        return short
    for dtype in (short, *others):
        if dtype in rows and not rows[dtype].promotes:
            raise TypeError(_no_common_dtype(dtype, next(d for d in (short, *others) if d != dtype).name))
    # Of two floats of 16 bits, neither contains all values of the other dtype.
    return np.result_type(*(np.dtype(rows[dtype].wide) if dtype in rows else dtype for dtype in (short, *others)))


def can_cast(old: np.dtype[Any], new: np.dtype[Any], casting: str) -> bool:
    """Tell whether `casting` allows the conversion, as `numpy.can_cast`; to and from `SHORT_DTYPES`, too.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import can_cast
    >>> can_cast(np.dtype("int8"), np.dtype("float32"), "same_kind")
    True
    """
    if not {old.name, new.name} & SHORT_DTYPES.keys():
        return bool(np.can_cast(old, new, casting))  # type: ignore[arg-type]
    if casting == "unsafe":
        return True
    if casting == "same_kind":
        return "buifc".index(kind_of(old)) <= "buifc".index(kind_of(new))
    return old == new or (casting == "safe" and np.can_cast(old, new))


def _no_common_dtype(short: np.dtype[Any], other: str) -> str:
    return (
        f"{short} and {other} have no common dtype: calque does not widen a dtype of 8 bits or fewer of {ML_DTYPES} "
        "without a conversion. Convert one of the operands first, for example with "
        f"x.astype('{SHORT_DTYPES[short.name].wide}')."
    )


def weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...]) -> np.dtype[Any]:
    """Return the common dtype of strongly typed operands (`dtypes`) and Python scalars (`kinds`).

    A scalar of a higher kind lifts the result to that kind's default dtype, as NEP 50 says; any other scalar
    changes nothing.

    >>> weak_promotion((np.dtype("float32"),), (float,)), weak_promotion((np.dtype("int8"),), (float,))
    (dtype('float32'), dtype('float64'))
    """
    return _weak_promotion(dtypes, kinds, here().settings)


@cache
def _weak_promotion(dtypes: tuple[np.dtype[Any], ...], kinds: tuple[type, ...], settings: Settings) -> np.dtype[Any]:
    highest = max(kinds, key=_KIND_ORDER.__getitem__) if kinds else bool
    if not dtypes:
        return _scalar_dtype(highest, settings)
    by_kind = settings.numpy_dtype_promotion == "by_kind"
    strong = _canonical(_promote(dtypes, by_kind), settings.enable_x64)
    if not kinds or _KIND_ORDER[highest] <= _ORDER_OF_KIND[kind_of(strong)]:
        return strong
    row = SHORT_DTYPES.get(strong.name)
    if row is not None and not row.promotes and (highest is complex or row.kind != "f"):
        raise TypeError(_no_common_dtype(strong, highest.__name__))
    if highest is complex and is_float(strong):
        return np.result_type(strong, np.complex64) if strong.itemsize <= 4 else _canonical(np.dtype("c16"), True)
    return _canonical(_scalar_dtype(highest, settings), settings.enable_x64)
