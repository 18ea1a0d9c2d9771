# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.fft import (
    fft as fft, ifft as ifft, rfft as rfft, irfft as irfft, hfft as hfft, ihfft as ihfft, fft2 as fft2, ifft2 as ifft2,
    rfft2 as rfft2, irfft2 as irfft2, fftn as fftn, ifftn as ifftn, rfftn as rfftn, irfftn as irfftn,
    fftfreq as fftfreq, rfftfreq as rfftfreq, fftshift as fftshift, ifftshift as ifftshift,
)

__all__ = [
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift",
]
