"""Bits packed into bytes, and unpacked."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, canonical_axis, ravel
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.shapes import moveaxis

Value = Any

_BYTE = np.dtype("uint8")


@implements(np.packbits)
def packbits(a: Value, /, axis: int | None = None, bitorder: str = "big") -> Value:
    """Return bytes, each of eight elements along an axis: a bit is 1 where an element is not 0.

    Zeros fill the last byte.  The first element is the highest bit, or the lowest for the order "little".
    Shapes: a [*s, n] -> [*s, ceil(n / 8)]; the flat array without an axis.  Dtype: uint8.
    Raises: TypeError unless `a` holds integers or bools; ValueError for another order or an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import packbits
    >>> packbits(np.array([0, 0, 0, 0, 0, 1, 0, 1]))
    array([5], dtype=uint8)
    """
    a, axis = _along_last("packbits", a, axis)
    if typeof(a).kind not in "biu":
        raise TypeError(f"packbits of {typeof(a)}{place()}. Give integers or bools.")
    *outer, n = typeof(a).shape
    bits = as_dtype(lax.ne(a, 0), _BYTE)
    whole = lax.pad(bits, _BYTE.type(0), [*[(0, 0, 0)] * len(outer), (0, -n % 8, 0)])
    groups = lax.reshape(whole, (*outer, (n + 7) // 8, 8))
    values = lax.mul(groups, (1 << _positions("packbits", bitorder)).astype(_BYTE))
    return moveaxis(lax.reduce_sum(values, len(outer) + 1), -1, axis)


@implements(np.unpackbits)
def unpackbits(a: Value, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Value:
    """Return the bits of bytes along an axis, as bytes that are 0 or 1.

    `count` is the number of bits that are kept, with zeros after the last byte; a negative one leaves out that many.
    Shapes: a [*s, n] -> [*s, 8 * n], or [*s, count]; the flat array without an axis.  Dtype: uint8.
    Raises: TypeError unless `a` holds uint8; ValueError for another order, an axis out of range, or a count of more
    bits to leave out than there are.

    >>> import numpy as np
    >>> from calque_numpy import unpackbits
    >>> unpackbits(np.array([5], np.uint8))
    array([0, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    a, axis = _along_last("unpackbits", a, axis)
    if typeof(a).dtype != _BYTE:
        raise TypeError(f"unpackbits of {typeof(a)}{place()}. Give uint8: x.astype('uint8').")
    *outer, n = typeof(a).shape
    shifts = _positions("unpackbits", bitorder).astype(_BYTE)
    bits = lax.bitwise_and(lax.shift_right_logical(lax.expand_dims(a, (len(outer) + 1,)), shifts), _BYTE.type(1))
    bits = lax.reshape(bits, (*outer, 8 * n))
    total = 8 * n if count is None else integer("unpackbits", "count", count)
    total = total + 8 * n if total < 0 else total
    if total < 0:
        raise ValueError(f"unpackbits{place()}: count is {count}, and there are {8 * n} bits. Leave out no more.")
    kept = lax.slice_in_dim(bits, 0, min(total, 8 * n), axis=len(outer))
    padded = lax.pad(kept, _BYTE.type(0), [*[(0, 0, 0)] * len(outer), (0, max(total - 8 * n, 0), 0)])
    return moveaxis(padded, -1, axis)


def _along_last(name: str, a: Value, axis: int | None) -> tuple[Value, int]:
    """Return the array with `axis` as the last one, or the flat array; and the place of the axis in the result."""
    a = asarray(a)
    if axis is None:
        return ravel(a), 0
    axis = canonical_axis(name, axis, typeof(a).ndim)
    return moveaxis(a, axis, -1), axis


def _positions(name: str, bitorder: str) -> np.ndarray[Any, Any]:
    """Return the positions of the bits in a byte, in the order of the elements."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}{place()}: the bitorder is {bitorder!r}. Use 'big' or 'little'.")
    return np.arange(8)[::-1] if bitorder == "big" else np.arange(8)
