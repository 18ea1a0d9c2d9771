"""Splitting loops for the rules of transformations: operands by their role, carries by marks.

Read next: `scan.py` and `while_loop.py` for the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.primitives.rules import settings_key

ScanOptions = dict[str, Any]  # the parameters of a scan that do not describe its body: length, reverse, unroll


def marked_carries(mask: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """Return the carries that are marked at some step: `mask`, joined with `step(mask)` until nothing changes.

    >>> from calque_core.engine import marked_carries
    >>> marked_carries([True, False, False], lambda mask: [False, mask[0], mask[1]])
    [True, True, True]
    """
    marks = list(mask)
    while True:
        joined = [a or b for a, b in zip(marks, step(marks))]
        if joined == marks:
            return marks
        marks = joined


class Loop(NamedTuple):
    """The body of a scan; its arguments are constants, the carry, and one slice of each input."""

    jaxpr: Jaxpr
    num_consts: int
    num_carry: int

    def thirds(self, items: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the items of the constants, of the carry, and of the inputs."""
        start = self.num_consts + self.num_carry
        return list(items[: self.num_consts]), list(items[self.num_consts : start]), list(items[start:])

    def params(self, options: ScanOptions) -> dict[str, Any]:
        """Return the parameters of the scan over this body."""
        return {"jaxpr": self.jaxpr, "num_consts": self.num_consts, "num_carry": self.num_carry, **options}

    def memo(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return `make()`, computed once per loop and key."""
        return self.jaxpr.memo(("loop", self.num_consts, self.num_carry, *key, *settings_key()), make)


def split_while(items: Sequence[Any], cond_nconsts: int, body_nconsts: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the items of the constants of the condition, of the constants of the body, and of the carry.

    >>> from calque_core.engine import split_while
    >>> split_while("abcde", 1, 2)
    (['a'], ['b', 'c'], ['d', 'e'])
    """
    start = cond_nconsts + body_nconsts
    return list(items[:cond_nconsts]), list(items[cond_nconsts:start]), list(items[start:])


def consts_first(body: Jaxpr, num_consts: int, num_carry: int) -> Jaxpr:
    """Return a body of values, then their derivatives, with the derivatives of constants before the carry.

    `num_consts` and `num_carry` count values.
    """
    num_values, num_carried = num_consts + num_carry, len(body.outvars) - num_carry
    values, dots = body.invars[:num_values], body.invars[num_values:]
    num_const_dots = len(dots) - num_carried
    ordered = [*values[:num_consts], *dots[:num_const_dots], *values[num_consts:], *dots[num_const_dots:]]
    return body.replace(invars=ordered)
