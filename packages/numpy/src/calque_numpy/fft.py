"""Fourier transforms: NumPy's functions by their names.

Read next: `transforms.py`, `frequencies.py`.
"""

from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import late_function as _late_function

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "transforms": {
        "calque_numpy.transforms": (
            "fft, ifft, rfft, irfft, hfft, ihfft, fft2, ifft2, rfft2, irfft2, fftn, ifftn, rfftn, irfftn"
        ),
    },
    "frequencies": {"calque_numpy.frequencies": "fftfreq, rfftfreq, fftshift, ifftshift"},
}

__getattr__, __dir__, __all__ = _late_chapters(
    __name__, _CHAPTERS, adapt=_late_function("calque_numpy.evaluation", "evaluated_by_numpy")
)
