"""The arithmetic of padded axes.

One idea: an axis gets elements at both ends and between neighbours; negative numbers at an end cut.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from calque_core.types.avals import Shape

PaddingConfig = tuple[tuple[int, int, int], ...]  # low, high and interior per axis


def padded_size(n: int, low: int, high: int, interior: int) -> int:
    """Return the size of an axis of `n` elements after padding at both ends and between neighbours.

    >>> padded_size(3, 1, -1, 2)
    7
    """
    return low + high + n + max(n - 1, 0) * interior


@lru_cache(maxsize=1024)
def pad_plan(shape: Shape, padding_config: PaddingConfig) -> tuple[Shape, tuple[Any, ...], tuple[Any, ...]]:
    """Return the shape of a padded array, and the slices of the operand and of the result that hold equal elements.

    >>> pad_plan((3,), ((1, -1, 0),))
    ((3,), (slice(0, 2, None),), (slice(1, 3, 1),))
    """
    sizes, old, new = [], [], []
    for n, (low, high, interior) in zip(shape, padding_config):
        step, size = interior + 1, padded_size(n, low, high, interior)
        first, end = max(-(low // step), 0), min(-((low - size) // step), n)  # 0 <= low + i * step < size
        sizes.append(size)
        old.append(slice(first, end) if first < end else slice(0, 0))
        new.append(slice(low + first * step, low + end * step, step) if first < end else slice(0, 0))
    return tuple(sizes), tuple(old), tuple(new)
