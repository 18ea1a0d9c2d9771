"""Combining the elements of windows that slide over arrays, by any associative function of two arrays.

One idea: windows are rectangles, so one axis after the other is combined, the last one first; each window's elements
keep their order.  Along an axis, the k-th elements of all windows are one slice.  A few slices are combined directly;
for long windows the numbers of elements double, so that the number of operations is the logarithm of the length.

All is written in public operations: these evaluate windows, and other transformations see them.

Read next: `paddings.py`, the arithmetic of windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from calque_core import ShapedArray, ShapeError, typeof
from calque_core.extend import Shape, where
from calque_core.lax import bitwise_or, full, pad, select, slice
from calque_signal.ops.paddings import (
    Pads,
    PadsLike,
    canonical_pads,
    dilated_shape,
    padded_shape,
    positive_per_axis,
    transposed_pads,
    window_counts,
)

Value = Any
Values = Sequence[Value]
Combine = Callable[[Values, Values], Values]

NUMBER, ORDERED = "iufc", "biuf"  # kinds of dtypes
_DIRECT = 8  # slices that are combined one after the other; for strides of 2 and more this is sooner than doubling


class Window(NamedTuple):
    """A window that slides over all axes of an array: the parameters of the primitives, by JAX's names."""

    window_dimensions: Shape
    window_strides: Shape
    padding: Pads
    base_dilation: Shape
    window_dilation: Shape

    def counts(self, shape: Shape) -> Shape:
        """Return the number of windows along each axis of an array of shape `shape`."""
        return window_counts(shape, *self)

    def transposed(self, shape: Shape) -> Window:
        """Return the window of the slide from the sums of the windows back to an array of shape `shape`."""
        pads = transposed_pads(shape, *self)
        return Window(self.window_dimensions, self.base_dilation, pads, self.window_strides, self.window_dilation)

    @property
    def config(self) -> list[tuple[int, int, int]]:
        """The padding and the gaps between elements, as `pad` takes them."""
        return [(low, high, step - 1) for (low, high), step in zip(self.padding, self.base_dilation)]

    @property
    def has_padding(self) -> bool:
        """Whether a window may reach places that hold no element of the array."""
        return any(low > 0 or high > 0 or inner for low, high, inner in self.config)


def canonical_window(
    name: str,
    shape: Shape,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: PadsLike,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> Window:
    """Return the arguments of the operation `name` on arrays of shape `shape`, checked and complete.

    Raises: ValueError for wrong numbers of entries, numbers below 1, or an unknown padding; TypeError for entries that
    are not integers.
    """
    rank = len(shape)
    if window_dimensions is None:
        raise TypeError(f"{name}{where()}: window_dimensions is None. Give one size per axis.")
    sizes = positive_per_axis(name, "window_dimensions", window_dimensions, rank)
    strides = positive_per_axis(name, "window_strides", window_strides, rank)
    base = positive_per_axis(name, "base_dilation", base_dilation, rank)
    gaps = positive_per_axis(name, "window_dilation", window_dilation, rank)
    pads = canonical_pads(name, padding, shape, dilated_shape(sizes, gaps), strides)
    return Window(sizes, strides, pads, base, gaps)


def check_window(name: str, aval: ShapedArray, window: Window) -> Shape:
    """Return the number of windows along each axis of an array of type `aval`.

    Raises: ShapeError if the window has another rank; ValueError if negative padding cuts more than there is.
    """
    if any(len(numbers) != aval.ndim for numbers in window):
        raise ShapeError(f"{name} of {aval}{where()}: {window} is not for {aval.ndim} axes. Give one entry per axis.")
    if any(size < 0 for size in padded_shape(aval.shape, window.padding, window.base_dilation)):
        raise ValueError(
            f"{name} of {aval}{where()}: the padding {window.padding} cuts off more than the size of an axis. Cut off "
            "at most its elements."
        )
    return window.counts(aval.shape)


# Windows with an element in every place


def slide(combine: Combine, operands: Values, fills: Values, window: Window) -> list[Value]:
    """Return operands of one shape, combined over each window; the scalars `fills` are neutral, and fill its gaps.

    `combine` takes two lists of arrays, one per operand, and combines them element by element.
    Shapes: operands [*s] -> [*window counts].
    """
    counts = window.counts(typeof(operands[0]).shape)
    if 0 in counts:
        return [full(counts, fill) for fill in fills]
    if any(entry != (0, 0, 0) for entry in window.config):
        operands = [pad(x, fill, window.config) for x, fill in zip(operands, fills)]
    for axis in reversed(range(len(counts))):
        size, stride, gap = (window.window_dimensions[axis], window.window_strides[axis], window.window_dilation[axis])
        every = partial(_every, axis=axis, step=stride, count=counts[axis])
        take = lambda xs, k: [every(x, k * gap) for x in xs]  # noqa: B023  called at once
        combine_all = _combine_few if size <= _DIRECT else partial(_combine_by_doubling, axis=axis, gap=gap)
        operands = combine_all(combine, operands, size, take)
    return list(operands)


Take = Callable[[Values, int], list[Value]]


def _combine_few(combine: Combine, operands: Values, size: int, take: Take) -> Values:
    """Combine the entries 0, 1, .. of all windows; `take(operands, k)` reads entry k of each."""
    return reduce(combine, [take(operands, k) for k in range(size)])


def _combine_by_doubling(combine: Combine, operands: Values, size: int, take: Take, *, axis: int, gap: int) -> Values:
    """Combine blocks of 1, 2, 4, .. entries from each place on; join the blocks whose sizes add up to `size`."""
    out: Values | None = None
    done, block = 0, 1
    while True:
        if size & block:
            part = take(operands, done)
            out = part if out is None else combine(out, part)
            done += block
        if done == size:
            assert out is not None
            return out
        length = typeof(operands[0]).shape[axis] - block * gap
        first, second = ([_every(x, start, axis, 1, length) for x in operands] for start in (0, block * gap))
        operands = combine(first, second)
        block *= 2


def _every(x: Value, start: int, axis: int, step: int, count: int) -> Value:
    """Return `count` elements of `x` along an axis, every `step`-th from `start` on."""
    shape = typeof(x).shape
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], steps[axis] = start, start + (count - 1) * step + 1, step
    return slice(x, starts, limits, steps)


# Windows with places that hold no element


def slide_present(combine: Combine, operands: Values, fills: Values, window: Window) -> tuple[Value, list[Value]]:
    """Return whether each window has an element, and its elements combined: padding and gaps take no part.

    The scalars `fills` need not be neutral: `combine` gets them, and its result is dropped.
    Shapes: operands [*s] -> [*window counts].
    """
    if not window.has_padding:
        return True, slide(combine, operands, fills, window)
    is_element = full(typeof(operands[0]).shape, True)
    has_element, *outs = slide(partial(_combine_present, combine), [is_element, *operands], [False, *fills], window)
    return has_element, outs


def _combine_present(combine: Combine, first: Values, second: Values) -> Values:
    """Combine elements where both are present, and keep the one that is present elsewhere."""
    (is_first, *xs), (is_second, *ys) = first, second
    outs = [select(is_second, select(is_first, both, y), x) for both, x, y in zip(combine(xs, ys), xs, ys)]
    return [bitwise_or(is_first, is_second), *outs]


def slide_from(combine: Combine, operands: Values, inits: Values, window: Window) -> list[Value]:
    """Return scalars `inits` combined with the elements in each window, for a function without a neutral element.

    Shapes: operands [*s] -> [*window counts].
    """
    starts = [full(window.counts(typeof(operands[0]).shape), init) for init in inits]
    has_element, outs = slide_present(combine, operands, inits, window)
    return [select(has_element, out, start) for out, start in zip(combine(starts, outs), starts)]
