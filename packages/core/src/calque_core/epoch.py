"""The rule epoch: a number that changes when a rule is replaced.

One idea: programs and code that are derived from rules are kept under keys with the epoch, or in a cache that a change
empties.

Read next: `primitives/rules.py`, the tables whose changes count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Forget = TypeVar("Forget", bound=Callable[[], object])
_epoch = [0]
_forgetters: list[Callable[[], object]] = []


def rule_epoch() -> int:
    """Return a number that changes when a rule is replaced; it is in the key of every cache of traced programs."""
    return _epoch[0]


def advance_rule_epoch() -> None:
    """Invalidate every cache of traced or compiled programs: a rule was replaced, or a runtime was lost.

    Caches are emptied before and after: the first time, so that an error or an interrupt leaves no old value; the
    second time, for values that another thread has kept meanwhile.
    """
    _forget()
    _epoch[0] += 1
    _forget()


def _forget() -> None:
    for forget in _forgetters:
        forget()


def forget_with_rules(forget: Forget) -> Forget:
    """Call `forget()`, which empties a cache, whenever the rule epoch changes; so its keys need not hold the epoch.

    A value made under an older epoch must not stay: a thread that keeps a value compares the epochs afterwards.

    >>> from calque_core.engine import advance_rule_epoch, forget_with_rules
    >>> cache = {"program": 1}
    >>> _ = forget_with_rules(cache.clear)
    >>> advance_rule_epoch()
    >>> cache
    {}
    """
    _forgetters.append(forget)
    return forget
