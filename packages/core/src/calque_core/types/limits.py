"""The limits of dtypes: widths in bits, least and greatest numbers, and the dtype that holds sums of many elements."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

from calque_core.types.avals import is_array_like, typeof
from calque_core.types.dtypes import ML_DTYPES, SHORT_DTYPES, as_dtype, kind_of, native_dtype

_HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")


def finfo(dtype: Any) -> Any:
    """Return the limits of a floating dtype, or of the dtype of an array, as `numpy.finfo`: `.eps`, `.max`, ...

    Raises: TypeError for another dtype.

    >>> import numpy as np
    >>> from calque_core import finfo
    >>> finfo(np.float32).max
    np.float32(3.4028235e+38)
    """
    dtype = _dtype_of(dtype)
    if kind_of(dtype) not in "fc":
        raise TypeError(f"finfo of {dtype}: not a floating dtype. Use iinfo for integers.")
    return _limits(dtype)


def iinfo(dtype: Any) -> Any:
    """Return the limits of an integer dtype, or of the dtype of an array, as `numpy.iinfo`: `.min`, `.max`, `.bits`.

    Raises: TypeError for another dtype.

    >>> import numpy as np
    >>> from calque_core import iinfo
    >>> iinfo(np.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """
    dtype = _dtype_of(dtype)
    if kind_of(dtype) not in "iu":
        raise TypeError(f"iinfo of {dtype}: not an integer dtype. Use finfo for floats.")
    return _limits(dtype)


def _dtype_of(x: Any) -> np.dtype[Any]:
    return typeof(x).dtype if is_array_like(x) else as_dtype(x)


@cache
def _limits(dtype: np.dtype[Any]) -> Any:
    """Return the `finfo` or `iinfo` of a dtype, from the package that defines the dtype."""
    package = importlib.import_module(ML_DTYPES) if dtype.name in SHORT_DTYPES else np
    return package.iinfo(dtype) if kind_of(dtype) in "iu" else package.finfo(dtype)


@cache
def bit_width(dtype: np.dtype[Any]) -> int:
    """Return the number of bits of an element; arrays store one of fewer than 8 bits in a byte.

    >>> import numpy as np
    >>> from calque_core.engine import bit_width
    >>> bit_width(np.dtype("float32"))
    32
    """
    row = SHORT_DTYPES.get(dtype.name)
    return 8 * dtype.itemsize if row is None else row.bits


@cache
def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which many elements are combined, before the result is converted to `dtype`.

    Half precision counts to 2048, so it is summed in single precision.  Short dtypes have theirs in their table:
    integers of 4 bits are combined in 8, and wrap around at the end.  A ufunc takes no dtype of another byte order than
    the machine's.

    >>> import numpy as np
    >>> from calque_core.extend import wide_dtype
    >>> wide_dtype(np.dtype("float16")), wide_dtype(np.dtype("int32"))
    (dtype('float32'), dtype('int32'))
    """
    dtype = native_dtype(dtype)
    row = SHORT_DTYPES.get(dtype.name)
    if row is not None:
        return np.dtype(row.wide)
    return _SINGLE if dtype == _HALF else dtype


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of `max`: -inf (in both parts if complex), the least number without infinity, or False.

    >>> import numpy as np
    >>> from calque_core.engine import lowest
    >>> lowest(np.dtype("int8")), lowest(np.dtype("float32"))
    (np.int8(-128), np.float32(-inf))
    """
    return _extreme(dtype, -np.inf)


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the identity of `min`: inf (in both parts if complex), the greatest number without infinity, or True.

    >>> import numpy as np
    >>> from calque_core.engine import highest
    >>> highest(np.dtype("int8")), highest(np.dtype("bool"))
    (np.int8(127), np.True_)
    """
    return _extreme(dtype, np.inf)


@cache
def _extreme(dtype: np.dtype[Any], infinity: float) -> Any:
    if kind_of(dtype) == "b":
        return np.bool_(infinity > 0)
    if kind_of(dtype) == "c":
        return dtype.type(complex(infinity, infinity))
    if kind_of(dtype) == "f" and _has_infinity(dtype):
        return dtype.type(infinity)
    return dtype.type(_limits(dtype).max if infinity > 0 else _limits(dtype).min)


def _has_infinity(dtype: np.dtype[Any]) -> bool:
    """Tell whether a float dtype has infinities; where it has none, infinity becomes NaN or the greatest number."""
    return bool(np.isinf(dtype.type(np.inf)))
