"""Flattening with key paths.

Owns `tree_flatten_with_path`, `tree_leaves_with_path` and `tree_map_with_path`. The one idea: the loop keeps one list
of the entries from the root, and copies it into a tuple at the leaves only; a path tuple per inner node would make the
cost of a deep tree quadratic.  The loop runs for predicates, and for classes whose entries need the node itself.

Read next: `flattening.py`, the loop without paths; `keys.py` for the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from calque_pytree.flattening import CYCLE_CHECK_DEPTH, note_flatten_error, refuse_cycle, tree_flatten
from calque_pytree.keys import KeyEntry, KeyPath
from calque_pytree.kinds import Leaf, Node, Tree, keyed_flatten
from calque_pytree.registry import KindTable, Registry, default_registry
from calque_pytree.tree import check_function, flatten_like_first
from calque_pytree.treedef import PyTreeDef

IsLeafAt: TypeAlias = Callable[..., bool]
"""A predicate of a node, or of its path and the node."""


def tree_flatten_with_path(
    tree: Tree,
    is_leaf: IsLeafAt | None = None,
    is_leaf_takes_path: bool = False,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return the leaves of `tree` in order, each with its key path, and the structure.

    With `is_leaf_takes_path` the predicate is called as `is_leaf(path, node)`.
    Raises: ValueError if the tree contains itself.

    >>> from calque_pytree import tree_flatten_with_path
    >>> leaves, treedef = tree_flatten_with_path({"a": [1]})
    >>> leaves
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    if is_leaf is None:  # a frequent structure keeps its paths: a fifth of the time
        flat, treedef = tree_flatten(tree, none_is_leaf=none_is_leaf, registry=registry)
        paths = treedef.leaf_paths()
        if paths is not None:
            return list(zip(paths, flat, strict=True)), treedef
    table = registry.tables[none_is_leaf]
    if is_leaf is None or is_leaf_takes_path:
        leaves, nodes = flatten_nodes_with_path(tree, table, is_leaf)
    else:
        without_path = is_leaf
        leaves, nodes = flatten_nodes_with_path(tree, table, lambda path, node: without_path(node))
    return leaves, PyTreeDef(tuple(nodes), len(leaves))


def tree_leaves_with_path(
    tree: Tree,
    is_leaf: IsLeafAt | None = None,
    is_leaf_takes_path: bool = False,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> list[tuple[KeyPath, Leaf]]:
    """Return the leaves of `tree` in order, each with its key path.

    >>> from calque_pytree import tree_leaves_with_path
    >>> tree_leaves_with_path({"a": [1]})
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path, none_is_leaf=none_is_leaf, registry=registry)[0]


def tree_map_with_path(
    f: Callable[..., Leaf],
    tree: Tree,
    *rest: Tree,
    is_leaf: IsLeafAt | None = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> Tree:
    """Return the tree of `f(path, leaf, *subtrees of rest)` for each leaf of `tree`.

    Raises: ValueError, with the path, where a tree of `rest` does not have the structure of `tree`; TypeError if `f` is
    no function.

    >>> from calque_pytree import keystr, tree_map_with_path
    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} = {x}", {"a": [1]})
    {'a': ["['a'][0] = 1"]}
    """
    check_function("map_with_path", f)
    pairs, treedef = tree_flatten_with_path(
        tree, is_leaf, is_leaf_takes_path, none_is_leaf=none_is_leaf, registry=registry
    )
    columns = [flatten_like_first(treedef, tree_n, number) for number, tree_n in enumerate(rest, start=2)]
    return treedef.unflatten([f(*pair, *subtrees) for pair, *subtrees in zip(pairs, *columns, strict=True)])


def flatten_nodes_with_path(
    tree: Tree, table: KindTable, is_leaf: IsLeafAt | None
) -> tuple[list[tuple[KeyPath, Leaf]], list[Node | None]]:
    """Return the leaves of `tree` with their paths, and its nodes in preorder."""
    leaves: list[tuple[KeyPath, Leaf]] = []
    nodes: list[Node | None] = []
    ancestors: list[Tree] = []
    path: list[KeyEntry] = []  # of the current node
    stack: list[Iterator[tuple[list[KeyEntry], Tree]]] = [iter((([], tree),))]
    check_depth = CYCLE_CHECK_DEPTH
    while stack:
        for entry, node in stack[-1]:
            path[len(ancestors) - 1 :] = entry  # for the root, which has no entry, the path is still empty
            try:
                kind = table[type(node)]
                if kind is None or (is_leaf is not None and is_leaf(tuple(path), node)):
                    leaves.append((tuple(path), node))
                    nodes.append(None)
                    continue
                entries, children, data = keyed_flatten(kind, node)
            except Exception as error:
                note_flatten_error(error, node, tuple(path))
                raise
            nodes.append((kind, len(children), data))
            ancestors.append(node)
            stack.append(iter([([e], child) for e, child in zip(entries, children, strict=True)]))
            if len(ancestors) == check_depth:
                refuse_cycle(ancestors, lambda: tuple(path))
                check_depth *= 2
            break
        else:
            stack.pop()
            ancestors[-1:] = []
    return leaves, nodes
