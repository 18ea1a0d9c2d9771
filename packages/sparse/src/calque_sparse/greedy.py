"""Greedy colourings of graphs: each vertex gets the least colour that the colours around it do not forbid.

One idea: a set of colours is an integer, a bit for each colour, so that a vertex looks at each neighbour once.

Read next: `coloring.py`, which makes colourings of matrices of these.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from calque_sparse.sets import Indices

Lists = list[list[int]]
PAIRS = 1 << 20  # of columns that share a row, up to which the order by saturation is tried
ROUNDS = 6  # of recolouring


def lists(offsets: Any, members: Any) -> Lists:
    """Return `members` as one list for each range of `offsets`."""
    flat = members.tolist()
    return [flat[a:b] for a, b in pairwise(offsets.tolist())]


def count(colors: Any) -> int:
    """Return the number of colours."""
    return int(np.max(colors, initial=-1)) + 1


def least(forbidden: int) -> int:
    """Return the bit of the least colour that is not forbidden."""
    return ~forbidden & (forbidden + 1)


def partial_coloring(rows_of: Lists, columns_of: Lists) -> Indices:
    """Return colours of columns, such that no two columns with one colour share a row; -1 for one without rows.

    Orders: as they come, by saturation, and recolourings of the best by classes of colours, which never need more
    (Source: Culberson, Iterated greedy graph colouring, 1992).
    """
    bound, random = max(map(len, columns_of), default=0), np.random.default_rng(0)
    best = first_fit(rows_of, len(columns_of), range(len(rows_of)))
    if count(best) > bound and sum(len(columns) ** 2 for columns in columns_of) <= PAIRS:
        best = min(best, by_saturation(rows_of, columns_of), key=count)
    for i in range(ROUNDS if count(best) > bound else 0):
        classes = np.arange(count(best))[::-1] if i % 2 == 0 else random.permutation(count(best))
        order = np.argsort(classes[best], kind="stable").tolist()
        best = min(first_fit(rows_of, len(columns_of), order), best, key=count)
    return best


def first_fit(rows_of: Lists, num_rows: int, order: Iterable[int]) -> Indices:
    """Return the colours of columns, coloured in an order."""
    used, colors = [0] * num_rows, [-1] * len(rows_of)
    for column in order:
        forbidden = 0
        for row in rows_of[column]:
            forbidden |= used[row]
        bit = least(forbidden)
        for row in rows_of[column]:
            used[row] |= bit
        colors[column] = bit.bit_length() - 1 if rows_of[column] else -1
    return np.array(colors, np.int64)


def by_saturation(rows_of: Lists, columns_of: Lists) -> Indices:
    """Return the colours of columns, where the next column is one with most colours forbidden.

    Source: Brélaz, Communications of the ACM 22 (1979).
    """
    degrees = [-sum(len(columns_of[row]) for row in rows) for rows in rows_of]
    forbidden, colors = [0] * len(rows_of), [-1] * len(rows_of)
    heap = sorted((0, degree, column) for column, degree in enumerate(degrees) if rows_of[column])
    while heap:
        saturation, _, column = heapq.heappop(heap)
        if colors[column] >= 0 or -saturation != forbidden[column].bit_count():
            continue
        bit = least(forbidden[column])
        colors[column] = bit.bit_length() - 1
        for row in rows_of[column]:
            for other in columns_of[row]:
                if colors[other] < 0 and not forbidden[other] & bit:
                    forbidden[other] |= bit
                    heapq.heappush(heap, (-forbidden[other].bit_count(), degrees[other], other))
    return np.array(colors, np.int64)


def orders(neighbors: Lists) -> list[list[int]]:
    """Return the orders in which vertices are coloured: as they come, and by falling degree."""
    degrees = [-len(others) for others in neighbors]
    return [list(range(len(neighbors))), sorted(range(len(neighbors)), key=degrees.__getitem__)]


def star(neighbors: Lists, order: Sequence[int], *, look_ahead: bool = False) -> Indices:
    """Return colours of vertices, such that neighbours differ and every path of four vertices has three colours.

    Source: Gebremedhin, Tarafdar, Manne, Pothen, New acyclic and star coloring algorithms (2007).  Here a vertex keeps
    the colours that would end a path of two colours, so it looks at neighbours alone.  To `look_ahead` is to leave the
    colours for a later neighbour free: two neighbours of a vertex without a colour differ.
    """
    colors = [-1] * len(neighbors)
    around, twice = [0] * len(neighbors), [0] * len(neighbors)  # colours of neighbours; those that two of them have
    ends = [0] * len(neighbors)  # colours of neighbours around which the vertex' own colour is there twice
    for v in order:
        forbidden = around[v]
        for w in neighbors[v]:
            is_hub = colors[w] >= 0 and twice[v] >> colors[w] & 1
            forbidden |= ends[w] | (around[w] if is_hub or (look_ahead and colors[w] < 0) else 0)
        bit = least(forbidden)
        colors[v] = bit.bit_length() - 1
        for w in neighbors[v]:
            was_around, was_twice = around[w] & bit, twice[w] & bit
            around[w] |= bit
            twice[w] |= was_around
            if colors[w] < 0:
                continue
            ends[w] |= bit if twice[v] >> colors[w] & 1 else 0
            ends[v] |= 1 << colors[w] if was_around else 0
            for u in neighbors[w] if was_around and not was_twice else ():
                ends[u] |= 1 << colors[w] if colors[u] == colors[v] else 0
    return np.array(colors, np.int64)


def acyclic(neighbors: Lists, order: Sequence[int]) -> Indices:
    """Return colours of vertices, such that neighbours differ and every cycle has three colours.

    All edges from one vertex to vertices of one colour are in one tree of two colours, so a vertex keeps a tree for
    each colour around it.  A colour is forbidden that would join two edges of one tree.
    """
    colors = [-1] * len(neighbors)
    trees: list[dict[int, int]] = [{} for _ in neighbors]  # of each vertex, by colour
    parents: list[int] = []  # of trees that were joined; a root is its own

    def root(tree: int) -> int:
        while parents[tree] != tree:
            parents[tree], tree = parents[parents[tree]], parents[tree]
        return tree

    for v in order:
        forbidden, seen = 0, set()
        colored = [w for w in neighbors[v] if colors[w] >= 0]
        for w in colored:
            forbidden |= 1 << colors[w]
            for color, tree in trees[w].items():
                forbidden |= (root(tree) in seen) << color
                seen.add(root(tree))
        colors[v] = color = least(forbidden).bit_length() - 1
        for w in colored:
            parents.append(len(parents))  # the tree of the edge
            for end, other in ((v, colors[w]), (w, color)):
                parents[root(trees[end].setdefault(other, len(parents) - 1))] = root(len(parents) - 1)
    return np.array(colors, np.int64)
