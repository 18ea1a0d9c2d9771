"""Minima of functions, under jax's module path."""

from calque_core.extend import late_chapters as _late_chapters

_CHAPTERS = {"minima": {"calque.minimizing": "OptimizeResults, minimize"}}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
