"""Discrete Fourier transforms, as in `numpy.fft`.

One idea: the transformed axes become the last ones, up to three at a time, for one `lax.fft`; a length crops the axis
or pads it with zeros, and `norm` is a factor of the result.  An axis that is named twice is transformed twice.

A transform gives complex64 for float32, complex64 and float16, and complex128 for all other dtypes; the functions that
give real numbers, the dtype of the parts.

Read next: `frequencies.py`, the frequencies that belong to the elements of a transform, and their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, implements, lax, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import (
    as_dtype,
    canonical_axis,
    conjugate,
    integers,
    refuse,
)
from calque_core.extend import integer, where
from calque_signal import FftType
from calque_signal import fft as transform

Value = Any
Shape = tuple[int, ...]
Lengths = Sequence[int] | None
Axes = Sequence[int] | None

__all__ = [
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn",
]  # fmt: skip

_MOST_AXES = 3  # of one `lax.fft`
_INVERSE = (FftType.IFFT, FftType.IRFFT)
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# Over one axis


@implements(np.fft.fft)
def fft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the discrete Fourier transform along `axis`, of length `n`: the sums of a[j] exp(-2 pi i j k / n).

    `norm="backward"` divides the inverse transform by n, "forward" divides this one, "ortho" each by sqrt(n).
    Shapes: a [*s] -> [*s], with the size `n` at the axis; shorter axes are padded with zeros, longer ones are cropped.
    Raises: ValueError for an axis out of range, a length below 1 or an unknown norm.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.fft(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _along_axis("fft", FftType.FFT, a, n, axis, norm, out)


@implements(np.fft.ifft)
def ifft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the inverse of `fft` along `axis`, of length `n`.

    Shapes: a [*s] -> [*s], with the size `n` at the axis.
    Raises: as `fft`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.ifft(np.array([2.0, 0.0]))
    array([1.+0.j, 1.+0.j])
    """
    return _along_axis("ifft", FftType.IFFT, a, n, axis, norm, out)


@implements(np.fft.rfft)
def rfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the frequencies from 0 to n // 2 of `fft`, of real numbers; negative frequencies are their conjugates.

    Shapes: a [*s] -> [*s], with the size n // 2 + 1 at the axis.
    Raises: as `fft`; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.rfft(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _along_axis("rfft", FftType.RFFT, a, n, axis, norm, out)


@implements(np.fft.irfft)
def irfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the real numbers whose `rfft` is `a`; `n` is even by default.

    Shapes: a [*s] -> [*s], with the size `n`, or 2 (size - 1), at the axis.
    Raises: as `fft`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.irfft(np.array([10, -2 + 2j, -2]))
    array([1., 2., 3., 4.])
    """
    return _along_axis("irfft", FftType.IRFFT, a, n, axis, norm, out)


@implements(np.fft.hfft)
def hfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the real spectrum of a symmetric signal, a[-j] = conj(a[j]), from its positions 0 to n // 2.

    Shapes: a [*s] -> [*s], with the size `n`, or 2 (size - 1), at the axis.
    Raises: as `fft`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.hfft(np.array([1.0, 2.0, 3.0]))
    array([ 8., -2.,  0., -2.])
    """
    return _along_axis("hfft", FftType.IRFFT, conjugate(a), n, axis, _swapped("hfft", norm), out)


@implements(np.fft.ihfft)
def ihfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Value:
    """Return the positions 0 to n // 2 of the symmetric signal whose `hfft` is `a`.

    Shapes: a [*s] -> [*s], with the size n // 2 + 1 at the axis.
    Raises: as `rfft`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.ihfft(np.array([8.0, -2.0]))
    array([3.-0.j, 5.-0.j])
    """
    return conjugate(_along_axis("ihfft", FftType.RFFT, a, n, axis, _swapped("ihfft", norm), out))


# Over several axes


@implements(np.fft.fftn)
def fftn(a: Value, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Value:
    """Return the discrete Fourier transform over `axes`, of lengths `s`; over all axes, or the last len(s), for None.

    A length of -1 keeps the size of the axis; the last axis is transformed first.
    Shapes: a [*s] -> [*s], with the lengths at the axes.  Without axes, `a` is returned, in its dtype.
    Raises: as `fft`; ShapeError if `s` and `axes` differ in number.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.fftn(np.eye(2))
    array([[2.+0.j, 0.+0.j],
           [0.+0.j, 2.+0.j]])
    """
    return _over_axes("fftn", FftType.FFT, a, s, axes, norm, out)


@implements(np.fft.ifftn)
def ifftn(a: Value, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Value:
    """Return the inverse of `fftn`, with the same arguments.

    Shapes: a [*s] -> [*s], with the lengths at the axes.
    Raises: as `fftn`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.ifftn(fft.fftn(np.eye(2))).real
    array([[1., 0.],
           [0., 1.]])
    """
    return _over_axes("ifftn", FftType.IFFT, a, s, axes, norm, out)


@implements(np.fft.rfftn)
def rfftn(a: Value, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Value:
    """Return `rfft` over the last of `axes`, and then `fft` over the other axes.

    Shapes: a [*s] -> [*s], with the lengths at the axes, n // 2 + 1 for the last.
    Raises: as `fftn`; TypeError for complex numbers; ValueError without axes.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.rfftn(np.ones((2, 4)))
    array([[8.+0.j, 0.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j, 0.+0.j]])
    """
    return _over_axes("rfftn", FftType.RFFT, a, s, axes, norm, out)


@implements(np.fft.irfftn)
def irfftn(a: Value, s: Lengths = None, axes: Axes = None, norm: str | None = None, out: None = None) -> Value:
    """Return the inverse of `rfftn`: `ifft` over all of `axes` but the last, and then `irfft`.

    Shapes: a [*s] -> [*s], with the lengths at the axes; by default 2 (size - 1) for the last.
    Raises: as `fftn`; ValueError without axes.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.irfftn(fft.rfftn(np.ones((2, 4))))
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return _over_axes("irfftn", FftType.IRFFT, a, s, axes, norm, out)


@implements(np.fft.fft2)
def fft2(a: Value, s: Lengths = None, axes: Axes = (-2, -1), norm: str | None = None, out: None = None) -> Value:
    """Return `fftn` over the last two axes.  Shapes and errors: as `fftn`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.fft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return _over_axes("fft2", FftType.FFT, a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Value, s: Lengths = None, axes: Axes = (-2, -1), norm: str | None = None, out: None = None) -> Value:
    """Return `ifftn` over the last two axes.  Shapes and errors: as `ifftn`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.ifft2(np.ones((3, 2, 2)), s=(4, 4)).shape
    (3, 4, 4)
    """
    return _over_axes("ifft2", FftType.IFFT, a, s, axes, norm, out)


@implements(np.fft.rfft2)
def rfft2(a: Value, s: Lengths = None, axes: Axes = (-2, -1), norm: str | None = None, out: None = None) -> Value:
    """Return `rfftn` over the last two axes.  Shapes and errors: as `rfftn`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.rfft2(np.ones((3, 4, 4))).shape
    (3, 4, 3)
    """
    return _over_axes("rfft2", FftType.RFFT, a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Value, s: Lengths = None, axes: Axes = (-2, -1), norm: str | None = None, out: None = None) -> Value:
    """Return `irfftn` over the last two axes.  Shapes and errors: as `irfftn`.

    >>> import numpy as np
    >>> from calque_numpy import fft
    >>> fft.irfft2(np.ones((3, 4, 3))).shape
    (3, 4, 4)
    """
    return _over_axes("irfft2", FftType.IRFFT, a, s, axes, norm, out)


# Steps of a transform


def _along_axis(name: str, kind: FftType, a: Value, n: int | None, axis: int, norm: str | None, out: None) -> Value:
    refuse(name, out=out)
    lengths = None if n is None else (integer(name, "n", n),)
    return _transform(name, kind, a, lengths, (canonical_axis(name, axis, typeof(a).ndim),), norm)


def _over_axes(name: str, kind: FftType, a: Value, s: Lengths, axes: Axes, norm: str | None, out: None) -> Value:
    refuse(name, out=out)
    ndim = typeof(a).ndim
    lengths = None if s is None else integers(name, "s", s)
    if axes is None:
        count = ndim if lengths is None else len(lengths)
        axes = range(-count, 0)
    positions = tuple(canonical_axis(name, axis, ndim) for axis in integers(name, "axes", axes))
    if lengths is not None and len(lengths) == len(positions):
        lengths = tuple(typeof(a).shape[axis] if n == -1 else n for n, axis in zip(lengths, positions))
    if not positions and kind in (FftType.RFFT, FftType.IRFFT):
        raise ValueError(f"{name}{where()}: there are no axes. Name an axis: the last one has half of the frequencies.")
    return _transform(name, kind, a, lengths, positions, norm) if positions else a


def _transform(name: str, kind: FftType, a: Value, s: Shape | None, positions: Shape, norm: str | None) -> Value:
    """Return the scaled transform over the axes `positions`; a real kind has half of the last axis's frequencies."""
    a = _floats(name, kind, a)
    lengths = _lengths(name, kind, typeof(a).shape, s, positions)
    exponent = _exponent(name, kind, norm)
    start = _start_of_last_run(positions)
    complex_kind = FftType.IFFT if kind in _INVERSE else FftType.FFT
    if kind is FftType.IRFFT:
        a = _complex_runs(a, complex_kind, lengths[:start][::-1], positions[:start][::-1])
        a = _one_run(a, kind, lengths[start:], positions[start:])
    else:
        a = _one_run(a, kind, lengths[start:], positions[start:])
        a = _complex_runs(a, complex_kind, lengths[:start], positions[:start])
    return a if exponent == 0 else lax.mul(a, float(prod(lengths)) ** exponent)


def _floats(name: str, kind: FftType, a: Value) -> Value:
    """Return the operand as floats or complex numbers; of integers and bools, NumPy makes float64."""
    aval = typeof(a)
    if kind is FftType.RFFT and aval.kind == "c":
        raise TypeError(f"{name} of {aval}{where()}: it takes real numbers. Use fft, or the real part.")
    if aval.kind not in "biu":
        return a
    return as_dtype(a, scalar_dtype(float) if aval.weak_type else canonicalize_dtype(np.float64))


def _lengths(name: str, kind: FftType, shape: Shape, s: Shape | None, positions: Shape) -> Shape:
    """Return the lengths of the transforms: `s`, or the sizes of the axes."""
    if s is not None and len(s) != len(positions):
        raise ShapeError(f"{name}{where()}: s is {s}, but the axes are {positions}. Give one length for each axis.")
    sizes = [shape[axis] for axis in positions]
    if kind is FftType.IRFFT and s is None:
        sizes[-1] = 2 * (sizes[-1] - 1)
    lengths = tuple(sizes) if s is None else s
    if min(lengths) < 1:
        raise ValueError(
            f"{name} of an array of shape {shape}{where()}: the lengths of the transform are {lengths}. "
            "Give lengths of at least 1."
        )
    return lengths


def _exponent(name: str, kind: FftType, norm: str | None) -> float:
    """Return the power of the number of points that multiplies an unscaled forward, or a divided inverse transform."""
    _check_norm(name, norm)
    exponent = {"ortho": -0.5, "forward": -1.0}.get(norm or "backward", 0.0)
    return -exponent if kind in _INVERSE else exponent


def _check_norm(name: str, norm: Any) -> None:
    if norm not in _SWAPPED:
        raise ValueError(f"{name}{where()}: norm is {norm!r}. Use 'backward', 'ortho' or 'forward'.")


def _swapped(name: str, norm: str | None) -> str:
    """Return the norm of the transform in the other direction."""
    _check_norm(name, norm)
    return _SWAPPED[norm]


def _start_of_last_run(positions: Shape) -> int:
    """Return where the last run begins: different axes, as many as one `lax.fft` transforms."""
    start = len(positions) - 1
    while start > 0 and len(positions) - start < _MOST_AXES and positions[start - 1] not in positions[start:]:
        start -= 1
    return start


def _complex_runs(a: Value, kind: FftType, lengths: Shape, positions: Shape) -> Value:
    """Transform all of `positions`, the last first; the order counts only for an axis that is named twice."""
    while positions:
        start = _start_of_last_run(positions)
        a = _one_run(a, kind, lengths[start:], positions[start:])
        lengths, positions = lengths[:start], positions[:start]
    return a


def _one_run(a: Value, kind: FftType, lengths: Shape, positions: Shape) -> Value:
    """Crop or pad up to three different axes, and transform them."""
    ndim = typeof(a).ndim
    order = [axis for axis in range(ndim) if axis not in positions] + list(positions)
    needed = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT else lengths
    out = transform(_resized(lax.transpose(a, order), needed), kind, lengths)
    if kind is FftType.IRFFT and typeof(a).dtype == np.float16 and len(positions) == 1:
        out = as_dtype(out, np.dtype(np.float16))  # as NumPy, which converts before further axes alone
    return lax.transpose(out, [order.index(axis) for axis in range(ndim)])


def _resized(a: Value, sizes: Shape) -> Value:
    """Crop the last axes to these sizes, or pad them with zeros."""
    shape = typeof(a).shape
    first = len(shape) - len(sizes)
    missing = [0] * first + [n - size for n, size in zip(sizes, shape[first:])]
    if not any(missing):
        return a
    return lax.pad(a, typeof(a).dtype.type(0), [(0, n, 0) for n in missing])
