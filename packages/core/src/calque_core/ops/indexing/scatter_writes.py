"""Writing into NumPy arrays at positions: the evaluation of `scatter` and its kinds.

One idea: the axes that windows fill are lines, which positions along the other axes number; to combine lines that meet
is one `ufunc.at` over single elements.

Read next: `scatter.py`, the primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core.ops.indexing.windows import Windows

Value = Any


def write_window(ufunc: np.ufunc | None, x: Value, place: Any, update: Value, is_kept: Value | None) -> Value:
    """Return `x` with one window replaced, or combined with the update by `ufunc`, if it is kept."""
    out = np.array(x)
    if is_kept is None or is_kept:
        out[place] = update if ufunc is None else ufunc(out[place], update)
    return out[()]


def write_windows(
    ufunc: np.ufunc | None,
    x: Value,
    windows: Windows,
    indices: Value,
    updates: Value,
    is_kept: Value | None,
    is_unique: bool,
) -> Value:
    """Write `updates` [*rows, *cut, *filled] into `x` at flat positions among the axes that windows do not fill."""
    in_order = x.transpose(windows.order)
    width = prod(windows.sizes[axis] for axis in windows.filled)
    out = np.array(in_order, order="C")
    lines = out.reshape(prod(x.shape[axis] for axis in windows.indexed), width)
    places = windows.flat_positions(indices)
    values = updates.reshape(places.size, width)
    if is_kept is not None:
        chosen = np.repeat(is_kept.reshape(-1), prod(windows.sizes[axis] for axis in windows.cut))
        places, values = places[chosen], values[chosen]
    if ufunc is None:
        lines[places] = values
    elif is_unique:
        lines[places] = ufunc(lines[places], values)
    else:
        combine_lines(ufunc, lines, places, values)
    return out.transpose(inverse(windows.order))[()]


class Lines:
    """Lines of an array, the axes that all windows fill, and updates for lines that positions number, by `ufunc`.

    `rows_first` is the order of the axes of the updates in which the axes of the positions stand first.
    """

    def __init__(self, ufunc: np.ufunc, windows: Windows, rows_first: Sequence[int]) -> None:
        self.ufunc, self.windows, self.rows_first = ufunc, windows, rows_first
        self.num_axes = len(windows.indexed)
        self.order_back = inverse(windows.order)
        self.are_last = list(windows.order) == self.order_back == list(range(len(windows.order)))

    def combine(self, out: Value, indices: Value, updates: Value) -> None:
        """Write updates into an array in C order whose lines are its last axes."""
        lines = out.reshape(prod(out.shape[: self.num_axes]), *out.shape[self.num_axes :])
        places = self.windows.clipped_lines(indices).reshape(-1)
        combine_lines(self.ufunc, lines, places, updates.transpose(self.rows_first))

    def combined(self, x: Value, indices: Value, updates: Value) -> Value:
        """Return `x` with its lines and updates combined."""
        if self.are_last:
            out = x.copy()
            self.combine(out, indices, updates)
            return out
        out = np.array(x.transpose(self.windows.order), order="C")
        self.combine(out, indices, updates)
        return out.transpose(self.order_back)

    def add(self, total: Value, indices: Value, updates: Value) -> None:
        """Add updates to an array in place."""
        if total.flags.c_contiguous:
            self.combine(total, indices, updates)
        else:
            whole = np.zeros_like(total, order="C")
            self.combine(whole, indices, updates)
            np.add(total, whole, total)


def combine_lines(ufunc: np.ufunc, lines: Value, places: Value, updates: Value) -> None:
    """Combine lines of an array in C order with updates, in place; several updates of a line meet.

    Shapes: lines [n, *s], places [k], updates [*rows, *s], where rows have k elements.
    NumPy has a fast path for one axis: 6 ns an element in place of 50.

    >>> import numpy as np
    >>> from calque_core.engine import combine_lines
    >>> total = np.zeros((3, 2))
    >>> combine_lines(np.add, total, np.array([2, 0, 2]), np.ones((3, 2)))
    >>> total.tolist()
    [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    """
    width = prod(lines.shape[1:])
    places = places.astype(np.intp, copy=False)  # the number of an element may need more bits than that of its line
    elements = places if width == 1 else (places[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(lines.reshape(-1), elements, updates.reshape(-1))


def inverse(order: Sequence[int]) -> list[int]:
    """Return the permutation that undoes `order`."""
    return sorted(range(len(order)), key=order.__getitem__)
