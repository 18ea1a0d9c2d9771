"""Elements repeated, seen through windows, reversed and rolled.

One idea: the new position of each element is known while tracing, so each function is a few slices, reversals and
broadcasts.  Traced shifts and numbers of repetitions, as JAX has them, are computed positions.

Read next: `masks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from math import prod
from typing import Any

import numpy as np

from calque_core import ConcretizationTypeError, canonicalize_dtype, implements, is_tracer, lax, typeof
from calque_core.engine import add_remedy
from calque_core.engine.numpy_functions import (
    as_dtype,
    at,
    broadcast_to,
    canonical_axis,
    copy,
    one_or_several,
    ravel,
    refuse,
    remainder,
    swapaxes,
)
from calque_core.extend import integer, where
from calque_core.lax import broadcast_in_dim
from calque_numpy.creation import asarray
from calque_numpy.searching import searchsorted
from calque_numpy.shapes import Axes, distinct_axes, moveaxis
from calque_numpy.taking import take

__all__ = ["flip", "fliplr", "flipud", "repeat", "roll", "rot90", "sliding_window_view", "tile"]

Value = Any

# More elements


@implements(np.repeat)
def repeat(a: Value, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Value:
    """Return the array with each element along `axis` repeated, `repeats` times or by one number for each.

    Without an axis, the flat array is repeated.  With `total_repeat_length`, the result has that length along the
    axis, and the numbers may be traced: elements beyond it are left out, and the last element fills the end.
    Raises: ValueError for a negative number, or if there are not as many numbers as elements, or for a length of an
    array without elements; TypeError unless they are integers; a tracer's own error for traced numbers without a
    length.

    >>> import numpy as np
    >>> from calque_numpy import repeat
    >>> repeat(np.array([1, 2]), 2), repeat(np.array([1, 2]), [0, 3])
    (array([1, 1, 2, 2]), array([2, 2, 2]))
    >>> repeat(np.array([1, 2]), [0, 3], total_repeat_length=4)
    array([2, 2, 2, 2])
    """
    a = ravel(a) if axis is None else asarray(a)
    position = 0 if axis is None else canonical_axis("repeat", axis, typeof(a).ndim)
    if total_repeat_length is not None:
        return _repeat_to(a, repeats, position, integer("repeat", "total_repeat_length", total_repeat_length))
    try:
        counts = one_or_several("repeat", "repeats", repeats)
    except ConcretizationTypeError as error:
        add_remedy(error, "Or give the length of the result: calque.numpy.repeat(x, repeats, total_repeat_length=n).")
        raise
    if any(count < 0 for count in counts):
        raise ValueError(f"repeat{where()}: repeats is {repeats!r}. Give numbers of zero or more.")
    if len(counts) == 1:
        return _repeat(a, counts[0], position)
    _check_count(a, position, len(counts))
    blocks = [_repeat(_cut(a, position, i, i + 1), count, position) for i, count in enumerate(counts)]
    return lax.concatenate(blocks, position) if blocks else asarray(a)


def _check_count(a: Value, axis: int, count: int) -> None:
    size = typeof(a).shape[axis]
    if count != size:
        raise ValueError(
            f"repeat of {typeof(a)}{where()}: repeats has {count} numbers for axis {axis} of size {size}. Give one "
            "number, or one for each element."
        )


def _repeat_to(a: Value, repeats: Any, axis: int, length: int) -> Value:
    """Return the elements repeated, to a length that is known; the numbers may be traced."""
    counts, size = asarray(repeats), typeof(a).shape[axis]
    if typeof(counts).kind not in "biu":
        raise TypeError(f"repeat{where()}: repeats has type {typeof(counts)}. Give integers.")
    if length < 0:
        raise ValueError(f"repeat{where()}: total_repeat_length is {length}. Give zero or more.")
    if isinstance(counts, (np.ndarray, np.generic)) and np.any(np.less(counts, 0)):
        raise ValueError(f"repeat{where()}: repeats is {repeats!r}. Give numbers of zero or more.")
    if typeof(counts).size != 1:
        _check_count(a, axis, typeof(counts).size)
    if length and not size:
        raise ValueError(
            f"repeat of {typeof(a)}{where()} to length {length}: axis {axis} has no element to repeat. Give one "
            "element or more."
        )
    index = canonicalize_dtype(np.intp)
    ends = lax.cumsum(broadcast_to(as_dtype(ravel(counts), index), (size,)), 0)
    places = searchsorted(ends, lax.iota(index, length), "right")
    return at(a)[(*(slice(None),) * axis, places)].get(mode="clip")


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

    Raises: ValueError if an axis is out of range.

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

    Raises: ValueError for an array of rank 0.

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

    Raises: ValueError for fewer than two axes.

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
def roll(a: Value, shift: Any, axis: Axes | None = None) -> Value:
    """Return the array with its elements shifted along `axis`; elements beyond the end return to the front.

    Without an axis, the flat array is rolled and then reshaped.  Shifts may be traced: a scalar, or a vector.
    Raises: ValueError if the numbers of shifts and axes differ and neither is one; TypeError for a shift that is no
    integer.

    >>> import numpy as np
    >>> from calque_numpy import roll
    >>> roll(np.array([1, 2, 3]), 1)
    array([3, 1, 2])
    """
    shifts = _shifts(shift)
    if axis is None:
        return copy(lax.reshape(_roll(ravel(a), sum(shifts), 0), typeof(a).shape))
    ndim = typeof(a).ndim
    positions = [canonical_axis("roll", d, ndim) for d in one_or_several("roll", "the axis", axis)]
    if not ndim:
        raise ValueError(f"roll{where()} of an array of shape () along no axis. Leave out axis=, or give a vector.")
    count = max(len(shifts), len(positions)) if shifts and positions else 0
    if len(shifts) not in (1, count) or len(positions) not in (1, count):
        raise ValueError(
            f"roll{where()} got {len(shifts)} shifts for {len(positions)} axes. Give equal numbers of both, or one "
            "shift, or one axis."
        )
    for places, position in islice(zip(cycle(shifts), cycle(positions)), count):
        a = _roll(a, places, position)
    return copy(asarray(a))


def _shifts(shift: Any) -> tuple[Any, ...]:
    """Return the shifts as integers, or as traced scalars if one of them is not known."""
    if not (is_tracer(shift) and typeof(shift).ndim):
        try:
            return one_or_several("roll", "shift", shift)
        except ConcretizationTypeError:  # one is not known: all become positions that the program computes
            pass
    shifts = asarray(shift)
    if typeof(shifts).kind not in "biu" or typeof(shifts).ndim > 1:
        raise TypeError(f"roll{where()}: shift has type {typeof(shifts)}. Give an integer, or a vector of integers.")
    shifts = as_dtype(shifts, canonicalize_dtype(np.intp))
    return tuple(lax.unstack(shifts)) if typeof(shifts).ndim else (shifts,)


def _roll(a: Value, places: Any, axis: int) -> Value:
    size = typeof(a).shape[axis]
    if not prod(typeof(a).shape):
        return asarray(a)
    if type(places) is not int:
        return lax.dynamic_slice_in_dim(lax.concatenate([a, a], axis), remainder(lax.neg(places), size), size, axis)
    if places % size == 0:
        return asarray(a)
    turn = size - places % size
    return lax.concatenate([_cut(a, axis, turn, size), _cut(a, axis, 0, turn)], axis)
