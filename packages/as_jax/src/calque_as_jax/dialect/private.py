"""Names that libraries import from private modules of jax, or from `jax.extend` and `jax.interpreters`.

One idea: each is there because a client of the page *Run your JAX program* imports it, and does the least that the
client needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from calque_as_jax.names import VERSION
from calque_as_jax.values import as_weak, to_array
from calque_core import effects_barrier, typeof
from calque_core.extend import is_float
from calque_numpy import finfo
from calque_pytree import tree_map
from calque_xla_backend import default_backend, devices
from calque_xla_backend.runtime.clients import started_clients

__all__ = [
    "LiteralArray", "TypedNdArray", "api_boundary", "apply_primitive", "backends",
    "canonicalize_dtype_handlers", "check_close", "get_backend", "include_frame", "pytype_aval_mappings",
    "reconstruct_array", "register_exclusion", "started_backends", "version", "wait_for_tokens",
]  # fmt: skip

version = VERSION
wait_for_tokens = effects_barrier
# Entries for classes of a library's own are kept, and never asked for: a subclass of NumPy's array counts as one.
canonicalize_dtype_handlers: dict[type, Any] = {np.ndarray: np.asarray}
pytype_aval_mappings: dict[type, Any] = {np.ndarray: typeof}


class TypedNdArray:
    """A constant of a program; calque's are arrays."""


LiteralArray = TypedNdArray


def register_exclusion(path: str) -> None:
    """Do nothing: jax would hide the frames of a file in tracebacks; calque hides its own."""
    del path


def api_boundary(function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """Return the function itself: it would mark where jax cuts a traceback."""
    return function


def include_frame(frame: Any) -> bool:
    """Tell whether a traceback shows a frame."""
    del frame
    return True


def check_close(a: Any, b: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raise AssertionError if two pytrees of arrays differ by more than a tolerance, a number or one for each dtype."""

    def check_leaf(a: Any, b: Any) -> None:
        dtypes = [typeof(x).dtype for x in (a, b)]
        limits = [max(_tolerance(dtype, limit) for dtype in dtypes) for limit in (atol, rtol)]
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=limits[0], rtol=limits[1], err_msg=err_msg)

    tree_map(check_leaf, a, b)


def _tolerance(dtype: Any, limit: Any) -> float:
    """Return the tolerance for a dtype; the default is that of the rounding of about ten operations."""
    default = 10 * float(finfo(dtype).eps) if is_float(dtype) else 0.0
    if isinstance(limit, dict):
        return float({np.dtype(kind): value for kind, value in limit.items()}.get(dtype, default))
    return default if limit is None else float(limit)


def get_backend(platform: str | None = None) -> Any:
    """Return the client of a platform."""
    return devices(platform or None)[0].client


def backends() -> dict[str, Any]:
    """Return the client of the default platform by its name."""
    return {default_backend(): get_backend()}


class StartedClients(Mapping[str, Any]):
    """The clients that run, by the names of their platforms: reading it starts none."""

    def __getitem__(self, platform: str) -> Any:
        return {client.platform: client for client in started_clients()}[platform]

    def __iter__(self) -> Iterator[str]:
        return iter([client.platform for client in started_clients()])

    def __len__(self) -> int:
        return len(started_clients())


started_backends = StartedClients()


def reconstruct_array(make: Callable[..., Any], args: Any, state: Any, aval: dict[str, Any]) -> Any:
    """Return an array that jax has pickled: NumPy's way to make it, and whether it is weak."""
    x = make(*args)
    x.__setstate__(state)
    out = to_array(x)
    return as_weak(out) if aval.get("weak_type") else out


def apply_primitive(primitive: Any, *args: Any, **params: Any) -> Any:
    """Evaluate a primitive."""
    return primitive.impl(*args, **params)
