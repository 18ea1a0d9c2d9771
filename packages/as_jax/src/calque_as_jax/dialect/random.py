"""Names of `jax.random` that differ from calque's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

import calque.random as crandom
from calque_as_jax.values import to_arrays, with_arrays
from calque_numpy.key_arrays import KeyArray
from calque_xla_backend import Array as DeviceArray
from calque_xla_backend import local_devices

__all__ = ["PRNGKey", "key", "key_dtype"]


def _drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a key that draws on the host, and takes one size as its `shape`, too."""
    names = list(inspect.signature(function).parameters)
    place = names.index("shape") if "shape" in names else len(names)
    make = with_arrays(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if args:
            args = (_on_host(args[0]), *args[1:])
        if len(args) > place and isinstance(args[place], int):
            args = (*args[:place], (args[place],), *args[place + 1 :])
        if isinstance(options.get("shape"), int):
            options["shape"] = (options["shape"],)
        return make(*args, **options)

    call.__module__ = "jax.random"  # pickled by the name there
    return call


def _on_host(key: Any) -> Any:
    """Return a known key on the host's first device as NumPy's, so that it takes no compiled program to draw."""
    words = key.words if isinstance(key, KeyArray) else key
    if type(words) is not DeviceArray or words.devices() != {local_devices(backend="cpu")[0]}:
        return key
    return key.with_words(np.asarray(words)) if isinstance(key, KeyArray) else np.asarray(words)


_DRAWING = {
    name: getattr(crandom, name)
    for name in dir(crandom)
    if inspect.isfunction(getattr(crandom, name)) and "key" in inspect.signature(getattr(crandom, name)).parameters
}
__all__ += [name for name in _DRAWING if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name not in _DRAWING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _drawing(_DRAWING[name])


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
