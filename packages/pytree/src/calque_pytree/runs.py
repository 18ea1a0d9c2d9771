"""Runs: neighbouring children of one structure, which generated code visits in a loop.

Owns `find_runs` and `outline_of`. The one idea: each subtree gets a number, the same for subtrees that no program can
tell apart, so that equal neighbours are found in one pass; the code for a tree of 10,000 equal layers is that of one.

Read next: `generated.py` and `descent.py`, which write the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from gc import get_referents
from itertools import groupby, repeat
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from calque_pytree.build import Nodes, fold, inner_node
from calque_pytree.comparison import key_of
from calque_pytree.compiling import MAX_NODES, MAX_TREE
from calque_pytree.kinds import DICT, Node, insertion_order

MIN_SAVED = 24
"""A run that saves the code for fewer nodes is written out: code for a node takes 0.8 of the time of a pass through a
loop, but costs 20 us."""

PLAIN_TYPES = frozenset({str, int, float, bool, complex, bytes, type(None), type, BuiltinFunctionType})

Shape = tuple[int, int, int]  # of a subtree: its number, its nodes, and the nodes that code for it writes out


class Run(NamedTuple):
    """The run of a node that saves most: `length` neighbouring children of `size` nodes each, the first at `start`."""

    start: int
    length: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.length * self.size


class Runs(NamedTuple):
    """The runs of a tree: by the position of the parent, and by that of the first child."""

    of: dict[int, Run]
    at: dict[int, Run]


class Item(NamedTuple):
    """A node, a leaf or a run in an outline: its position, its node with runs as one child, or its run."""

    position: int
    node: Node | None
    run: Run | None


def find_runs(nodes: Nodes, min_leaves: int = MAX_TREE) -> Runs | None:
    """Return the runs in the tree of structure `nodes`; None if the code for the tree would be too long.

    Neighbouring leaves are also a run if there are `min_leaves` of them.

    >>> from calque_pytree import structure
    >>> find_runs(structure((0, [(i, i) for i in range(2000)])).nodes).of
    {2: Run(start=3, length=2000, size=3)}
    """
    if len(nodes) > MAX_TREE:
        return None
    of: dict[int, Run] = {}
    numbers: dict[Hashable, int] = {}

    def visit(position: int, children: tuple[Shape, ...]) -> Shape:
        numbers_of, sizes, lengths = zip(*children) if children else ((), (), ())
        index, count, saved = best_run(children)
        length = 1 + sum(lengths)
        if saved >= MIN_SAVED or (count >= min_leaves and numbers_of[index] == 0):
            of[position] = Run(position + 1 + sum(sizes[:index]), count, sizes[index])
            length -= saved
        shape = exact_key(inner_node(nodes, position)), numbers_of
        return numbers.setdefault(shape, len(numbers) + 1), 1 + sum(sizes), length

    _, _, length = fold(nodes, repeat((0, 1, 1)), visit)
    return Runs(of, {run.start: run for run in of.values()}) if length <= MAX_NODES else None


def best_run(shapes: Iterable[Shape]) -> tuple[int, int, int]:
    """Return the run of equal shapes that saves the code for most nodes: its index, its length, and these nodes.

    >>> best_run([(1, 9, 9), (2, 4, 4), (2, 4, 4), (2, 4, 4), (1, 9, 9)])
    (1, 3, 8)
    """
    best, index = (0, 0, 0), 0
    for (_, _, nodes), group in groupby(shapes):
        count = len([*group])
        best = max(best, (index, count, (count - 1) * nodes), key=itemgetter(2))
        index += count
    return best


def exact_key(node: Node) -> Hashable:
    """Return a key that is equal only for nodes that no program can tell apart, whatever their children are."""
    kind, _, data = node
    if kind is DICT and all(type(key) is str for key in data):
        return kind, tuple(data), insertion_order(data)
    return (kind, key_of(data)) if is_plain(data) else object()


def is_plain(value: Any) -> bool:
    """Return whether a reference to `value` keeps no array or tracer of a user's program alive."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    kind: Any = type(value)
    if kind in PLAIN_TYPES or (kind is FunctionType and value.__closure__ is None):
        return True
    # An instance without attributes marks an absent field.
    return bool(kind.__eq__ is object.__eq__ and get_referents(value) == [kind])


def outline_of(nodes: Nodes, runs: Runs, start: int, end: int) -> list[Item]:
    """Return the nodes from `start` to `end` in preorder, with each run as one item.

    The node at `start` may begin a run itself: then this is the outline of one of its subtrees.
    """
    items: list[Item] = []
    position = start
    while position < end:
        run = runs.at.get(position) if position > start else None
        if run is not None:
            items.append(Item(position, None, run))
            position = run.end
            continue
        node = nodes[position]
        if node is not None and position in runs.of:
            kind, arity, data = node
            node = (kind, arity - runs.of[position].length + 1, data)
        items.append(Item(position, node, None))
        position += 1
    return items


def fold_outline(
    items: Sequence[Item], name: Callable[[Item], str], combine: Callable[[int, tuple[str, ...]], str]
) -> str:
    """Return the root's name, where `name(item)` names leaves and runs, and `combine(position, children)` nodes."""
    leaves = (name(item) for item in items if item.node is None)
    root: str = fold(
        tuple(item.node for item in items), leaves, lambda index, children: combine(items[index].position, children)
    )
    return root
