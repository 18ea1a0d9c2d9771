"""Elimination in NumPy, for evaluation: `numpy.linalg` eliminates with exchanges, but does not say which.

One idea: a panel of columns is eliminated column by column, for all matrices of a batch at once; then the columns right
of it follow by one triangular system and one matrix product, where nearly all of the work is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Value = Any

_PANEL = 32  # columns: fewer mean more matrix products, more mean more steps in Python on long columns


def eliminate(a: Value) -> Value:
    """Overwrite the matrices a [k, m, n] by their factors; return the row that each step exchanged, [k, min(m, n)].

    As in LAPACK's getrf, the pivot is the first of the largest elements, by |re| + |im|, and a column of zeros is left
    as it is.
    """
    count, m, n = a.shape
    steps = min(m, n)
    pivots = np.empty((count, steps), np.int32)
    each = np.arange(count)
    for start in range(0, steps, _PANEL):
        stop = min(start + _PANEL, steps)
        for k in range(start, stop):
            pivots[:, k] = chosen = _sizes(a[:, k:, k]).argmax(1) + k
            if (chosen != k).any():
                a[each, chosen], a[:, k] = a[:, k].copy(), a[each, chosen]
            pivot = a[:, k, k]
            a[:, k + 1 :, k] /= (pivot + (pivot == 0))[:, None]
            a[:, k + 1 :, k + 1 : stop] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 : stop]
        if stop < n:
            corner = np.tril(a[:, start:stop, start:stop], -1) + np.eye(stop - start, dtype=a.dtype)
            a[:, start:stop, stop:] = np.linalg.solve(corner, a[:, start:stop, stop:])
            a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]
    return pivots


def _sizes(x: Value) -> Value:
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def exchanged(pivots: Value, size: int) -> Value:
    """Return the order of `size` rows after the exchanges `pivots`, [k, steps] -> [k, size]."""
    count, steps = pivots.shape
    order = np.tile(np.arange(size, dtype=np.int32), (count, 1))
    each, rows = np.arange(count), pivots.astype(np.intp)
    for k in range(steps):
        chosen = rows[:, k]
        order[each, chosen], order[:, k] = order[:, k].copy(), order[each, chosen]
    return order


def column_order(x: Value) -> Value:
    """Return the order in which QR with exchanges takes the columns of each matrix of x [*s, m, n]: [*s, n].

    Each step takes the column with the greatest part that is orthogonal to the columns before it, and subtracts its
    direction from the columns after it (Gram & Schmidt).
    """
    m, n = x.shape[-2:]
    order = np.empty((*x.shape[:-2], n), np.int32)
    order[...] = np.arange(n)
    parts = np.take_along_axis(x, order[..., None, :], -1)
    for k in range(min(m, n)):
        squares = (parts[..., k:].real ** 2 + parts[..., k:].imag ** 2).sum(-2)
        chosen = squares.argmax(-1)[..., None] + k
        for table, index in ((order, chosen), (parts, chosen[..., None, :])):
            taken = np.take_along_axis(table, index, -1)
            np.put_along_axis(table, index, table[..., k : k + 1], -1)
            table[..., k : k + 1] = taken
        column = parts[..., k : k + 1]
        square = (column.conj() * column).real.sum(-2, keepdims=True)
        shares = column.conj().mT @ parts[..., k + 1 :] / (square + (square == 0))
        parts[..., k + 1 :] -= column * shares
    return order
