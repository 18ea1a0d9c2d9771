# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.grids import map_coordinates as map_coordinates

__all__ = [
    "map_coordinates",
]
