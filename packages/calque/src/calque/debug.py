"""Looking at values while a program runs, and at the devices that hold an array, under jax's path."""

from calque_core.extend import late_chapters as _late_chapters

_CHAPTERS = {"values": {"calque_core.debug": "breakpoint, callback, print"}}
_UNLISTED = {"calque_xla_backend": "visualize_array_sharding, visualize_sharding"}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS, unlisted=_UNLISTED)
