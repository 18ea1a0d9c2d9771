"""Elements repeated, padded, reversed and rolled.

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
from calque_core.extend import integer, kind_of, where
from calque_core.extend.numpy_functions import canonical_axis, ravel, swapaxes
from calque_core.lax import broadcast_in_dim
from calque_numpy.creation import asarray
from calque_numpy.shapes import Axes, distinct_axes, one_or_several

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
    return lax.tile(whole, (1,) * (ndim - len(counts)) + counts)


@implements(np.pad)
def pad(array: Value, pad_width: Any, mode: str = "constant", *, constant_values: Value = 0) -> Value:
    """Return the array with a constant before and after its elements, `pad_width` times along each axis.

    `pad_width` is one number, (before, after), or one such pair for each axis.
    Raises: ValueError for a negative number, or a wrong number of pairs; TypeError for another `mode`, a width that is
    no integer, or a constant that is no scalar.

    >>> import numpy as np
    >>> from calque_numpy import pad
    >>> pad(np.array([1, 2]), (1, 2))
    array([0, 1, 2, 0, 0])
    """
    aval = typeof(array)
    if mode != "constant" or typeof(constant_values).shape:
        raise TypeError(
            f"pad of {aval}{where()}: only one constant is supported. Use mode='constant' and a scalar, "
            "or concatenate arrays."
        )
    widths = _pad_widths(pad_width, aval.ndim)
    constant = lax.convert_element_type(constant_values, aval.dtype)
    return lax.pad(array, constant, [(before, after, 0) for before, after in widths])


def _pad_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    widths = np.asarray(pad_width)
    if kind_of(widths.dtype) not in "iu":
        raise TypeError(f"pad{where()}: pad_width is {pad_width!r}. Give integers.")
    if widths.size and widths.min() < 0:
        raise ValueError(f"pad{where()}: pad_width is {pad_width!r}. Give numbers of zero or more.")
    try:
        pairs = np.broadcast_to(widths, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"pad{where()}: pad_width is {pad_width!r} for {ndim} axes. Give one number, (before, after), or a pair "
            "(before, after) for each axis."
        ) from None
    return [(int(before), int(after)) for before, after in pairs]


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
        return lax.reshape(_roll(ravel(a), sum(shifts), 0), typeof(a).shape)
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
    return asarray(a)


def _roll(a: Value, places: int, axis: int) -> Value:
    size = typeof(a).shape[axis]
    if not prod(typeof(a).shape) or places % size == 0:
        return asarray(a)
    turn = size - places % size
    return lax.concatenate([_cut(a, axis, turn, size), _cut(a, axis, 0, turn)], axis)
