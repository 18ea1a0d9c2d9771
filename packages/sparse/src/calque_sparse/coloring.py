"""Colourings of a pattern: which rows or columns are differentiated together, and where each entry is then read.

One idea: a derivative along the sum of the columns of one colour is a compressed row of numbers.  A colouring says in
which of these numbers each entry of the matrix stands alone; so entries are read by one indexing, in any evaluator.

Read next: `greedy.py`, the algorithms; `derivatives.py`, which differentiates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calque_sparse import greedy
from calque_sparse.matrix import SparsityPattern
from calque_sparse.sets import Indices


class Coloring(NamedTuple):
    """Colours of columns (directions of forward mode) and of rows (of reverse mode); -1 for one that is not needed.

    The compressed numbers are the products of the matrix with the sum of the columns of each colour, then those of the
    transposed matrix with the sum of the rows of each colour.  Entry k is number `places[k]` of them.
    With `tree`, an acyclic colouring, numbers are summed up trees first: each of its rounds adds the numbers at sources
    to those at targets; they have the signs in `signs` before and after.
    """

    pattern: SparsityPattern
    column_colors: Indices
    row_colors: Indices
    places: Indices
    tree: list[tuple[Indices, Indices]] | None = None
    signs: NDArray[Any] | None = None

    @property
    def num_colors(self) -> int:
        """The number of passes that give all entries."""
        return greedy.count(self.column_colors) + greedy.count(self.row_colors)

    def __repr__(self) -> str:
        forward, reverse = greedy.count(self.column_colors), greedy.count(self.row_colors)
        return f"Coloring of {self.pattern.nnz} entries with {forward} colours of columns and {reverse} of rows"


def column_coloring(pattern: Any) -> Coloring:
    """Return a colouring for forward mode: no two columns of one colour have an entry in one row.

    >>> import numpy as np
    >>> from calque_sparse import column_coloring
    >>> column_coloring(np.eye(4)).num_colors
    1
    """
    pattern = SparsityPattern.of(pattern)
    colors = greedy.partial_coloring(lists_of(pattern.T), lists_of(pattern))
    places = colors[pattern.columns] * pattern.shape[0] + pattern.rows
    return Coloring(pattern, colors, np.full(pattern.shape[0], -1), places)


def row_coloring(pattern: Any) -> Coloring:
    """Return a colouring for reverse mode: no two rows of one colour have an entry in one column."""
    pattern = SparsityPattern.of(pattern)
    colors = greedy.partial_coloring(lists_of(pattern), lists_of(pattern.T))
    places = colors[pattern.rows] * pattern.shape[1] + pattern.columns
    return Coloring(pattern, np.full(pattern.shape[1], -1), colors, places)


def star_coloring(pattern: Any) -> Coloring:
    """Return a colouring of a symmetric matrix, of which each entry or its mirror image stands alone.

    Raises: ValueError if the pattern is not symmetric.
    """
    pattern, neighbors = graph_of(pattern, "star_coloring")
    colors = min((greedy.star(neighbors, order) for order in greedy.orders(neighbors)), key=greedy.count)
    rows, columns, n = pattern.rows, pattern.columns, pattern.shape[0]
    reads = (colors[columns], rows), (colors[rows], columns)
    is_first, used = chosen_reads(*reads, greedy.count(colors))
    colors = compacted(colors, used)
    places = np.where(is_first, colors[columns] * n + rows, colors[rows] * n + columns)
    return Coloring(pattern, colors, np.full(n, -1), places)


def bicoloring(pattern: Any) -> Coloring:
    """Return a colouring of columns and rows: each entry stands alone in forward or in reverse mode.

    It is a star colouring of the graph whose vertices are columns and rows and whose edges are the entries, less the
    colours in which nothing must be read.
    Source: Montoison, Dalle, Gebremedhin, Revisiting sparse matrix coloring and bicoloring (2025).

    >>> import numpy as np
    >>> from calque_sparse import bicoloring, column_coloring
    >>> arrow = np.eye(9) + np.eye(9)[:, :1] + np.eye(9)[:1]
    >>> column_coloring(arrow).num_colors, bicoloring(arrow).num_colors
    (9, 3)
    """
    pattern = SparsityPattern.of(pattern)
    n = pattern.shape[1]
    neighbors = [[n + row for row in rows] for rows in lists_of(pattern.T)] + lists_of(pattern)
    stars = [greedy.star(neighbors, order, look_ahead=x) for order in greedy.orders(neighbors) for x in (True, False)]
    return min((split_coloring(pattern, colors) for colors in stars), key=lambda coloring: coloring.num_colors)


def split_coloring(pattern: SparsityPattern, colors: Indices) -> Coloring:
    """Return the colouring of columns and rows of a star colouring of both, less the colours that are not read."""
    m, n = pattern.shape
    columns, rows = (np.unique(part, return_inverse=True)[1] for part in (colors[:n], colors[n:]))
    split = greedy.count(columns)
    reads = (columns[pattern.columns], pattern.rows), (split + rows[pattern.rows], pattern.columns)
    is_forward, used = chosen_reads(*reads, split + greedy.count(rows))
    columns, rows = compacted(columns, used[:split]), compacted(rows, used[split:])
    forward = columns[pattern.columns] * m + pattern.rows
    reverse = greedy.count(columns) * m + rows[pattern.rows] * n + pattern.columns
    return Coloring(pattern, columns, rows, np.where(is_forward, forward, reverse))


def chosen_reads(first: tuple[Any, Any], second: tuple[Any, Any], num_colors: int) -> tuple[Any, Any]:
    """Return whether each entry is read at its first place, a colour and a position, and which colours are read.

    An entry can be read at a place where it stands alone.  Colours without which an entry could not be read are used
    first, then those in which most entries stand.
    """
    keys = [color * (1 + np.max(at, initial=0)) + at for color, at in (first, second)]
    numbers = [np.unique(key, return_inverse=True)[1] for key in keys]
    alone = [np.bincount(number, minlength=1)[number] == 1 for number in numbers]
    assert np.all(alone[0] | alone[1]), "an entry stands alone nowhere"
    used = np.zeros(num_colors, bool)
    used[first[0][~alone[1]]] = used[second[0][~alone[0]]] = True
    while True:
        is_first = alone[0] & used[first[0]]
        is_open = ~is_first & ~(alone[1] & used[second[0]])
        if not is_open.any():
            return is_first, used
        used[np.argmax(np.bincount(np.append(first[0][is_open], second[0][is_open])))] = True


def acyclic_coloring(pattern: Any) -> Coloring:
    """Return a colouring of a symmetric matrix whose entries follow from sums along trees: the fewest colours.

    An entry is a sum of up to as many numbers as its tree has edges, so it is less exact than with a star colouring.
    Raises: ValueError if the pattern is not symmetric.

    >>> import numpy as np
    >>> from calque_sparse import acyclic_coloring, star_coloring
    >>> tridiagonal = np.tri(9, k=1) * np.tri(9, k=1).T
    >>> star_coloring(tridiagonal).num_colors, acyclic_coloring(tridiagonal).num_colors
    (3, 2)
    """
    pattern, neighbors = graph_of(pattern, "acyclic_coloring")
    colors = min((greedy.acyclic(neighbors, order) for order in greedy.orders(neighbors)), key=greedy.count)
    rows, columns, n = pattern.rows, pattern.columns, pattern.shape[0]
    here, mirrored = colors[columns] * n + rows, colors[rows] * n + columns
    parents, depths = forest(here, mirrored, rows != columns, greedy.count(colors) * n)
    below = (parents[here] == mirrored) | (rows == columns)  # the sum up to here is that of the edge to the parent
    places, signs = np.where(below, here, mirrored), 1 - 2 * (depths % 2)
    return Coloring(pattern, colors, np.full(n, -1), places, doubling(parents), signs)


def forest(first: Indices, second: Indices, is_edge: Any, size: int) -> tuple[Indices, Indices]:
    """Return the parent of each number, -1 for a root, and its depth, in the forest whose edges are entries."""
    order = np.argsort(first[is_edge], kind="stable")
    offsets = np.searchsorted(first[is_edge][order], np.arange(size + 1))
    neighbors = greedy.lists(offsets, second[is_edge][order])
    parents, depths = [-1] * size, [-1] * size
    for start in range(size):
        stack = [start] if depths[start] < 0 else []
        for v in stack:  # the list grows
            depths[v] = depths[parents[v]] + 1 if v != start else 0
            children = [w for w in neighbors[v] if w != parents[v]]
            stack += children
            for w in children:
                parents[w] = v
    return np.array(parents, np.int64), np.array(depths, np.int64)


def doubling(parents: Indices) -> list[tuple[Indices, Indices]]:
    """Return the rounds that add to each number all below it: each round reaches twice as far."""
    rounds, ancestors = [], parents
    while np.any(ancestors >= 0):
        sources = np.flatnonzero(ancestors >= 0)
        rounds.append((sources, ancestors[sources]))
        ancestors = np.where(ancestors >= 0, ancestors[ancestors], -1)
    return rounds


def graph_of(pattern: Any, name: str) -> tuple[SparsityPattern, greedy.Lists]:
    """Return a symmetric pattern, and the neighbours of each vertex of its graph.  Raises: ValueError."""
    pattern = SparsityPattern.of(pattern)
    if pattern != pattern.T:
        raise ValueError(f"{name} got a pattern that is not symmetric, of shape {pattern.shape}. Use column_coloring.")
    kept = pattern.rows != pattern.columns
    return pattern, lists_of(SparsityPattern(pattern.shape, pattern.rows[kept], pattern.columns[kept]))


def lists_of(pattern: SparsityPattern) -> greedy.Lists:
    """Return the columns of each row."""
    return greedy.lists(pattern.offsets, pattern.columns)


def compacted(colors: Indices, used: Any) -> Indices:
    """Return colours without gaps; -1 for a colour that is not used."""
    return np.append(np.where(used, np.cumsum(used) - 1, -1), -1)[colors]
