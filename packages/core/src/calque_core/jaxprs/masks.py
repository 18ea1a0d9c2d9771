"""Masks: a bool for each operand, result or tangent, and the lists that they select from.

One idea: a rule for a program works on the marked values alone (nonzero tangents, known operands, linear operands),
and puts its results back in their places.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

Mask = list[bool]


def marked(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """Return the items that `mask` marks.

    >>> from calque_core.extend import marked
    >>> marked("abcd", [True, False, True, False])
    ['a', 'c']
    """
    return [x for x, m in zip(items, mask) if m]


def unmarked(items: Iterable[Any], mask: Iterable[bool]) -> list[Any]:
    """Return the items that `mask` does not mark.

    >>> from calque_core.extend import unmarked
    >>> unmarked("abcd", [True, False, True, False])
    ['b', 'd']
    """
    return [x for x, m in zip(items, mask) if not m]


def merged(mask: Iterable[bool], items: Iterable[Any], other_items: Iterable[Any] = repeat(None)) -> list[Any]:
    """Return `items` in the places that `mask` marks, and `other_items` in the other places.

    >>> from calque_core.extend import merged
    >>> merged([False, True, True], "ab")
    [None, 'a', 'b']
    """
    chosen, others = iter(items), iter(other_items)
    return [next(chosen) if m else next(others) for m in mask]
