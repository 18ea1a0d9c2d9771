"""The derivatives and the batches of Fourier transforms, which are linear.

The product of a cotangent u and a tangent v is the real part of u v, and F[k, j] = exp(-2 pi i j k / n) is symmetric:
so the complex transforms are their own transposes.  With F* the conjugate of F, and w the number of frequencies that
one of `RFFT` stands for (1 at frequency 0 and at n / 2, otherwise 2):

RFFT:   Re sum_k u_k sum_j F_kj v_j = sum_j v_j Re sum_k F_jk u_k, and IRFFT(c)_j = Re sum_k w_k F*_jk c_k / n; so
        c = n conj(u) / w gives the cotangent.
IRFFT:  sum_j u_j Re sum_k w_k F*_jk v_k / n = Re sum_k v_k w_k conj(RFFT(u))_k / n.

Over several axes, n is the number of all points: the other axes are transformed completely.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import moveaxis, typeof
from calque_core.extend import Shape, defbatch, deflinear
from calque_core.lax import conj, mul
from calque_signal.ops.fft import FftType, fft, fft_p

Value = Any


def fft_transpose(ct: Value, x: Value, *, fft_type: FftType, fft_lengths: Shape) -> list[Value]:
    if fft_type is FftType.RFFT:
        scale = 1 / _scale(fft_lengths, ct)
        return [fft(conj(mul(ct, scale)), FftType.IRFFT, fft_lengths)]
    if fft_type is FftType.IRFFT:
        spectrum = fft(ct, FftType.RFFT, fft_lengths)
        return [conj(mul(spectrum, _scale(fft_lengths, spectrum)))]
    return [fft(ct, fft_type, fft_lengths)]


def _scale(lengths: Shape, spectrum: Value) -> np.ndarray[Any, Any]:
    """Return w / n for each frequency of `RFFT`, with the dtype and the number of axes of the spectrum."""
    n = lengths[-1]
    frequencies = np.arange(n // 2 + 1)
    is_single = (frequencies == 0) | (2 * frequencies == n)
    scale = (np.where(is_single, 1, 2) / prod(lengths)).astype(typeof(spectrum).dtype)
    return scale.reshape((1,) * (typeof(spectrum).ndim - 1) + scale.shape)


deflinear(fft_p, fft_transpose)


def fft_batch(
    args: Sequence[Value], dims: Sequence[int], *, fft_type: FftType, fft_lengths: Shape
) -> tuple[Value, int]:
    """Keep the batch axis before the transformed axes, which are the last."""
    (x,), (x_bdim,) = args, dims
    if x_bdim >= typeof(x).ndim - len(fft_lengths):
        x, x_bdim = moveaxis(x, x_bdim, 0), 0
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths), x_bdim


defbatch(fft_p, fft_batch)
