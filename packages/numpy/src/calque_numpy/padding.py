"""`pad`: an array with elements beyond its borders, in NumPy's modes.

One idea: an array is padded one axis after the other, as in NumPy.  A mode is either a formula for the element at a
position outside of the axis (`edge`, `reflect`, `symmetric`, `wrap`), or a function of the array that returns both
borders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, implements, lax, typeof
from calque_core.engine import has_tracer, kind_of
from calque_core.engine import numpy_functions as reductions
from calque_core.engine.numpy_functions import as_dtype, broadcast_to
from calque_core.extend import integer, where
from calque_numpy.creation import asarray
from calque_numpy.order_statistics import median
from calque_numpy.ranges import linspace
from calque_numpy.taking import take
from calque_pytree import tree_map

Value = Any
Pair = tuple[Any, ...]  # the values before and after
Positions = np.ndarray[Any, Any]

_OPTIONS: Mapping[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


@implements(np.pad)
def pad(array: Value, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Value:
    """Return the array with elements before and after those along each axis, of NumPy's modes and with its options.

    `pad_width` is one number, (before, after), one such pair for each axis, or a dict from axes to them.
    Dtype: kept; integers of "mean" are rounded, those of "linear_ramp" are rounded down.
    Raises: ValueError for an unknown mode or option, a negative number, a wrong number of pairs, or an empty axis that
    a mode cannot extend; TypeError for a function as `mode`, or for a width that is no integer.

    >>> import numpy as np
    >>> from calque_numpy import pad
    >>> pad(np.array([1, 2, 3]), (1, 2)), pad(np.array([1, 2, 3]), 2, mode="reflect")
    (array([0, 1, 2, 3, 0, 0]), array([3, 2, 1, 2, 3, 2, 1]))
    """
    x = asarray(array)
    options = _options(mode, kwargs)
    widths = _pad_widths(pad_width, typeof(x).ndim)
    if mode == "empty" or (mode == "constant" and not typeof(asarray(options["constant_values"])).shape):
        value = as_dtype(options.get("constant_values", 0), typeof(x).dtype)
        return lax.pad(x, value, [(before, after, 0) for before, after in widths])
    pairs = {name: _pairs(name, value, typeof(x).ndim) for name, value in options.items() if name != "reflect_type"}
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        if mode in _POSITIONS:
            x = _by_positions(x, axis, width, mode, options.get("reflect_type", "even"))
        else:
            (border_values,) = pairs.values()
            before, after = _BORDERS[mode](x, axis, width, border_values[axis])
            x = lax.concatenate([before, x, after], axis)
    return x


def _options(mode: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a mode.  Raises: TypeError for a function; ValueError for another mode or option."""
    if callable(mode):
        raise NumpyRuleError(
            f"pad{where()}: the mode is a function, which would write into a traced array. Compute the borders, and "
            "use numpy.concatenate."
        )
    if mode not in _OPTIONS:
        raise ValueError(f"pad{where()}: the mode is {mode!r}. Use one of {', '.join(_OPTIONS)}.")
    unknown = [name for name in kwargs if name not in _OPTIONS[mode]]
    if unknown:
        known = ", ".join(_OPTIONS[mode]) or "no option"
        raise ValueError(f"pad{where()}: mode={mode!r} does not take {unknown[0]}=. It takes {known}.")
    options = {**_OPTIONS[mode], **kwargs}
    if options.get("reflect_type", "even") not in ("even", "odd"):
        raise ValueError(f"pad{where()}: reflect_type is {options['reflect_type']!r}. Use 'even' or 'odd'.")
    return options


def _pad_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - ndim, 0)) for i in range(ndim)]
        pad_width = [(width, width) if np.ndim(width) == 0 else width for width in pad_width]
    widths = np.asarray(tree_map(index, pad_width) if has_tracer(pad_width) else pad_width)
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


def _pairs(name: str, values: Any, ndim: int) -> list[Pair]:
    """Return the values before and after each axis: from one value, (before, after), or a pair for each axis."""
    if values is None:
        return [(None, None)] * ndim
    values = asarray(values) if has_tracer(values) else np.asarray(values)
    if typeof(values).shape not in ((), (1,), (2,), (1, 2), (ndim, 1), (ndim, 2)):
        raise ValueError(
            f"pad{where()}: {name} has the type {typeof(values)} for {ndim} axes. Give one value, (before, after), or "
            "a pair (before, after) for each axis."
        )
    pairs = np.broadcast_to(values, (ndim, 2))
    return [(pairs[i, 0], pairs[i, 1]) for i in range(ndim)]


# Modes that repeat elements


def _by_positions(x: Value, axis: int, width: tuple[int, int], mode: str, reflect_type: str) -> Value:
    size = typeof(x).shape[axis]
    if not size:
        raise ValueError(f"pad of {typeof(x)}{where()}: axis {axis} is empty. Use mode='constant' or 'empty'.")
    if size == 1 and mode in ("reflect", "symmetric"):  # as in NumPy
        mode = "edge"
    positions = np.arange(-width[0], size + width[1])
    if mode == "edge" or reflect_type == "even":
        return take(x, _POSITIONS[mode](positions, size), axis)
    outside = (positions[: width[0]], positions[width[0] + size :])
    before, after = (_reflected_oddly(x, axis, each, mode) for each in outside)
    return lax.concatenate([before, x, after], axis)


def _reflect(positions: Positions, size: int) -> Positions:
    inside = positions % (2 * size - 2)
    return np.where(inside < size, inside, 2 * size - 2 - inside)


def _symmetric(positions: Positions, size: int) -> Positions:
    inside = positions % (2 * size)
    return np.where(inside < size, inside, 2 * size - 1 - inside)


_POSITIONS: Mapping[str, Callable[[Positions, int], Positions]] = {
    "edge": lambda positions, size: np.minimum(np.maximum(positions, 0), size - 1),
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": lambda positions, size: positions % size,
}


def _reflected_oddly(x: Value, axis: int, positions: Positions, mode: str) -> Value:
    """Return the elements at positions outside of the axis, reflected at points.

    A reflection at the last element l gives 2 l - x, one at the first element f gives 2 f - x; both move x by 2 (l - f)
    per period.  So an element in the period q is x + 2 q (l - f), or 2 l - x + 2 q (l - f) in its second half.
    """
    size = typeof(x).shape[axis]
    period = 2 * size - 2 if mode == "reflect" else 2 * size
    q = positions // period
    is_second = positions % period >= size
    shape = [-1 if i == axis else 1 for i in range(typeof(x).ndim)]

    def times(numbers: Positions, y: Value) -> Value:
        return lax.mul(*_broadcast(numbers.reshape(shape).astype(typeof(x).dtype), y))

    total = times(np.where(is_second, -1, 1), take(x, _POSITIONS[mode](positions, size), axis))
    first, last = lax.slice_in_dim(x, 0, 1, axis=axis), lax.slice_in_dim(x, size - 1, size, axis=axis)
    for numbers, edge in ((-2 * q, first), (2 * (q + is_second), last)):
        if numbers.any():  # zero times an infinite edge would be NaN
            total = lax.add(total, times(numbers, edge))
    return total


def _broadcast(x: Value, y: Value) -> tuple[Value, Value]:
    shape = np.broadcast_shapes(typeof(x).shape, typeof(y).shape)
    return broadcast_to(x, shape), broadcast_to(y, shape)


# Modes that compute borders


def _constant(x: Value, axis: int, width: tuple[int, int], values: Pair) -> Pair:
    return tuple(_repeated(x, axis, n, as_dtype(value, typeof(x).dtype)) for n, value in zip(width, values))


def _repeated(x: Value, axis: int, count: int, value: Value) -> Value:
    shape = typeof(x).shape
    return broadcast_to(value, (*shape[:axis], count, *shape[axis + 1 :]))


def _linear_ramp(x: Value, axis: int, width: tuple[int, int], values: Pair) -> Pair:
    """Return straight lines from the end values to the edges, which they do not reach."""
    size, dtype = typeof(x).shape[axis], typeof(x).dtype
    edges = (lax.index_in_dim(x, i, axis, keepdims=False) for i in (0, size - 1))
    before, after = (
        linspace(value, edge, n, endpoint=False, dtype=dtype, axis=axis) for n, value, edge in zip(width, values, edges)
    )
    return before, lax.rev(after, (axis,))


def _stat_length(n: Value) -> int:
    """Return a number of elements, as the user wrote it in a message."""
    return integer("pad", "stat_length", n.item() if isinstance(n, np.generic) else n)


def _statistic(name: str, function: Callable[..., Value]) -> Callable[[Value, int, tuple[int, int], Pair], Pair]:
    def borders(x: Value, axis: int, width: tuple[int, int], lengths: Pair) -> Pair:
        size, dtype = typeof(x).shape[axis], typeof(x).dtype
        lengths = tuple(size if n is None else min(_stat_length(n), size) for n in lengths)
        if min(lengths) < 1:
            raise ValueError(
                f"pad of {typeof(x)}{where()} with mode={name!r}: there is no element along axis {axis}. Give a longer "
                "array, and stat_length= of one or more."
            )
        parts = [lax.slice_in_dim(x, 0, lengths[0], axis=axis), lax.slice_in_dim(x, size - lengths[1], size, axis=axis)]
        values = [function(part, axis=axis, keepdims=True) for part in parts]
        if kind_of(dtype) in "iu":
            values = [reductions.round(value) for value in values]
        return tuple(_repeated(x, axis, n, as_dtype(value, dtype)) for n, value in zip(width, values))

    return borders


_BORDERS: Mapping[str, Callable[[Value, int, tuple[int, int], Pair], Pair]] = {
    "constant": _constant,
    "linear_ramp": _linear_ramp,
    "maximum": _statistic("maximum", reductions.max),
    "mean": _statistic("mean", reductions.mean),
    "median": _statistic("median", median),
    "minimum": _statistic("minimum", reductions.min),
}
