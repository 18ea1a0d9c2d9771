"""Plans: what an operation needs, made once per types.

One idea: a rule gives the same operations whenever its operands have the same types.  So a transformation keeps what it
made from a rule, such as straight-line code or a program whose equations it copies, under a key of types and options.

Read next: `jaxprs/straight_line.py` and `recorder.py`, which write code for plans; `expansions.py`, which uses them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from calque_core.epoch import forget_with_rules, rule_epoch

T = TypeVar("T")


class Plans(Generic[T]):
    """The plans of the operations that were met so far: `make(*facts)` gives the plan of an operation, or None.

    A key is a list of the primitive, of its operands' types, and of its parameters.  A rule that replaces another one
    drops all plans.

    >>> from calque_core.extend import Plans
    >>> plans = Plans(lambda text: text.upper())
    >>> [plans.find(["sin"], "sin") for _ in range(3)]
    [None, None, 'SIN']
    """

    __slots__ = ("__weakref__", "known", "make")

    def __init__(self, make: Callable[..., T | None]) -> None:
        self.known: dict[Any, Any] = {}
        self.make = make
        _all.add(self)

    def find(self, key: list[Any], *facts: Any) -> T | None:
        """Return the plan of a key, made at the third meeting; None if the rules have to run."""
        try:
            entry = self.known.get(tuple(key), 0)  # a plan, None, or the number of meetings
        except TypeError:  # parameters that cannot be hashed
            return None
        return entry if type(entry) is not int else self._meet(key, facts, entry)

    def _meet(self, key: list[Any], facts: Sequence[Any], count: int) -> T | None:
        if len(self.known) >= _LIMIT:
            self._forget_some()
        if count < _MEETINGS:
            self.known[tuple(key)] = count + 1
            return None
        epoch = rule_epoch()
        plan = self.known[tuple(key)] = self.make(*facts)
        if rule_epoch() != epoch:  # in another thread
            self.known.pop(tuple(key), None)
        return plan

    def _forget_some(self) -> None:
        """Drop the keys without a plan: an option that is another number at each call must not cost the plans.

        The table stays the same one, which another thread may change or clear.
        """
        for key, entry in list(self.known.items()):
            if type(entry) is int:
                self.known.pop(key, None)
        if len(self.known) > _LIMIT // 2:
            self.known.clear()


_MEETINGS = 2  # making a plan takes as long as 100 runs of the rules
_LIMIT = 4096
_all: weakref.WeakSet[Plans[Any]] = weakref.WeakSet()


@forget_with_rules
def _forget_plans() -> None:
    for plans in list(_all):
        plans.known.clear()
