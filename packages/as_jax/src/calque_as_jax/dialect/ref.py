"""`jax.new_ref`: references to device arrays."""

from __future__ import annotations

from typing import Any

import calque
from calque_as_jax.values import to_array
from calque_core.ref import AbstractRef, Ref

__all__ = ["AbstractRef", "empty_ref", "new_ref"]


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """Return a new reference to a copy of an array, on the device.

    `memory_space` and `kind` change nothing: the compiler places arrays, and a checkpoint writes once.

    >>> new_ref(2.0)
    Ref(Array(2., dtype=float32))
    """
    del memory_space, kind
    return calque.new_ref(to_array(init_val))


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a new reference to an array of zeros of the shape and the dtype of `ty`.

    >>> import jax
    >>> empty_ref(jax.ShapeDtypeStruct((2,), "float32"))
    Ref(Array([0., 0.], dtype=float32))
    """
    del memory_space
    return new_ref(calque.empty_ref(ty)[...])
