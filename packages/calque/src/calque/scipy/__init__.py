"""Functions by scipy's names, under the facade's name."""

from calque.scipy import (
    cluster,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

__all__ = [
    "cluster", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
]  # fmt: skip
