"""Batching Fourier transforms: the batch axis comes before the transformed axes, which are the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import moveaxis, typeof
from calque_core.extend import defbatch
from calque_core.lax import FftType, fft_p

Value = Any


def fft_batch(
    args: Sequence[Value], dims: Sequence[int], *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    if x_bdim >= typeof(x).ndim - len(fft_lengths):
        x, x_bdim = moveaxis(x, x_bdim, 0), 0
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths), x_bdim


defbatch(fft_p, fft_batch)
