"""Prefixes: trees where one leaf stands for a whole subtree of a full tree.

Owns `prefix_errors`, `broadcast_prefix`, `tree_broadcast` and `flatten_axes`. The one idea: a prefix is compared with
the structure of the full tree and nothing is built, so no constructor of a user's class receives a placeholder.

Read next: `align.py`, which finds and describes the differences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from calque_pytree.align import Mismatch, align, describe_node, path_in
from calque_pytree.build import place, subtree_end
from calque_pytree.comparison import equal_nodes
from calque_pytree.flattening import IsLeaf, tree_flatten, tree_leaves, tree_structure
from calque_pytree.keys import KeyPath
from calque_pytree.kinds import Leaf, Tree
from calque_pytree.registry import Registry, default_registry
from calque_pytree.treedef import PyTreeDef


def prefix_errors(
    prefix_tree: Tree,
    full_tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> list[Callable[[str], ValueError]]:
    """Return one function for each place where `prefix_tree` is not a prefix of `full_tree`.

    Each function takes the name of the prefix argument and returns an exception to raise.

    >>> from calque_pytree import prefix_errors
    >>> [error] = prefix_errors({"a": 0, "b": (1, 2)}, {"a": [1, 2], "b": (1, 2, 3)})
    >>> print(error("in_axes"))
    in_axes has a tuple of length 2 at ['b'], but the full tree has a tuple of length 3 there. Give in_axes the \
containers of the full tree, or one leaf for a whole subtree.
    """
    _, prefix_def = tree_flatten(prefix_tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    _, mismatches = align(prefix_def.nodes, full_tree)
    return [partial(prefix_error, mismatch) for mismatch in mismatches]


def prefix_error(mismatch: Mismatch, name: str, place: Callable[[KeyPath], str] = place) -> ValueError:
    """Return the error that says where the prefix `name` does not fit the full tree."""
    return ValueError(
        f"{mismatch.describe(name, 'the full tree', place)}. "
        f"Give {name} the containers of the full tree, or one leaf for a whole subtree."
    )


def broadcast_prefix(
    prefix_tree: Tree,
    full_tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> list[Leaf]:
    """Return the leaves of `prefix_tree`, each repeated once for each leaf of `full_tree` that it stands for.

    `is_leaf` applies to the prefix.
    Raises: ValueError, with the path, if `prefix_tree` is not a prefix of `full_tree`.

    >>> from calque_pytree import broadcast_prefix
    >>> broadcast_prefix({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    [0, 0, 1]
    """
    leaves, prefix_def = tree_flatten(prefix_tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    subtrees, mismatches = align(prefix_def.nodes, full_tree)
    if mismatches:
        raise prefix_error(mismatches[0], "the prefix tree")
    counts = [len(tree_leaves(subtree, none_is_leaf=none_is_leaf, registry=registry)) for subtree in subtrees]
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def tree_broadcast(
    prefix_tree: Tree,
    full_tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> Tree:
    """Return `prefix_tree` with each leaf spread over the subtree of `full_tree` that it stands for.

    Raises: ValueError, with the path, if `prefix_tree` is not a prefix of `full_tree`.

    >>> from calque_pytree import tree_broadcast
    >>> tree_broadcast({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    {'a': [0, 0], 'b': 1}
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    return tree_structure(full_tree, none_is_leaf=none_is_leaf, registry=registry).unflatten(leaves)


def flatten_axes(
    name: str,
    treedef: PyTreeDef,
    axis_tree: Tree,
    *,
    registry: Registry = default_registry,
    place: Callable[[KeyPath], str] = place,
) -> list[Leaf]:
    """Return one axis for each leaf of `treedef`, from the prefix `axis_tree`, in which `None` is an axis too.

    `name` is the name of the argument in messages, `place(path)` the place of a path, such as "for weights['w']".
    Raises: ValueError, with the path, if `axis_tree` is not a prefix of `treedef`.

    >>> from calque_pytree import flatten_axes, structure
    >>> flatten_axes("in_axes", structure(({"w": 1.0, "b": 2.0}, 3.0)), (None, 0))
    [None, None, 0]
    """
    leaves, prefix_def = tree_flatten(axis_tree, none_is_leaf=True, registry=registry)
    values, axes = iter(leaves), list[Leaf]()
    start = 0  # of the subtree of `treedef` under the current node of the prefix
    for position, node in enumerate(prefix_def.nodes):
        if node is None:
            end = subtree_end(treedef.nodes, start)
            axes += [next(values)] * treedef.nodes[start:end].count(None)
            start = end
        elif equal_nodes((node,), treedef.nodes[start : start + 1]):
            start += 1
        else:
            path = path_in(axis_tree, prefix_def.nodes, position)
            raise prefix_error(Mismatch(path, node, describe_node(treedef.nodes[start])), name, place)
    return axes
