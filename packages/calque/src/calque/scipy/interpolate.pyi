# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.grids import RegularGridInterpolator as RegularGridInterpolator

__all__ = [
    "RegularGridInterpolator",
]
