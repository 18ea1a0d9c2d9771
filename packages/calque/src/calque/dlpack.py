"""Arrays of other libraries as device arrays, under jax's module path."""

from calque_xla_backend import from_dlpack

__all__ = ["from_dlpack"]
