# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.convolutions import (
    convolve as convolve, correlate as correlate, fftconvolve as fftconvolve, convolve2d as convolve2d,
    correlate2d as correlate2d,
)
from calque_numpy.scipy.periodograms import detrend as detrend, welch as welch, csd as csd, stft as stft, istft as istft

__all__ = [
    "convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d", "detrend", "welch", "csd", "stft", "istft",
]
