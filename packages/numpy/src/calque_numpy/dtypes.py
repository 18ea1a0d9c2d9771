"""NumPy's functions of dtypes: their results are known while tracing, so that Python can branch on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import implements, typeof
from calque_core import result_type as _result_type
from calque_core.engine import is_array_like
from calque_core.engine.numpy_functions import can_cast as _can_cast
from calque_core.extend import where as place
from calque_numpy.creation import asarray

Value = Any


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Value) -> np.dtype[Any]:
    """Return the dtype of an operation on these arrays, scalars or dtypes; None is the dtype of a Python float.

    Raises: TypeError for any other argument.

    >>> import numpy as np
    >>> from calque_numpy import result_type
    >>> result_type(np.float32(1), 2.0), result_type(np.int32, np.float32)
    (dtype('float32'), dtype('float64'))
    """
    return _result_type(*(float if x is None else x for x in arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether `casting` allows the conversion from one dtype, or the dtype of an array, to another.

    `casting` is "no", "equiv", "safe", "same_kind" or "unsafe".
    Raises: TypeError for a Python scalar, whose dtype depends on its value; ValueError for another `casting`.

    >>> import numpy as np
    >>> from calque_numpy import can_cast
    >>> can_cast(np.int32, np.float64), can_cast(np.zeros(2), np.float32)
    (True, False)
    """
    if isinstance(from_, (bool, int, float, complex)) and not isinstance(from_, np.generic):
        raise TypeError(
            f"can_cast{place()}: the first argument is the Python scalar {from_!r}. Give a dtype or an array."
        )
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"can_cast{place()}: casting is {casting!r}. Use 'safe', 'same_kind', 'unsafe' or 'no'.")
    old = typeof(from_).dtype if is_array_like(from_) else np.dtype(from_)
    return _can_cast(old, np.dtype(to), casting)


@implements(np.iscomplexobj)
def iscomplexobj(x: Value) -> bool:
    """Return whether an array has a complex dtype, or a dtype or scalar type is complex, as in JAX.

    >>> import numpy as np
    >>> from calque_numpy import iscomplexobj
    >>> iscomplexobj(np.zeros(2)), iscomplexobj(1j), iscomplexobj(np.complex64)
    (False, True, True)
    """
    if isinstance(x, (type, np.dtype)):
        return np.dtype(x).kind == "c"
    if isinstance(x, (list, tuple)):
        x = asarray(x)
    return bool(typeof(x).kind == "c") if is_array_like(x) else np.iscomplexobj(x)


@implements(np.isrealobj)
def isrealobj(x: Value) -> bool:
    """Return whether an array has a dtype that is not complex, or a dtype or scalar type is not complex, as in JAX.

    >>> import numpy as np
    >>> from calque_numpy import isrealobj
    >>> isrealobj(np.zeros(2)), isrealobj(1j)
    (True, False)
    """
    return not iscomplexobj(x)
