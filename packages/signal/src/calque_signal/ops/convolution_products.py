"""Evaluation of a convolution: all its windows as one matrix, times the kernel.

One idea: the windows of an array are a view of it, [groups, batch, features, *places, *entries].  A product needs the
places as rows and the entries as columns of a matrix, so that the windows are copied: in the order of memory, by blocks
of bounded size.  The kernel is small, and follows that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from calque_core.extend import Shape
from calque_core.lax import pad_p
from calque_signal.ops.paddings import Pads, window_counts

Array = np.ndarray[Any, Any]

_BLOCK = 2**20  # elements of the matrix of windows; larger blocks are not faster


class Slide(NamedTuple):
    """The movement of a window over an array: one number or pair per spatial axis."""

    window_strides: Shape
    padding: Pads
    lhs_dilation: Shape
    rhs_dilation: Shape


def windows_of(x: Array, spec: Shape, window: Shape, slide: Slide) -> Array:
    """Return all windows of `x` as a view: [batch, features, *places, *entries]; padding and gaps hold zeros.

    >>> x = np.arange(5).reshape(1, 5, 1)
    >>> windows_of(x, (0, 2, 1), (2,), Slide((2,), ((0, 0),), (1,), (1,)))[0, 0]
    array([[0, 1],
           [2, 3]])
    """
    shape = tuple(x.shape[axis] for axis in spec[2:])
    places = window_counts(shape, window, *slide)
    config = [(0, 0, 0)] * x.ndim
    for axis, (low, high), step in zip(spec[2:], slide.padding, slide.lhs_dilation):
        config[axis] = (low, high, step - 1)
    if any(map(any, config)):
        x = pad_p.impl(x, x.dtype.type(0), padding_config=tuple(config))
    x = x.transpose(spec)
    memory = x.strides[2:]
    steps = [step * stride for step, stride in zip(memory, slide.window_strides)]
    gaps = [step * dilation for step, dilation in zip(memory, slide.rhs_dilation)]
    return as_strided(x, (*x.shape[:2], *places, *window), (*x.strides[:2], *steps, *gaps), writeable=False)


def convolve(windows: Array, kernel: Array, feature_groups: int, batch_groups: int) -> Array:
    """Return the sums of products of `kernel` with all windows.

    Shapes: windows [n, c, *places, *entries], kernel [o, c / feature groups, *entries] -> [n / batch groups, o,
    *places].
    """
    n, c, *sizes = windows.shape
    if batch_groups > 1:
        windows = windows.reshape(batch_groups, n // batch_groups, c, *sizes)
    else:
        windows = windows.reshape(n, feature_groups, c // feature_groups, *sizes).swapaxes(0, 1)
    groups, n_spatial = windows.shape[0], len(sizes) // 2
    kernel = kernel.reshape(groups, kernel.shape[0] // groups, *kernel.shape[1:])
    out = _product_by_blocks(windows, kernel)  # [groups, n, *places, o]
    out = out.transpose(1, 0, out.ndim - 1, *range(2, out.ndim - 1))
    return out.reshape(out.shape[0], groups * out.shape[2], *sizes[:n_spatial])


def _product_by_blocks(windows: Array, kernel: Array) -> Array:
    """Return the products, by blocks of the batch or of the features: of the axis that is outermost in memory.

    Shapes: windows [g, n, c, *places, *entries], kernel [g, o, c, *entries] -> [g, n, *places, o].
    """
    axis = max((1, 2), key=lambda axis: abs(windows.strides[axis]) if windows.shape[axis] > 1 else 0)
    size = windows.shape[axis]
    step = max(1, _BLOCK * size // max(1, windows.size))
    if step >= size:
        return _product(windows, kernel)
    blocks = [slice(start, start + step) for start in range(0, size, step)]
    if axis == 1:
        return np.concatenate([_product(windows[:, block], kernel) for block in blocks], axis=1)
    total: Array = reduce(np.add, (_product(windows[:, :, block], kernel[:, :, block]) for block in blocks))
    return total


def _product(windows: Array, kernel: Array) -> Array:
    """Return the products of all windows at once.  The copy reads memory in runs as long as possible."""
    groups, n_spatial = windows.shape[0], kernel.ndim - 3
    rows = _by_memory(windows, (1, *range(3, 3 + n_spatial)))
    columns = _by_memory(windows, (2, *range(3 + n_spatial, windows.ndim)))
    places, entries = ([windows.shape[axis] for axis in axes] for axes in (rows, columns))
    if _run(windows, rows) > _run(windows, columns):
        matrix = windows.transpose(0, *columns, *rows).reshape(groups, prod(entries), prod(places)).swapaxes(1, 2)
    else:
        matrix = windows.transpose(0, *rows, *columns).reshape(groups, prod(places), prod(entries))
    kernel = kernel.transpose(0, *(axis if axis == 2 else axis - n_spatial for axis in columns), 1)
    out: Array = np.matmul(matrix, kernel.reshape(groups, prod(entries), kernel.shape[-1]))
    order = [1 + rows.index(axis) for axis in sorted(rows)]
    return out.reshape(groups, *places, out.shape[-1]).transpose(0, *order, len(rows) + 1)


def _by_memory(x: Array, axes: Sequence[int]) -> list[int]:
    """Return the axes in the order of memory, the outermost first."""
    return sorted(axes, key=lambda axis: -abs(x.strides[axis]))


def _run(x: Array, axes: Sequence[int]) -> int:
    """Return how many elements one stride steps through, at the end of the axes."""
    run, stride = 1, 0
    for axis in reversed(axes):
        if x.shape[axis] == 1:
            continue
        if run > 1 and x.strides[axis] != stride * run:
            break
        stride = stride or x.strides[axis]
        run *= x.shape[axis]
    return run
