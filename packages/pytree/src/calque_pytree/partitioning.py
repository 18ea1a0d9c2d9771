"""Splitting a tree in two by a predicate, and joining the two.

Owns `partition` and `combine`. The one idea: both halves keep the structure of the whole, with `None` where the other
half has the leaf, so that a transform can treat each half apart and `combine` needs no further information.

Read next: `tree.py`.
"""

from __future__ import annotations

from calque_pytree.flattening import IsLeaf, tree_flatten
from calque_pytree.kinds import Leaf, Tree
from calque_pytree.registry import Registry, default_registry
from calque_pytree.tree import tree_map


def partition(
    pred: IsLeaf,
    tree: Tree,
    *,
    is_leaf: IsLeaf | None = None,
    registry: Registry = default_registry,
) -> tuple[Tree, Tree]:
    """Return the tree of the leaves for which `pred(leaf)` is true, and the tree of all other leaves.

    Each has the structure of `tree`, with `None` for the leaves of the other tree.

    >>> from calque_pytree import partition
    >>> partition(lambda x: isinstance(x, float), {"w": 2.0, "name": "dense"})
    ({'w': 2.0, 'name': None}, {'w': None, 'name': 'dense'})
    """
    leaves, treedef = tree_flatten(tree, is_leaf, registry=registry)
    chosen = [bool(pred(leaf)) for leaf in leaves]
    yes = [leaf if is_yes else None for leaf, is_yes in zip(leaves, chosen, strict=True)]
    no = [None if is_yes else leaf for leaf, is_yes in zip(leaves, chosen, strict=True)]
    return treedef.unflatten(yes), treedef.unflatten(no)


def combine(*trees: Tree, is_leaf: IsLeaf | None = None, registry: Registry = default_registry) -> Tree:
    """Return the tree whose leaf at each place is the first leaf of `trees` there that is not `None`.

    If `partition` was called with `is_leaf`, pass the same to `combine`.
    Raises: ValueError, with the path, if the trees differ in structure; TypeError without trees.

    >>> from calque_pytree import combine
    >>> combine({"w": 2.0, "name": None}, {"w": None, "name": "dense"})
    {'w': 2.0, 'name': 'dense'}
    """
    if not trees:
        raise TypeError("combine got no trees. Pass at least one.")
    return tree_map(first_not_none, *trees, is_leaf=is_leaf, none_is_leaf=True, registry=registry)


def first_not_none(*leaves: Leaf) -> Leaf:
    """Return the first of `leaves` that is not `None`, or `None`."""
    return next((leaf for leaf in leaves if leaf is not None), None)
