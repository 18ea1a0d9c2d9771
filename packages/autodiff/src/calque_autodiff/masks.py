"""Masks: a bool for each operand, result or tangent, and the lists that they select from.

One idea: a rule for a program works on the marked values alone (nonzero tangents, known operands, linear operands),
and puts its results back in their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from calque_core import UndefinedPrimal, Zero

Value = Any
Mask = list[bool]


def is_nonzero(tangents: Sequence[Value]) -> Mask:
    """Return a mask of the tangents or cotangents that are not symbolic zeros."""
    return [type(t) is not Zero for t in tangents]


def is_linear(operands: Sequence[Value]) -> Mask:
    """Return a mask of the operands that need a cotangent."""
    return [type(x) is UndefinedPrimal for x in operands]


def marked(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """Return the items that `mask` marks."""
    return [x for x, m in zip(items, mask) if m]


def unmarked(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """Return the items that `mask` does not mark."""
    return [x for x, m in zip(items, mask) if not m]


def merged(mask: Iterable[bool], items: Iterable[Any], other_items: Iterable[Any] = repeat(None)) -> list[Any]:
    """Return `items` in the places that `mask` marks, and `other_items` in the other places.

    >>> merged([False, True, True], "ab")
    [None, 'a', 'b']
    """
    chosen, others = iter(items), iter(other_items)
    return [next(chosen) if m else next(others) for m in mask]
