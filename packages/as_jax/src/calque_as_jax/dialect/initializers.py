"""`jax.nn.initializers`: functions that make initial parameters, as device arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

import calque.nn.initializers as ours
from calque_as_jax.values import with_arrays

__all__ = ["Initializer", "ones", "zeros"]


class Initializer(Protocol):
    """A function that makes initial parameters from a key."""

    def __call__(self, key: Any, shape: Any, dtype: Any = ...) -> Any: ...


def _making(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Return a factory of initializers whose parameters are device arrays."""

    @wraps(factory)
    def make(*args: Any, **options: Any) -> Any:
        made = _of_shape(factory(*args, **options))
        made.__name__ = "init"  # as in jax: libraries print it
        return made

    return make


def _of_shape(initializer: Callable[..., Any]) -> Callable[..., Any]:
    """Return an initializer whose parameters are device arrays; the shape may be one size."""
    on_arrays = with_arrays(initializer)

    @wraps(initializer)
    def initialize(key: Any, shape: Any, *args: Any, **options: Any) -> Any:
        return on_arrays(key, (shape,) if isinstance(shape, int) else shape, *args, **options)

    return initialize


ones, zeros = _of_shape(ours.ones), _of_shape(ours.zeros)
_FACTORIES = frozenset(dir(ours)) - {"ones", "zeros"}
__all__ += [name for name in _FACTORIES if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name not in _FACTORIES or name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _making(getattr(ours, name))
