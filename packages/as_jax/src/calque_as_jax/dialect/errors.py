"""Classes of `jax.errors` that calque has other errors for: a program may name them in `except`."""

from __future__ import annotations

from jaxlib.xla_client import XlaRuntimeError as JaxRuntimeError

__all__ = ["InconclusiveDimensionOperation", "JAXIndexError", "JAXTypeError", "JaxRuntimeError", "KeyReuseError"]

JAXTypeError = TypeError
JAXIndexError = IndexError


class KeyReuseError(RuntimeError):
    """Raised by jax where a key is used twice; calque does not follow keys."""


class InconclusiveDimensionOperation(RuntimeError):  # noqa: N818  # jax's name
    """Raised by jax for symbolic shapes, which calque lacks."""
