"""A tree of arrays as one vector, under jax's module path."""

from calque_core import ravel_pytree

__all__ = ["ravel_pytree"]
