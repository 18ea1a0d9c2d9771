"""Sparse linear algebra, under jax's module path."""

from calque.scipy.sparse import linalg

__all__ = ["linalg"]
