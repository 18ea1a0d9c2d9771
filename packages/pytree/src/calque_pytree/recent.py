"""Remembering the structures that are flattened again and again.

Owns `Recent`. The one idea: programs flatten trees of few structures many times, so before the loop is run, compiled
code checks whether a tree has one of the structures that were met often. If so, its leaves are already in hand and the
treedef is *the same object* as last time: hashing and comparing it, as every cache does, is free.

Read next: `generated.py`, which makes the code; `flatten.py`, which asks here first.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.generated import MAX_NODES, Fit, compile_match
from calque_pytree.kinds import Leaf, Tree

Treedef: TypeAlias = Any
"""A `PyTreeDef`, which is defined above this module."""

COMPILE_AT = frozenset({16, 256, 4096, 65536})
"""How often a structure was met when code is made for it: seldom enough never to dominate, also if it never matches."""

MAX_WIDTH = 64
MAX_CANDIDATES = 4
MAX_STRUCTURES = 1024


class Recent:
    """The structures met lately by one table of kinds."""

    __slots__ = ("candidates", "counts")

    def __init__(self) -> None:
        self.candidates: dict[object, tuple[tuple[Fit, Treedef], ...]] = {}
        self.counts: dict[int, int] = {}

    def recall(self, tree: Tree, leaf_types: set[type]) -> tuple[list[Leaf], Treedef] | None:
        """Return the leaves and the treedef of `tree` if it has one of the structures that were met often."""
        try:
            for match, treedef in self.candidates.get(outline(tree), ()):
                leaves = match(tree)
                if leaves is not None and leaf_types.issuperset(map(type, leaves)):
                    return leaves, treedef
        except Exception:  # noqa: BLE001, S110  the loop meets the same error, and says where
            pass
        return None

    def remember(self, tree: Tree, nodes: Nodes, treedef: Treedef) -> None:
        """Count `tree`, whose structure is `treedef`, and make code for its structure if it is met often."""
        if len(nodes) > MAX_NODES:
            return
        if len(self.counts) >= MAX_STRUCTURES:
            self.forget()
        structure = hash(treedef)
        count = self.counts[structure] = self.counts.get(structure, 0) + 1
        if count in COMPILE_AT and (match := compile_match(nodes)) is not None:
            key = outline(tree)
            self.candidates[key] = ((match, treedef), *self.candidates.get(key, ()))[:MAX_CANDIDATES]

    def forget(self) -> None:
        """Forget everything; a class that was a leaf may have become a node."""
        self.candidates.clear()
        self.counts.clear()


def outline(tree: Tree) -> object:
    """Return what the root of `tree` tells of its structure at once: the keys of a dict, the types of the items.

    >>> outline((1, 2.0))
    (<class 'int'>, <class 'float'>)
    """
    nodetype = type(tree)
    if nodetype is dict:
        return tuple(tree) if len(tree) <= MAX_WIDTH else len(tree)
    if nodetype is tuple or nodetype is list:
        return tuple(map(type, tree)) if len(tree) <= MAX_WIDTH else len(tree)
    return nodetype
