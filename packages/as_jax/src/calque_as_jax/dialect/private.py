"""Names that libraries import from private modules of jax, or from deep public ones.

One idea: each is there because a client of the page *Run your JAX program* imports it, and does the least that the
client needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_as_jax.names import VERSION
from calque_core import effects_barrier, typeof
from calque_xla_backend import default_backend, devices

__all__ = [
    "LiteralArray", "TypedNdArray", "api_boundary", "apply_primitive", "backends",
    "canonicalize_dtype_handlers", "check_close", "get_backend", "include_frame", "pytype_aval_mappings",
    "register_exclusion", "version", "wait_for_tokens",
]  # fmt: skip

version = VERSION
wait_for_tokens = effects_barrier
_folders: list[str] = []
# Entries for classes of a library's own are kept, and never asked for: a subclass of NumPy's array counts as one.
canonicalize_dtype_handlers: dict[type, Any] = {np.ndarray: np.asarray}
pytype_aval_mappings: dict[type, Any] = {np.ndarray: typeof}


class TypedNdArray:
    """A constant of a program; calque's are arrays."""


LiteralArray = TypedNdArray


def register_exclusion(path: str) -> None:
    """Keep a file whose frames jax hides from tracebacks; calque hides its own."""
    _folders.append(path)


def api_boundary(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """Return the function itself: it would mark where jax cuts a traceback."""
    return function


def include_frame(frame: Any) -> bool:
    """Tell whether a traceback shows a frame."""
    del frame
    return True


def check_close(a: Any, b: Any, atol: float = 1e-6, rtol: float = 1e-6, err_msg: str = "") -> None:
    """Raise AssertionError if two arrays differ by more than a tolerance."""
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=atol, rtol=rtol, err_msg=err_msg)


def get_backend(platform: str | None = None) -> Any:
    """Return the client of a platform."""
    return devices(platform or None)[0].client


def backends() -> dict[str, Any]:
    """Return the client of the default platform by its name."""
    return {default_backend(): get_backend()}


def apply_primitive(primitive: Any, *args: Any, **params: Any) -> Any:
    """Evaluate a primitive."""
    return primitive.impl(*args, **params)
