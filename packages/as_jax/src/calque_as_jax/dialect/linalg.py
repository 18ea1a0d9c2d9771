"""Names of `jax.numpy.linalg` that differ from calque's: none but the error."""

from numpy.linalg import LinAlgError

__all__ = ["LinAlgError"]
