"""The solvers of `calque_numpy.scipy.krylov`, under jax's module path."""

from calque_core.extend import late_chapters as _late_chapters

_CHAPTERS = {"linear equations": {"calque_numpy.scipy.krylov": "bicgstab, cg, gmres"}}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
