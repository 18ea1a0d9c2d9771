"""Modules of scipy's `cluster`, under the facade's name."""

from calque.scipy.cluster import vq

__all__ = ["vq"]
