"""Functions of whole trees: map, reduce, all, transpose.

The one idea: each is a few lines over flatten and unflatten, so that one place defines trees.

Read next: `flattening.py`; `prefix.py` for functions of a tree and a prefix of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

from calque_pytree.align import flatten_up_to
from calque_pytree.flattening import IsLeaf, tree_flatten, tree_leaves, tree_structure
from calque_pytree.keys import KeyEntry, keystr
from calque_pytree.kinds import Flattened, Leaf, NodeData, NodeKind, Tree, keyed_flatten, shown_data
from calque_pytree.registry import Registry, default_registry
from calque_pytree.treedef import PyTreeDef

T = TypeVar("T")


class Unspecified:
    """The type of a default that no caller can pass by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unspecified"


UNSPECIFIED = Unspecified()


def tree_map(
    f: Callable[..., Leaf],
    tree: Tree,
    *rest: Tree,
    is_leaf: IsLeaf | None = None,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> Tree:
    """Return the tree of `f(leaf, *subtrees of rest)` for each leaf of `tree`.

    Each tree of `rest` has the structure of `tree`, but may go deeper where `tree` has a leaf.
    Raises: ValueError, with the path, where a tree of `rest` does not have the structure of `tree`, or where `f` raises
    StopIteration; TypeError if `f` is no function.

    >>> from calque_pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"b": 1, "a": (2, None)}, {"b": 10, "a": (20, None)})
    {'b': 11, 'a': (22, None)}
    """
    check_function("map", f)
    leaves, treedef = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    columns = [flatten_like_first(treedef, tree_n, number) for number, tree_n in enumerate(rest, start=2)]
    results = list(map(f, leaves, *columns))
    if len(results) < len(leaves):
        raise _stopped(treedef, len(results))
    return treedef.unflatten(results)


def _stopped(treedef: PyTreeDef, number: int) -> ValueError:
    """Return the error for a function that raised StopIteration at a leaf, where Python's `map` ends in silence."""
    paths = treedef.leaf_paths()
    leaf = f"leaf {number}" if paths is None else f"the leaf {keystr(paths[number]) or 'at the root'}"
    return ValueError(
        f"map: the function raised StopIteration at {leaf}, so an iterator that it reads has too few items. Give it "
        f"{treedef.num_leaves} items, one for each leaf."
    )


def check_function(caller: str, f: object) -> None:
    """Check that the first argument of `caller` is a function.  Raises: TypeError."""
    if not callable(f):
        raise TypeError(
            f"{caller} got a {type(f).__name__} as its function. Give the function first: {caller}(f, tree)."
        )


def flatten_like_first(treedef: PyTreeDef, tree: Tree, number: int) -> list[Tree]:
    """Return the subtrees of `tree`, which is tree `number` of a map, at the leaves of the first."""
    subtrees = treedef.fit(tree)
    if subtrees is not None:
        return subtrees
    first, second = "The first tree of the map", f"tree number {number}"
    return flatten_up_to(treedef.nodes, tree, first, second, "Give all trees of the map the structure of the first.")


def tree_reduce(
    function: Callable[[T, Leaf], T],
    tree: Tree,
    initializer: T | Unspecified = UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> T:
    """Return `function(... function(function(initializer, leaf 0), leaf 1) ..., last leaf)`.

    Without `initializer` the first leaf takes its place.
    Raises: TypeError if there is neither a leaf nor an initializer, or `function` is no function.

    >>> from calque_pytree import tree_reduce
    >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)})
    6
    """
    check_function("reduce", function)
    leaves: list[T] = tree_leaves(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    if not isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce got a tree without leaves and no initializer. Pass initializer=.")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Tree,
    *,
    identity: T | Unspecified = UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> T:
    """Return the leaves of `tree` combined in order by the associative `operation`.

    Neighbours are combined pairwise, so that no value passes through more than log2(n) operations: for sums of floats
    this is more accurate than `tree_reduce`, and the operations of one level can run side by side.
    Raises: TypeError if there is neither a leaf nor an identity.

    >>> from calque_pytree import tree_reduce_associative
    >>> tree_reduce_associative(lambda x, y: x + y, ["a", ("b", "c")], identity="")
    'abc'
    """
    values: list[T] = tree_leaves(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry)
    if not values:
        if isinstance(identity, Unspecified):
            raise TypeError("tree_reduce_associative got a tree without leaves and no identity. Pass identity=.")
        return identity
    while len(values) > 1:
        unpaired = values[len(values) & ~1 :]
        values = [operation(x, y) for x, y in zip(values[::2], values[1::2], strict=False)] + unpaired
    return values[0]


def tree_all(
    tree: Tree,
    *,
    is_leaf: IsLeaf | None = None,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> bool:
    """Return whether every leaf of `tree` is true.

    >>> from calque_pytree import tree_all
    >>> tree_all({"a": True, "b": (1, None)}), tree_all([True, 0])
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf, none_is_leaf=none_is_leaf, registry=registry))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Tree) -> Tree:
    """Return a tree of `inner_treedef` that holds trees of `outer_treedef`.

    `pytree_to_transpose` is a tree of `outer_treedef` that holds trees of `inner_treedef`.
    With `inner_treedef=None` the first inner tree gives the structure.
    Raises: ValueError, with the path, if the tree does not have these structures, or if one of them has no leaves.

    >>> from calque_pytree import tree_structure, tree_transpose
    >>> outer, inner = tree_structure([0, 0]), tree_structure({"a": 0, "b": 0})
    >>> tree_transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    rows = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is None and rows:
        inner_treedef = tree_structure(rows[0])
    if inner_treedef is None or not (outer_treedef.num_leaves and inner_treedef.num_leaves):
        raise ValueError(
            f"tree_transpose got the outer structure {outer_treedef} and the inner structure {inner_treedef}. "
            "Both need at least one leaf."
        )
    columns = zip(*map(inner_treedef.flatten_up_to, rows), strict=True)
    return inner_treedef.unflatten(map(outer_treedef.unflatten, columns))


def all_leaves(
    iterable: Iterable[Tree],
    is_leaf: IsLeaf | None = None,
    *,
    none_is_leaf: bool = False,
    registry: Registry = default_registry,
) -> bool:
    """Return whether every item of `iterable` is a leaf.

    >>> from calque_pytree import all_leaves
    >>> all_leaves([1, "x"]), all_leaves([1, (2,)]), all_leaves([None])
    (True, False, False)
    """
    table = registry.tables[none_is_leaf]
    return all(table[type(item)] is None or (is_leaf is not None and is_leaf(item)) for item in iterable)


def is_tree_node(nodetype: type, *, registry: Registry = default_registry) -> bool:
    """Return whether instances of the class `nodetype` are inner nodes of trees.

    >>> from calque_pytree import is_tree_node
    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    return nodetype in registry


def flatten_one_level(tree: Tree, *, registry: Registry = default_registry) -> Flattened:
    """Return the children of the root of `tree`, and its data.

    Raises: ValueError if `tree` is a leaf.

    >>> from calque_pytree import flatten_one_level
    >>> flatten_one_level({"b": [1], "a": 2})
    ((2, [1]), ['a', 'b'])
    """
    kind = root_kind(tree, registry)
    children, data = kind.flatten(tree)
    return children, shown_data((kind, len(children), data))


def flatten_one_level_with_keys(
    tree: Tree, *, registry: Registry = default_registry
) -> tuple[list[tuple[KeyEntry, Tree]], NodeData]:
    """Return the children of the root of `tree`, each with its entry in a key path, and the root's data.

    Raises: ValueError if `tree` is a leaf.

    >>> from calque_pytree import flatten_one_level_with_keys
    >>> flatten_one_level_with_keys([5])
    ([(SequenceKey(idx=0), 5)], None)
    """
    kind = root_kind(tree, registry)
    keys, children, data = keyed_flatten(kind, tree)
    return list(zip(keys, children, strict=True)), shown_data((kind, len(children), data))


def root_kind(tree: Tree, registry: Registry) -> NodeKind:
    """Return the kind of the root of `tree`; raise ValueError if it is a leaf."""
    kind = registry.kind(type(tree))
    if kind is None:
        raise ValueError(
            f"A value of type {type(tree).__name__} is a leaf and has no level to flatten. "
            "Pass a container, or register its class as a pytree node."
        )
    return kind
