"""The arithmetic of windows that slide over padded axes: their dilation and their number.

One idea: an axis is stretched by its base dilation, then padded at both ends; a window with gaps, its window dilation,
moves over it by its stride.  All functions take one number per axis.  Windowed reductions and convolutions share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.engine import similar_name
from calque_core.engine.numpy_functions import integers
from calque_core.extend import Shape, where

Pads = tuple[tuple[int, int], ...]  # low and high per axis
PadsLike = str | Sequence[tuple[int, int]]


def dilated_shape(shape: Shape, dilation: Shape) -> Shape:
    """Return `shape` with `dilation - 1` gaps between neighbours; an axis without elements stays empty.

    >>> dilated_shape((0, 1, 4), (3, 3, 3))
    (0, 1, 10)
    """
    return tuple(max(0, step * (size - 1) + 1) for size, step in zip(shape, dilation))


def padded_shape(shape: Shape, pads: Pads, dilation: Shape) -> Shape:
    """Return the shape that windows move over; a size is negative where negative padding cuts more than there is.

    >>> padded_shape((4, 5), ((1, 2), (0, -1)), (2, 1))
    (10, 4)
    """
    return tuple(low + size + high for size, (low, high) in zip(dilated_shape(shape, dilation), pads))


def window_counts(
    shape: Shape, window: Shape, strides: Shape, pads: Pads, base_dilation: Shape, window_dilation: Shape
) -> Shape:
    """Return the number of places of a window along each axis: zero where the window is larger than the padded axis.

    >>> window_counts((5, 4), (2, 5), (2, 1), ((1, 0), (0, 0)), (1, 1), (1, 1))
    (3, 0)
    """
    padded = padded_shape(shape, pads, base_dilation)
    spans = dilated_shape(window, window_dilation)
    return tuple(max(0, (size - span) // stride + 1) for size, span, stride in zip(padded, spans, strides))


def transposed_pads(
    shape: Shape, window: Shape, strides: Shape, pads: Pads, base_dilation: Shape, window_dilation: Shape
) -> Pads:
    """Return the padding of the transposed slide, which takes the results, dilated by `strides`, back to `shape`.

    It has the base dilation as its strides, and the window in reverse order.  Derivation: with its entry k, result j
    reads the stretched element i = stride * j + step * k - low.  The entry is the one before the last by k' =
    last - k, so element i reads the dilated result i + step * k' - (step * last - low), and step * last = span - 1.
    The high padding makes the sizes fit.

    >>> transposed_pads((5,), (3,), (1,), ((0, 0),), (1,), (1,))
    ((2, 2),)
    """
    counts = window_counts(shape, window, strides, pads, base_dilation, window_dilation)
    spans = dilated_shape(window, window_dilation)
    lows = [span - 1 - low for span, (low, _) in zip(spans, pads)]
    sizes, stretched = dilated_shape(shape, base_dilation), dilated_shape(counts, strides)
    highs = [size + span - 1 - have - low for size, span, have, low in zip(sizes, spans, stretched, lows)]
    return tuple(zip(lows, highs))


# The arguments as the user wrote them


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """Return the low and high padding of each axis that `padding` names: "VALID", "SAME" or "SAME_LOWER".

    "VALID" pads nothing.  "SAME" pads so that there are ceil(size / stride) windows; an odd element goes to the end,
    with "SAME_LOWER" to the start.  `window_shape` includes the gaps of a dilated window.
    Raises: ValueError for another name.

    >>> from calque_signal import padtype_to_pads
    >>> padtype_to_pads((5, 6), (2, 3), (1, 2), "SAME")
    [(0, 1), (0, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else ""
    if name not in _SPLITS:
        similar = similar_name(name, _SPLITS)
        hint = f"Did you mean {similar!r}?" if similar else "Give 'VALID', 'SAME' or 'SAME_LOWER'."
        raise ValueError(f"the padding{where()} is {padding!r}. {hint}")
    missing = [
        max(0, (-(-size // stride) - 1) * stride + span - size)
        for size, span, stride in zip(in_shape, window_shape, window_strides)
    ]
    return list(map(_SPLITS[name], missing))


_SPLITS: dict[str, Callable[[int], tuple[int, int]]] = {
    "VALID": lambda _: (0, 0),
    "SAME": lambda count: (count // 2, count - count // 2),
    "SAME_LOWER": lambda count: (count - count // 2, count // 2),
}


def canonical_pads(name: str, padding: PadsLike, shape: Shape, spans: Shape, strides: Shape) -> Pads:
    """Return the argument `padding` of the operation `name` as low and high padding per axis; they may be negative.

    `spans` are the sizes of the window with its gaps.
    Raises: ValueError for an unknown name or a wrong number of pairs; TypeError for entries that are not integers.

    >>> canonical_pads("reduce_window", [(1, 0)], (5,), (3,), (1,))
    ((1, 0),)
    """
    if isinstance(padding, str):
        return tuple(padtype_to_pads(shape, spans, strides, padding))
    try:
        pads = tuple(integers(name, "an entry of padding", pair) for pair in padding)
    except TypeError as error:
        if isinstance(padding, Sequence):
            raise
        raise TypeError(f"{name}{where()}: padding is {padding!r}. {_PAIRS}") from error
    if len(pads) != len(shape) or any(len(pair) != 2 for pair in pads):
        raise ValueError(f"{name}{where()}: padding is {padding!r} for {len(shape)} axes. {_PAIRS}")
    return tuple((low, high) for low, high in pads)


_PAIRS = "Give 'VALID', 'SAME', 'SAME_LOWER', or a pair (low, high) for each axis."


def positive_per_axis(name: str, argument: str, values: Any, rank: int) -> Shape:
    """Return the argument `argument` of `name` as one positive integer per axis; None means ones.

    Raises: TypeError unless it is a sequence of integers; ValueError for a wrong number of them or one below 1.

    >>> positive_per_axis("reduce_window", "window_strides", None, 2)
    (1, 1)
    """
    if values is None:
        return (1,) * rank
    numbers = integers(name, argument, values)
    if len(numbers) != rank:
        raise ValueError(
            f"{name}{where()}: {argument} is {numbers}, but there are {rank} axes. Give one number per axis."
        )
    if any(number < 1 for number in numbers):
        raise ValueError(f"{name}{where()}: {argument} is {numbers}. Give numbers of 1 or more.")
    return numbers
