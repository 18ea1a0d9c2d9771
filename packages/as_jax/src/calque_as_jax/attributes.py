"""Attributes that jax's classes have and calque's lack: they are there while `jax` is calque.

One idea: a table of classes, names and values; `add` sets them at installation, and `remove` deletes them.
"""

from __future__ import annotations

from typing import Any

from calque_core import AbstractMesh, Mesh, Primitive, ShapedArray

# A type of calque's holds no sharding, and no operation is a call of a function that it holds beside its parameters.
_ATTRIBUTES: tuple[tuple[type, str, Any], ...] = (
    (ShapedArray, "sharding", None),
    (Mesh, "empty", False),
    (AbstractMesh, "empty", False),
    (Primitive, "call_primitive", False),
    (Primitive, "map_primitive", False),
)


def add() -> None:
    """Add the attributes to their classes."""
    for owner, name, value in _ATTRIBUTES:
        setattr(owner, name, value)


def remove() -> None:
    """Remove the attributes."""
    for owner, name, _ in _ATTRIBUTES:
        delattr(owner, name)
