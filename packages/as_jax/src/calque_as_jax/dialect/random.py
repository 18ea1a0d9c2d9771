"""Names of `jax.random` that differ from calque's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import calque.random as crandom
from calque_as_jax.values import to_arrays, with_arrays

__all__ = ["PRNGKey", "key", "key_dtype"]


def _taking_sizes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of random numbers that takes one size as its `shape`, too."""
    place = list(inspect.signature(function).parameters).index("shape")
    make = with_arrays(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if len(args) > place and isinstance(args[place], int):
            args = (*args[:place], (args[place],), *args[place + 1 :])
        if isinstance(options.get("shape"), int):
            options["shape"] = (options["shape"],)
        return make(*args, **options)

    call.__module__ = "jax.random"  # pickled by the name there
    return call


_SIZED = [
    name
    for name in dir(crandom)
    if inspect.isfunction(getattr(crandom, name)) and "shape" in inspect.signature(getattr(crandom, name)).parameters
]
globals().update({name: _taking_sizes(getattr(crandom, name)) for name in _SIZED})
__all__ += [name for name in _SIZED if name in globals()]


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Return a typed key from a seed."""
    del dtype
    return to_arrays(crandom.key(seed, impl=impl))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Return a key from a seed, as an array of its words.

    >>> PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    return to_arrays(crandom.PRNGKey(seed, impl=impl))


def key_dtype(impl: Any = None) -> Any:
    """Return the dtype of typed keys."""
    return key(0, impl=impl).dtype
