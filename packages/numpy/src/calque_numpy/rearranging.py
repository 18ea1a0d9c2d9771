"""Elements repeated, seen through windows, reversed and rolled.

One idea: the new position of each element is known while tracing, so each function is a few slices, reversals and
broadcasts.

Read next: `masks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.extend import integer, where
from calque_core.extend.numpy_functions import canonical_axis, copy, one_or_several, ravel, refuse, swapaxes
from calque_core.lax import broadcast_in_dim
from calque_numpy.creation import asarray
from calque_numpy.shapes import Axes, distinct_axes, moveaxis
from calque_numpy.taking import take

__all__ = ["flip", "fliplr", "flipud", "repeat", "roll", "rot90", "sliding_window_view", "tile"]

Value = Any

# More elements


@implements(np.repeat)
def repeat(a: Value, repeats: Any, axis: int | None = None) -> Value:
    """Return the array with each element along `axis` repeated, `repeats` times or by one number for each.

    Without an axis, the flat array is repeated.
    Raises: ValueError for a negative number, or if there are not as many numbers as elements; TypeError unless they are
    integers.

    >>> import numpy as np
    >>> from calque_numpy import repeat
    >>> repeat(np.array([1, 2]), 2), repeat(np.array([1, 2]), [0, 3])
    (array([1, 1, 2, 2]), array([2, 2, 2]))
    """
    a = ravel(a) if axis is None else asarray(a)
    shape = typeof(a).shape
    position = 0 if axis is None else canonical_axis("repeat", axis, len(shape))
    counts = one_or_several("repeat", "repeats", repeats)
    if any(count < 0 for count in counts):
        raise ValueError(f"repeat{where()}: repeats is {repeats!r}. Give numbers of zero or more.")
    if len(counts) == 1:
        return _repeat(a, counts[0], position)
    if len(counts) != shape[position]:
        raise ValueError(
            f"repeat of {typeof(a)}{where()}: repeats has {len(counts)} numbers for axis {position} of "
            f"size {shape[position]}. Give one number, or one for each element."
        )
    blocks = [_repeat(_cut(a, position, i, i + 1), count, position) for i, count in enumerate(counts)]
    return lax.concatenate(blocks, position) if blocks else asarray(a)


def _repeat(a: Value, count: int, axis: int) -> Value:
    shape = typeof(a).shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = [d for d in range(len(wide)) if d != axis + 1]
    return lax.reshape(broadcast_in_dim(a, wide, kept), (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _cut(a: Value, axis: int, start: int, stop: int) -> Value:
    shape = typeof(a).shape
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    return lax.slice(a, starts, stops)


@implements(np.tile)
def tile(A: Value, reps: Axes) -> Value:
    """Return copies of the array side by side, `reps` along each axis.

    Shapes: A [n, m], reps (r, s) -> [r * n, s * m]; the shorter of the two gets leading ones.
    Raises: ValueError for a negative number; TypeError unless `reps` holds integers.

    >>> import numpy as np
    >>> from calque_numpy import tile
    >>> tile(np.array([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    counts = one_or_several("tile", "reps", reps)
    if any(count < 0 for count in counts):
        raise ValueError(f"tile{where()}: reps is {reps!r}. Give numbers of zero or more.")
    shape = typeof(A).shape
    ndim = max(len(shape), len(counts))
    whole = lax.reshape(A, (1,) * (ndim - len(shape)) + shape)
    return copy(lax.tile(whole, (1,) * (ndim - len(counts)) + counts))


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Value, window_shape: Axes, axis: Axes | None = None, *, subok: bool = False, writeable: bool = False
) -> Value:
    """Return the windows of an array, one at every position; the axes of a window are the last.

    Shapes: x [n, m], window_shape (k, l) -> [n - k + 1, m - l + 1, k, l].  Without `axis`, a window has a size along
    every axis.
    Raises: ValueError for a window that is longer than the array, negative, or of another number of axes; TypeError for
    `writeable`.

    >>> import numpy as np
    >>> from calque_numpy.rearranging import sliding_window_view
    >>> sliding_window_view(np.array([1, 2, 3, 4]), 3)
    array([[1, 2, 3],
           [2, 3, 4]])
    """
    name = "sliding_window_view"
    refuse(name, subok=subok or None, writeable=writeable or None)
    x, sizes = asarray(x), one_or_several(name, "window_shape", window_shape)
    ndim = typeof(x).ndim
    axes = range(ndim) if axis is None else [canonical_axis(name, i, ndim) for i in one_or_several(name, "axis", axis)]
    if len(axes) != len(sizes):
        raise ValueError(f"{name} of {typeof(x)}{where()}: {len(sizes)} sizes for {len(axes)} axes. Give as many.")
    for size, i in zip(sizes, axes):
        count = typeof(x).shape[i] - size + 1
        if size < 0 or count < 1:
            raise ValueError(
                f"{name} of {typeof(x)}{where()}: a window of size {size} does not fit into axis {i}. Give 0 to "
                f"{typeof(x).shape[i]}."
            )
        x = moveaxis(take(x, np.arange(count)[:, None] + np.arange(size), i), i + 1, -1)
    return x


# The same elements in other positions


@implements(np.flip)
def flip(m: Value, axis: Axes | None = None) -> Value:
    """Return the array with its elements in reverse order along `axis`: one axis, several, or by default all.

    >>> import numpy as np
    >>> from calque_numpy import flip
    >>> flip(np.array([1, 2, 3]))
    array([3, 2, 1])
    """
    ndim = typeof(m).ndim
    return lax.rev(m, range(ndim) if axis is None else distinct_axes("flip", axis, ndim))


@implements(np.flipud)
def flipud(m: Value) -> Value:
    """Return the array with its first axis reversed.

    >>> import numpy as np
    >>> from calque_numpy import flipud
    >>> flipud(np.array([[1, 2], [3, 4]]))
    array([[3, 4],
           [1, 2]])
    """
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Value) -> Value:
    """Return the array with its second axis reversed.

    >>> import numpy as np
    >>> from calque_numpy import fliplr
    >>> fliplr(np.array([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]])
    """
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Value, k: int = 1, axes: Sequence[int] = (0, 1)) -> Value:
    """Return the array rotated by k times 90 degrees in the plane of two axes, from the first towards the second.

    Raises: ValueError unless `axes` names two different axes.

    >>> import numpy as np
    >>> from calque_numpy import rot90
    >>> rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    ndim = typeof(m).ndim
    plane = distinct_axes("rot90", axes, ndim)
    if len(plane) != 2:
        raise ValueError(f"rot90{where()}: axes is {axes!r}. Give two axes.")
    first, second = plane
    turns = integer("rot90", "k", k) % 4
    if turns == 2:
        return flip(m, plane)
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if turns else asarray(m)


@implements(np.roll)
def roll(a: Value, shift: Axes, axis: Axes | None = None) -> Value:
    """Return the array with its elements shifted along `axis`; elements beyond the end return to the front.

    Without an axis, the flat array is rolled and then reshaped.
    Raises: ValueError if the numbers of shifts and axes differ and neither is one; TypeError for a shift that is no
    integer.

    >>> import numpy as np
    >>> from calque_numpy import roll
    >>> roll(np.array([1, 2, 3]), 1)
    array([3, 1, 2])
    """
    shifts = one_or_several("roll", "shift", shift)
    if axis is None:
        return copy(lax.reshape(_roll(ravel(a), sum(shifts), 0), typeof(a).shape))
    ndim = typeof(a).ndim
    positions = [canonical_axis("roll", d, ndim) for d in one_or_several("roll", "the axis", axis)]
    count = max(len(shifts), len(positions))
    if len(shifts) not in (1, count) or len(positions) not in (1, count):
        raise ValueError(
            f"roll{where()} got {len(shifts)} shifts for {len(positions)} axes. Give equal numbers of both, or one "
            "shift, or one axis."
        )
    moves = zip(shifts * (count // len(shifts)), positions * (count // len(positions)))
    for places, position in moves:
        a = _roll(a, places, position)
    return copy(asarray(a))


def _roll(a: Value, places: int, axis: int) -> Value:
    size = typeof(a).shape[axis]
    if not prod(typeof(a).shape) or places % size == 0:
        return asarray(a)
    turn = size - places % size
    return lax.concatenate([_cut(a, axis, turn, size), _cut(a, axis, 0, turn)], axis)
