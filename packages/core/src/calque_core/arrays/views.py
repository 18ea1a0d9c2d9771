"""`x.view(dtype)`: the bits of the elements, in the order of memory, read as another dtype.

One idea: `lax.bitcast_convert_type` reads real numbers; a complex number is its two parts, and a bool is a byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype
from calque_core.frames.source import where
from calque_core.ops.elementwise.complex import real_dtype
from calque_core.ops.shapes.create import dtype_argument
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.dtypes import dtype_name, kind_of
from calque_core.types.limits import bit_width

Value = Any

_BYTE = np.dtype("uint8")


def view(x: Value, dtype: Any = None) -> Value:
    """Return the bits of the elements read as another dtype; a new value, where NumPy's shares memory.

    Shapes: x [*s, n] -> [*s, m] with as many bytes; any shape is kept at equal width.
    Raises: ValueError if the last axis does not hold a whole number of elements, or there is none; TypeError for a
    class of arrays in place of a dtype.
    """
    if dtype is None:
        return x
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        raise TypeError(f"x.view({dtype.__name__}){where()}: a traced array has no class of NumPy's. Remove the call.")
    aval, new = typeof(x), dtype_argument(dtype)
    if aval.dtype == new:
        return x
    _check_width(aval, new)
    if not aval.shape:
        return lax.reshape(view(lax.reshape(x, (1,)), new), ())
    if kind_of(new) == "c":
        parts = _bits(_as_reals(x), real_dtype(new))
        return lax.complex(parts[..., ::2], parts[..., 1::2])
    return lax.ne(_bits(_as_reals(x), _BYTE), 0) if kind_of(new) == "b" else _bits(_as_reals(x), new)


def _as_reals(x: Value) -> Value:
    """Return complex numbers as pairs of their parts, bools as bytes, and other numbers as they are."""
    aval = typeof(x)
    if aval.kind == "c":
        return _joined(lax.stack([lax.real(x), lax.imag(x)], aval.ndim))
    return as_dtype(x, _BYTE) if aval.kind == "b" else x


def _bits(x: Value, new: np.dtype[Any]) -> Value:
    """Return the bits of real numbers as other real numbers."""
    aval = typeof(x)
    old_width, new_width = bit_width(aval.dtype), bit_width(new)
    if old_width < new_width:
        count = new_width // old_width
        x = lax.reshape(x, (*aval.shape[:-1], aval.shape[-1] // count, count))
    out = lax.bitcast_convert_type(x, new)
    return _joined(out) if old_width > new_width else out


def _joined(x: Value) -> Value:
    """Return the array with its last two axes as one."""
    *outer, n, m = typeof(x).shape
    return lax.reshape(x, (*outer, n * m))


def _check_width(aval: ShapedArray, new: np.dtype[Any]) -> None:
    old_width, new_width = bit_width(aval.dtype), bit_width(new)
    if old_width != new_width and (not aval.shape or aval.shape[-1] * old_width % new_width):
        raise ValueError(
            f"x.view of {aval} as {dtype_name(new)}{where()}: the last axis does not hold a whole number of elements "
            "of that width. Reshape the array first."
        )
