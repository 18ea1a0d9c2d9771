"""Signals by scipy's names, also of traced arrays: convolutions, spectra.

Read next: `convolutions.py`, `periodograms.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "convolutions": {
        "calque_numpy.scipy.convolutions": "convolve, correlate, fftconvolve, convolve2d, correlate2d",
    },
    "trends and spectra": {"calque_numpy.scipy.periodograms": "detrend, welch, csd, stft, istft"},
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
