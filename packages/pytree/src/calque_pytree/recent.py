"""A cache of the structures that are flattened often.

Owns `Recent`. The one idea: programs flatten trees of few structures many times, so before the loop runs, compiled
code checks whether a tree has one of the frequent structures. If so, the same pass has read its leaves, and the treedef
is *the same object* as last time: a cache hashes and compares it for free. A user's `is_leaf` must see each node once,
so there the loop runs, and only the treedef is replaced.

Read next: `descent.py`, which makes the code; `flattening.py`, which asks here first.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.comparison import has_same_objects
from calque_pytree.compiling import MAX_TREE, Fit, compile_match, has_plain_nodes
from calque_pytree.kinds import Leaf, Tree

Treedef: TypeAlias = Any
"""A `PyTreeDef`, which is defined above this module."""

COMPILE_AT = frozenset({16, 256, 4096, 65536})
"""Counts of a structure at which code is made for it: compilation never dominates, even if the code never matches."""

MAX_WIDTH = 64
MAX_CANDIDATES = 4
MAX_STRUCTURES = 1024


class Recent:
    """The structures flattened lately under one table of kinds."""

    __slots__ = ("candidates", "counts", "treedefs")

    def __init__(self) -> None:
        self.candidates: dict[object, tuple[tuple[Fit, Treedef], ...]] = {}
        self.treedefs: dict[object, tuple[Treedef, ...]] = {}  # of trees that were flattened with `is_leaf`
        self.counts: dict[object, int] = {}

    def match(self, tree: Tree, leaf_types: set[type]) -> tuple[list[Leaf], Treedef] | None:
        """Return the leaves and the treedef of `tree` if it has a frequent structure, otherwise None."""
        try:
            candidates = self.candidates.get(outline(tree), ())
        except Exception:  # noqa: BLE001  of comparing keys, which the loop does not do
            return None
        for match, treedef in candidates:
            try:
                leaves = match(tree)
            except Exception:  # noqa: BLE001, S112  the loop raises the same error with the path
                continue
            if leaves is not None and leaf_types.issuperset(map(type, leaves)):
                return leaves, treedef
        return None

    def count(self, tree: Tree, nodes: Nodes, treedef: Treedef) -> None:
        """Count `tree`, whose structure is `treedef`, and make code for its structure if it is frequent."""
        if self.is_frequent(nodes, hash(treedef)) and (match := compile_match(nodes)) is not None:
            key = outline(tree)
            self.candidates[key] = ((match, treedef), *self.candidates.get(key, ()))[:MAX_CANDIDATES]

    def same(self, tree: Tree, treedef: Treedef) -> Treedef:
        """Return the treedef object of earlier trees of exactly this structure if it is frequent, otherwise `treedef`.

        The code of `fit` and `unflatten` belongs to one object: `tree_map` of two trees of 62 nodes takes two thirds.
        """
        try:
            key = outline(tree)
            earlier = self.treedefs.get(key, ())
        except Exception:  # noqa: BLE001  of comparing keys
            return treedef
        for each in earlier:
            if are_identical(each.nodes, treedef.nodes):
                return each
        if self.is_frequent(treedef.nodes, ("is_leaf", hash(treedef))) and has_plain_nodes(treedef.nodes):
            self.treedefs[key] = (treedef, *earlier)[:MAX_CANDIDATES]
        return treedef

    def is_frequent(self, nodes: Nodes, structure: object) -> bool:
        """Count a structure; tell whether it is time to make code for it."""
        if len(nodes) > MAX_TREE:
            return False
        if len(self.counts) >= MAX_STRUCTURES:
            self.forget()
        count = self.counts[structure] = self.counts.get(structure, 0) + 1
        return count in COMPILE_AT

    def forget(self) -> None:
        """Forget everything; a class that was a leaf may have become a node."""
        self.candidates.clear()
        self.treedefs.clear()
        self.counts.clear()


def are_identical(left: Nodes, right: Nodes) -> bool:
    """Return whether the nodes have the same objects as data, or tuples of the same objects; `==` is never called."""
    if len(left) != len(right):
        return False
    for one, other in zip(left, right):
        if one is None or other is None:
            if one is not other:
                return False
        elif one[0] is not other[0] or one[1] != other[1] or not has_same_objects(one[2], other[2]):
            return False
    return True


def outline(tree: Tree) -> object:
    """Return a cheap key of the structure of `tree`: the keys of a dict, the types of the items of a sequence.

    >>> outline((1, 2.0))
    (<class 'int'>, <class 'float'>)
    """
    nodetype = type(tree)
    if nodetype is dict:
        return tuple(tree) if len(tree) <= MAX_WIDTH else len(tree)
    if nodetype is tuple or nodetype is list:
        return tuple(map(type, tree)) if len(tree) <= MAX_WIDTH else len(tree)
    return nodetype
