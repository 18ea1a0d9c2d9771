# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.krylov import bicgstab as bicgstab, cg as cg, gmres as gmres

__all__ = [
    "bicgstab", "cg", "gmres",
]
