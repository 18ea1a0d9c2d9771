"""Flattening: from a tree to its leaves and its treedef.

Owns the loop, and `tree_flatten`, `tree_leaves`, `tree_structure`, `tree_unflatten`. The one idea: one stack of
iterators, so that depth costs memory and never C stack; every node is visited once, in preorder.

Read next: `treedef.py` for the result; `recent.py` for why a frequent structure is flattened faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from typing import TypeAlias

from calque_pytree.build import place
from calque_pytree.keys import KeyEntry, KeyPath
from calque_pytree.kinds import Leaf, Node, NodeKind, Tree, keyed_flatten
from calque_pytree.registry import KindTable, Registry, default_registry
from calque_pytree.treedef import LEAF, PyTreeDef, treedef_tuple

IsLeaf: TypeAlias = Callable[[Tree], bool]

CYCLE_CHECK_DEPTH = 500

MAX_DEPTH = 1_000_000
"""No tree is as deep as this, unless its flatten functions make new nodes without end."""

FLAT_TUPLES = [treedef_tuple([LEAF] * n) for n in range(17)]


def tree_flatten(
    tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves of `tree` in order, and its structure.

    The values of a dict come in the order of its sorted keys, or as inserted if the keys cannot be sorted.
    `is_leaf(node)` may declare an inner node a leaf; `none_is_leaf` makes `None` a leaf instead of an empty node.
    Raises: ValueError if the tree contains itself.

    >>> from calque_pytree import tree_flatten
    >>> tree_flatten({"b": 1, "a": (2, [3, None])})
    ([2, 3, 1], PyTreeDef({'a': (*, [*, None]), 'b': *}))
    """
    table = registry.tables[none_is_leaf]
    if is_leaf is not None:
        leaves, nodes = flatten_nodes(tree, table, is_leaf)
        return leaves, table.recent.same(tree, PyTreeDef(tuple(nodes), len(leaves)))
    nodetype, leaf_types = type(tree), table.leaf_types
    if nodetype in leaf_types:
        return [tree], LEAF
    if nodetype is tuple and len(tree) < len(FLAT_TUPLES) and leaf_types.issuperset(map(type, tree)):
        return list(tree), FLAT_TUPLES[len(tree)]  # 0.35 us instead of 1.1: arguments are such tuples
    return table.recent.match(tree, leaf_types) or flatten_by_loop(tree, table)


def flatten_by_loop(tree: Tree, table: KindTable) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves and the structure of `tree`, and count the structure."""
    leaves, nodes = flatten_nodes(tree, table, None)
    treedef = PyTreeDef(tuple(nodes), len(leaves))
    table.recent.count(tree, treedef.nodes, treedef)
    return leaves, treedef


def tree_leaves(
    tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> list[Leaf]:
    """Return the leaves of `tree` in order.

    >>> from calque_pytree import tree_leaves
    >>> tree_leaves({"b": 1, "a": (2, [3, None])})
    [2, 3, 1]
    """
    return tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)[0]


def tree_structure(
    tree: Tree,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> PyTreeDef:
    """Return the structure of `tree`.

    >>> from calque_pytree import tree_structure
    >>> tree_structure({"b": 1, "a": (2, [3, None])})
    PyTreeDef({'a': (*, [*, None]), 'b': *})
    """
    return tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)[1]


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> Tree:
    """Return the tree of structure `treedef` over `leaves`; dicts keep their insertion order.

    Raises: ValueError if the number of leaves is not `treedef.num_leaves`; TypeError for another first argument.

    >>> from calque_pytree import tree_flatten, tree_unflatten
    >>> leaves, treedef = tree_flatten({"b": 1, "a": (2, 3)})
    >>> tree_unflatten(treedef, [10 * leaf for leaf in leaves])
    {'b': 10, 'a': (20, 30)}
    """
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(
            f"unflatten got {treedef!r} as its treedef. Give the treedef first: unflatten(treedef, leaves)."
        )
    return treedef.unflatten(leaves)


def flatten_nodes(tree: Tree, table: KindTable, is_leaf: IsLeaf | None) -> tuple[list[Leaf], list[Node | None]]:
    """Return the leaves of `tree` and its nodes in preorder."""
    leaves: list[Leaf] = []
    nodes: list[Node | None] = []
    ancestors: list[Tree] = []
    stack: list[Iterator[Tree]] = [iter((tree,))]  # children not yet visited: of a holder of the root, of each ancestor
    is_all_leaves = table.leaf_types.issuperset
    check_depth = CYCLE_CHECK_DEPTH
    while True:
        for node in stack[-1]:
            try:
                kind = table[type(node)]
                if kind is None or (is_leaf is not None and is_leaf(node)):
                    leaves.append(node)
                    nodes.append(None)
                    continue
                if (attributes := kind.attributes) is None:
                    children, data = kind.flatten(node)
                else:  # without a Python call per node
                    values = attributes.read(node)
                    children, data = values[: attributes.num_children], values[attributes.num_children :]
            except Exception as error:
                note_flatten_error(error, node, path_of_next(ancestors, stack, table))
                raise
            arity = len(children)
            nodes.append((kind, arity, data))
            if is_all_leaves(map(type, children)):
                leaves += children
                nodes += (None,) * arity
                continue
            ancestors.append(node)
            stack.append(iter(children))
            if len(ancestors) == check_depth:
                refuse_cycle(ancestors, lambda: path_of_next(ancestors, stack, table))
                check_depth *= 2
            break
        else:
            stack.pop()
            if not stack:
                return leaves, nodes
            ancestors.pop()


def note_flatten_error(error: Exception, node: Tree, path: KeyPath) -> None:
    """Add a note to `error` that names the node whose flattening raised it."""
    error.add_note(f"Raised while flattening the {type(node).__name__} {place(path)}.")


def path_of_next(ancestors: list[Tree], stack: list[Iterator[Tree]], table: KindTable) -> KeyPath:
    """Return the key path of the current node: the last child that each iterator but the first in `stack` returned."""
    return tuple(map(entry_of_last, ancestors, stack[1:], (table[type(node)] for node in ancestors)))


def entry_of_last(node: Tree, unvisited: Iterator[Tree], kind: NodeKind | None) -> KeyEntry:
    """Return the entry of the last visited child of `node`."""
    assert kind is not None, node
    entries, children, _ = keyed_flatten(kind, node)
    return entries[len(children) - length_hint(unvisited) - 1]


def refuse_cycle(ancestors: list[Tree], path_of_deepest: Callable[[], KeyPath]) -> None:
    """Raise ValueError if one of `ancestors` is also its own ancestor.

    The loop calls this at depths of `CYCLE_CHECK_DEPTH` times powers of two: real trees are seldom so deep, and the
    time to detect a cycle of any length is linear in the depth reached.
    """
    depths: dict[int, int] = {}
    for depth, node in enumerate(ancestors):
        first = depths.setdefault(id(node), depth)
        if first < depth:
            path = path_of_deepest()
            raise ValueError(
                f"The tree contains itself: the {type(node).__name__} {place(path[:depth])} is the same object as "
                f"the one {place(path[:first])}. Remove the inner reference, or cut it off with is_leaf=."
            )
    if len(ancestors) >= MAX_DEPTH:
        raise ValueError(
            f"The tree is more than {MAX_DEPTH:,} levels deep, down to a {type(ancestors[-1]).__name__}. "
            "Make sure that the flatten functions of its classes return the children of a node and not new nodes."
        )
