"""Functions by scipy's names, under the facade's name."""

from calque.scipy import linalg, special

__all__ = ["linalg", "special"]
