"""Functions by scipy's names, under the facade's name."""

from calque.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
