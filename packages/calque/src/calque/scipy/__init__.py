"""Functions by scipy's names, under the facade's name."""

from calque.scipy import linalg, optimize, sparse, special, stats

__all__ = ["linalg", "optimize", "sparse", "special", "stats"]
