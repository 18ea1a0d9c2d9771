"""Fourier transforms: NumPy's functions by their names.

Read next: `transforms.py`, `frequencies.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_function as _late_function
from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
    from calque_numpy.transforms import (
        fft, fft2, fftn, hfft, ifft, ifft2, ifftn, ihfft, irfft, irfft2, irfftn, rfft, rfft2, rfftn,
    )
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.frequencies": "fftfreq, fftshift, ifftshift, rfftfreq",
    "calque_numpy.transforms": (
        "fft, fft2, fftn, hfft, ifft, ifft2, ifftn, ihfft, irfft, irfft2, irfftn, rfft, rfft2, rfftn"
    ),
}

__all__ = [
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(
        __name__, _LATE, adapt=_late_function("calque_numpy.evaluation", "evaluated_by_numpy")
    )
