"""Modules of scipy's `spatial`, under the facade's name."""

from calque.scipy.spatial import transform

__all__ = ["transform"]
