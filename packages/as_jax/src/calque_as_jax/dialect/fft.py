"""`jax.scipy.fft`: cosine transforms of type 2 and their inverses.

One idea: the transform of n numbers is a Fourier transform of the numbers at even places, then those at odd places in
reverse order, times a rotation.  Source: Makhoul (1980), section III.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import calque.numpy as cnp
from calque_as_jax.values import to_arrays

__all__ = ["dct", "dctn", "idct", "idctn"]

Value = Any


def dct(x: Value, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the cosine transform along an axis, of `n` elements.  Raises: NotImplementedError for another type.

    >>> dct(np.array([1.0, 2.0, 3.0], np.float32))
    Array([12.       , -3.4641016,  0.       ], dtype=float32)
    """
    return _along("dct", _forward, x, type, n, axis, norm)


def idct(x: Value, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse of `dct`, with the same `norm`.  Raises: NotImplementedError for another type."""
    return _along("idct", _inverse, x, type, n, axis, norm)


def dctn(
    x: Value, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the cosine transform along several axes, all by default."""
    return _along_all(dct, x, type, s, axes, norm)


def idctn(
    x: Value, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the inverse of `dctn`."""
    return _along_all(idct, x, type, s, axes, norm)


def _along_all(transform: Callable[..., Value], x: Value, type: int, s: Any, axes: Any, norm: str | None) -> Value:
    x = cnp.asarray(x)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    for axis, n in zip(axes, s if s is not None else [None] * len(axes), strict=True):
        x = transform(x, type, n, axis, norm)
    return x


def _along(
    caller: str, transform: Callable[..., Value], x: Value, type: int, n: int | None, axis: int, norm: str | None
) -> Value:
    if type != 2 or norm not in (None, "backward", "ortho"):
        raise NotImplementedError(f"{caller} got type={type} and norm={norm!r}. Use type=2, and norm=None or 'ortho'.")
    x = cnp.moveaxis(cnp.asarray(x), axis, -1)
    size = x.shape[-1] if n is None else n
    if size > x.shape[-1]:
        x = cnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])
    return to_arrays(cnp.moveaxis(transform(x[..., :size], size, norm == "ortho"), -1, axis))


def _scales(size: int) -> Any:
    """Return the factors by which the orthogonal transform differs from the plain one."""
    return np.where(np.arange(size) == 0, 0.5, np.sqrt(0.5)) / np.sqrt(size)


def _forward(x: Value, size: int, is_orthogonal: bool) -> Value:
    places = np.concatenate([np.arange(0, size, 2), np.arange(1, size, 2)[::-1]])
    spectrum = cnp.fft.fft(x[..., places])
    angles = np.pi * np.arange(size) / (2 * size)
    out = 2 * (spectrum.real * np.cos(angles).astype(x.dtype) + spectrum.imag * np.sin(angles).astype(x.dtype))
    return out * _scales(size).astype(x.dtype) if is_orthogonal else out


def _inverse(y: Value, size: int, is_orthogonal: bool) -> Value:
    y = y / _scales(size).astype(y.dtype) if is_orthogonal else y
    others = cnp.concatenate([cnp.zeros_like(y[..., :1]), y[..., :0:-1]], axis=-1)
    rotation = np.exp(1j * np.pi * np.arange(size) / (2 * size))
    spectrum = (y - 1j * others) * rotation.astype(np.result_type(y.dtype, np.complex64)) / 2
    places = np.concatenate([np.arange(0, size, 2), np.arange(1, size, 2)[::-1]])
    return cnp.fft.ifft(spectrum).real[..., np.argsort(places)]
