"""Functions by scipy's names, under the facade's name."""

from calque.scipy import linalg, sparse, special

__all__ = ["linalg", "sparse", "special"]
