"""Functions with batching rules of their own, under jax's module path."""

from calque_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
