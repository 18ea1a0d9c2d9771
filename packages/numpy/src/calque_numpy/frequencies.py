"""The frequencies of the elements of a Fourier transform, and the order that puts zero in the middle.

Read next: `transforms.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine import dtype_name, kind_of, scalar_dtype
from calque_core.engine.numpy_functions import (
    as_dtype,
    canonical_axis,
    dtype_argument,
    integers,
    on_device,
)
from calque_core.extend import integer, where
from calque_numpy.rearranging import roll

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

Value = Any
Axes = Sequence[int] | None


def fftfreq(n: int, d: Value = 1.0, device: Any = None, *, dtype: Any = None) -> Value:
    """Return the frequencies of `fft` of `n` positions that are `d` apart, in its order: the negative ones last.

    Shapes: d [] -> [n].  Dtype: `dtype`, or the default float.
    Raises: ValueError unless n is at least 1, or for an unknown device; TypeError unless n is an integer and `dtype` a
    real float dtype.

    >>> from calque_numpy import fft
    >>> fft.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    count, real = _count("fftfreq", n), _float_dtype("fftfreq", dtype)
    places = np.arange(count)
    places = np.where(places < (count + 1) // 2, places, places - count)
    return on_device("fftfreq", _frequencies(places, count, d, real), device)


def rfftfreq(n: int, d: Value = 1.0, device: Any = None, *, dtype: Any = None) -> Value:
    """Return the frequencies of `rfft` of `n` positions that are `d` apart.

    Shapes: d [] -> [n // 2 + 1].  Dtype: `dtype`, or the default float.
    Raises: as `fftfreq`.

    >>> from calque_numpy import fft
    >>> fft.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    count, real = _count("rfftfreq", n), _float_dtype("rfftfreq", dtype)
    return on_device("rfftfreq", _frequencies(np.arange(count // 2 + 1), count, d, real), device)


def _count(name: str, n: Any) -> int:
    count = integer(name, "n", n)
    if count < 1:
        raise ValueError(f"{name}{where()}: n is {count}. Give a number of at least 1.")
    return count


def _float_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    real = scalar_dtype(float) if dtype is None else dtype_argument(dtype)
    if kind_of(real) != "f":
        raise TypeError(f"{name}{where()}: dtype is {dtype_name(real)}. Use a real float dtype.")
    return real


def _frequencies(numbers: np.ndarray[Any, Any], n: int, d: Value, dtype: np.dtype[Any]) -> Value:
    return as_dtype(lax.mul(as_dtype(numbers, scalar_dtype(float)), lax.div(1.0, lax.mul(float(n), d))), dtype)


@implements(np.fft.fftshift)
def fftshift(x: Value, axes: int | Axes = None) -> Value:
    """Return `x` with frequency 0 in the middle of `axes`, of all axes for None.

    Shapes: x [*s] -> [*s].
    Raises: ValueError for an axis out of range, or an array of rank 0.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.fftshift(np.array([0, 1, 2, -2, -1]))
    array([-2, -1,  0,  1,  2])
    """
    return _shifted("fftshift", x, axes, lambda size: size // 2)


@implements(np.fft.ifftshift)
def ifftshift(x: Value, axes: int | Axes = None) -> Value:
    """Return the inverse of `fftshift`, which differs from it for odd sizes.

    Shapes: x [*s] -> [*s].
    Raises: as `fftshift`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.ifftshift(np.array([-2, -1, 0, 1, 2]))
    array([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", x, axes, lambda size: -(size // 2))


def _shifted(name: str, x: Value, axes: Any, places: Any) -> Value:
    shape = typeof(x).shape
    if axes is None:
        axes = range(len(shape))
    each = (axes,) if isinstance(axes, (int, np.integer)) else integers(name, "axes", axes)
    positions = [canonical_axis(name, axis, len(shape)) for axis in each]
    if not shape:
        raise ValueError(f"{name}{where()} of an array of shape (): there are no axes to shift. Give a vector.")
    return roll(x, [places(shape[axis]) for axis in positions], positions)
