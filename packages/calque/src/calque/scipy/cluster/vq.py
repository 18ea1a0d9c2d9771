"""Vectors quantized by a code book, under the facade's name."""

from calque_core.extend import late_chapters as _late_chapters

__getattr__, __dir__, __all__ = _late_chapters(__name__, {"names": {"calque_numpy.scipy.vq": "vq"}})
