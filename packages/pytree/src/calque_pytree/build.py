"""Building values from a treedef's preorder sequence.

Owns `fold`, the one loop that goes from leaves to root, `unflatten`, which is `fold` with each kind's own constructor,
and `locate`, the key path of a position. The one idea: one pass over the sequence with a stack of unfinished nodes
builds a tree of any depth, in the order of Python's evaluation of the tree as an expression.

Read next: `generated.py`, the same as straight-line code for structures that are used often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from calque_pytree.keys import KeyEntry, KeyPath, keystr
from calque_pytree.kinds import Leaf, Node, Tree, node_class

Nodes: TypeAlias = "tuple[Node | None, ...]"
"""A treedef's preorder sequence: `None` for a leaf, a triple for an inner node."""


def fold(nodes: Nodes, leaves: Iterable[Leaf], combine: Callable[[int, tuple[Tree, ...]], Tree]) -> Tree:
    """Return the tree over `leaves`, where `combine(position, children)` makes the inner node at that position.

    There must be one leaf for each `None` in `nodes`.
    """
    leaf = iter(leaves)
    built: list[Tree] = []
    unfinished: list[tuple[int, int, int]] = []  # position of the node; where its children begin and end in `built`
    for position, node in enumerate(nodes):
        if node is None:
            built.append(next(leaf))
        else:
            unfinished.append((position, len(built), len(built) + node[1]))
        while unfinished and unfinished[-1][2] == len(built):
            parent, start, _ = unfinished.pop()
            built[start:] = [combine(parent, tuple(built[start:]))]
    return built[0]


def unflatten(nodes: Nodes, leaves: Iterable[Leaf]) -> Tree:
    """Return the tree of structure `nodes` over `leaves`; a note on a user's error names the node's path."""
    building = 0

    def combine(position: int, children: tuple[Tree, ...]) -> Tree:
        nonlocal building
        building = position
        kind, _, data = inner_node(nodes, position)
        return kind.unflatten(data, children)

    try:
        return fold(nodes, leaves, combine)
    except Exception as error:
        note_unflatten_error(error, nodes, building)
        raise


def leaf_paths(nodes: Nodes) -> list[KeyPath] | None:
    """Return the key path of each leaf; None if the entries of a class need the node itself."""
    paths: list[KeyPath] = []
    path: list[KeyEntry] = []  # of the current node
    unvisited: list[Iterator[KeyEntry]] = []  # entries of the later children of each ancestor
    for node in nodes:
        if node is None:
            paths.append(tuple(path))
        elif node[1]:
            kind, arity, data = node
            if kind.flatten_with_keys is not None:
                return None
            entries = iter(kind.entries(data, arity))
            unvisited.append(entries)
            path.append(next(entries))
            continue
        while unvisited:
            entry = next(unvisited[-1], None)
            if entry is not None:
                path[-1] = entry
                break
            unvisited.pop()
            path.pop()
    return paths


def inner_node(nodes: Nodes, position: int) -> Node:
    """Return the inner node at `position`, which must not be a leaf."""
    node = nodes[position]
    assert node is not None, position
    return node


def note_unflatten_error(error: Exception, nodes: Nodes, position: int) -> None:
    """Add to `error` that it was raised while the node at `position` was built."""
    name = node_class(inner_node(nodes, position)).__name__
    error.add_note(f"Raised by the unflatten function of {name}, {place(locate(nodes, position))}.")


def place(path: KeyPath) -> str:
    """Return where `path` points to, in words.

    >>> from calque_pytree import DictKey
    >>> place(()), place((DictKey("w"),))
    ('at the root of the tree', "at ['w']")
    """
    return f"at {keystr(path)}" if path else "at the root of the tree"


def steps_to(nodes: Nodes, position: int) -> list[tuple[Node, int]]:
    """Return the path from the root to `position`: each inner node on it, with the index of its child on it."""
    steps: list[tuple[Node, int]] = []
    for node in nodes[:position]:
        if node is not None and node[1] > 0:
            steps.append((node, 0))
            continue
        while steps:
            parent, index = steps.pop()
            if index + 1 < parent[1]:
                steps.append((parent, index + 1))
                break
    return steps


def locate(nodes: Nodes, position: int) -> KeyPath:
    """Return the key path to `position`, with entries made from the nodes alone."""
    return tuple(kind.entries(data, arity)[index] for (kind, arity, data), index in steps_to(nodes, position))


def subtree_end(nodes: Nodes, start: int) -> int:
    """Return the position after the subtree that begins at `start`.

    >>> from calque_pytree import structure
    >>> subtree_end(structure([(1, 2), 3]).nodes, 1)
    4
    """
    missing = 1
    while missing:
        node = nodes[start]
        missing += -1 if node is None else node[1] - 1
        start += 1
    return start
