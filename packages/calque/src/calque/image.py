"""Images of other sizes, under jax's module path."""

from calque_numpy.image import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
