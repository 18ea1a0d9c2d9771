"""Names of `jax.random` that differ from calque's."""

from __future__ import annotations

from typing import Any

import calque.random as crandom
from calque_as_jax.values import to_arrays

__all__ = ["PRNGKey", "key", "key_dtype"]


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
