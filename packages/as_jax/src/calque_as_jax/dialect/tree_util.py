"""Names of `jax.tree_util` that calque lacks elsewhere."""

from __future__ import annotations

from typing import Any

from calque_pytree import all_leaves, tree_flatten

__all__ = ["flatten_one_level", "is_tree_node"]


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """Return the children of a node, and its structure.  Raises: ValueError for a leaf."""
    if not is_tree_node(tree):
        raise ValueError(f"{tree!r} is a leaf and has no children. Register its class as a pytree node.")
    return tree_flatten(tree, is_leaf=lambda x: x is not tree)


def is_tree_node(x: Any) -> bool:
    """Tell whether a value is a node of a pytree."""
    return not all_leaves([x])
