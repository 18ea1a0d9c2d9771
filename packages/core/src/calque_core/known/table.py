"""Plans: the code or the program of an operation, made once per types.

One idea: a rule gives the same operations whenever its operands have the same types.  So a transformation keeps
straight-line code, or a program whose equations it copies, under a key of types and options.

Read next: `run.py` and `record.py`, which write code for plans; `functions.py`, which uses them.
"""

from __future__ import annotations

import marshal
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, allow_plans, here
from calque_core.epoch import forget_with_rules, rule_epoch
from calque_core.known.sizes import sizes_that_do_not_matter, without_sizes
from calque_core.traces.trace import Trace, evaluation
from calque_core.types.avals import ShapedArray

T = TypeVar("T")


def all_take_plans(trace: Trace | None) -> bool:
    """Tell whether operations may run as plans over a trace: it and all traces below it, but evaluation, take plans.

    A trace of a user's sees each operation.

    >>> from calque_core import Trace, evaluation
    >>> from calque_core.extend import all_take_plans
    >>> all_take_plans(evaluation), all_take_plans(Trace(evaluation))
    (True, False)
    """
    while trace is not None and trace is not evaluation:
        if not vars(type(trace)).get("takes_plans", False):
            return False
        trace = trace.parent
    return True


def exact_params(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the parameters of an operation as a part of a key, which differs where one could tell them apart.

    >>> from calque_core.extend import exact_params
    >>> exact_params({"k": 1}) == exact_params({"k": True}), exact_params({"k": 0.0}) == exact_params({"k": -0.0})
    (False, False)
    """
    if len(params) == 1:
        (item,) = params.items()
        if type(item[1]) is int:  # an axis, say; 0.4 us sooner
            return item
    values = tuple(params.values())
    try:
        exact = marshal.dumps(values, 2)  # 0.1 us for numbers, texts and tuples; later versions count references
        if _BUFFER not in exact and hash(values):  # a list has bytes, too, but no hash: it may change
            return *params, exact
    except (TypeError, ValueError):  # no hash, or a value that `marshal` does not write
        pass
    return *params, values, _told_apart(values)


_BUFFER = ord("s")  # marks the bytes of a buffer, such as a scalar of NumPy's, whose class `marshal` does not write


def _told_apart(x: Any) -> Any:
    """Return the classes of the items of a tuple, nested to any depth, and the texts of floats: 0.0 equals -0.0."""
    if type(x) is tuple:
        return tuple(map(_told_apart, x))
    return (type(x), repr(x)) if isinstance(x, (float, complex, np.generic)) else type(x)


class Plans(Generic[T]):
    """The plans of the operations that were met so far: `make(*facts)` gives the plan of an operation, or None.

    A key is a list of the primitive, of its operands' types, and of its `exact_params`; settings other than the default
    join it.  A plan is made after `meetings` meetings of a key, at the next one; where the shapes of one primitive
    differ from call to call, most keys are met only a few times, so that later plans of it wait for more meetings.
    Settings that ask to see each operation have no plans.  A rule that replaces another one drops all plans.

    Where the sizes of an operation do not matter, `share(plan, shapes, *facts)`, for a plan made for operands of these
    shapes, may return a function from other shapes to the plan for them, or to None.  Then meetings in all sizes count
    together, but for sizes of 0 and 1.

    >>> from calque_core.extend import Plans
    >>> plans = Plans(lambda text: text.upper())
    >>> [plans.find(["sin"], "sin") for _ in range(3)]
    [None, None, 'SIN']
    """

    __slots__ = ("__weakref__", "_counts", "_meetings", "_shared", "_taken", "known", "make", "share")

    def __init__(
        self,
        make: Callable[..., T | None],
        share: Callable[..., Callable[[Any], T | None] | None] | None = None,
        meetings: int = 2,
    ) -> None:
        self.known: dict[Any, Any] = {}
        self._counts: Counter[Any] = Counter()  # of the plans made, by primitive
        self._shared: dict[Any, Any] = {}  # by key without sizes: a function of sizes, None, or a number of meetings
        self._taken: list[Any] = []  # the keys whose plans are made from those of other sizes
        self.make, self.share, self._meetings = make, share, meetings
        _all.add(self)

    def find(self, key: list[Any], *facts: Any) -> T | None:
        """Return the plan of a key, made at its third meeting or later; None if the rules have to run."""
        settings = here().settings
        if settings is not DEFAULT_SETTINGS:
            if not allow_plans(settings):
                return None
            key.append(settings)
        try:
            entry = self.known.get(tuple(key), 0)  # a plan, None, or the number of meetings
        except TypeError:  # parameters that cannot be hashed
            return None
        return entry if type(entry) is not int else self._meet(key, facts, entry)

    def _meet(self, key: list[Any], facts: Sequence[Any], count: int) -> T | None:
        if len(self.known) >= _LIMIT:
            self._forget_some()
        shapes = None if self.share is None else _shapes_of(key)
        if shapes is not None:
            form = _without_sizes(key)
            in_sizes = self._shared.get(form, 0)
            if type(in_sizes) is int:
                count = max(count, in_sizes)
                self._shared[form] = count + 1
            elif in_sizes is not None:
                return self._of_other_sizes(tuple(key), in_sizes(shapes), count)
        if count < (self._meetings if self._counts[key[0]] < _MANY else 4 * self._meetings):
            self.known[tuple(key)] = count + 1
            return None
        epoch = rule_epoch()
        self._counts[key[0]] += 1
        plan = self.known[tuple(key)] = self.make(*facts)
        if shapes is not None and self.share is not None:
            self._shared[form] = None if plan is None else self.share(plan, shapes, *facts)
        if rule_epoch() != epoch:  # in another thread
            self.clear()
        return plan

    def _of_other_sizes(self, key: tuple[Any, ...], plan: T | None, count: int) -> T | None:
        """Return a plan made from that of other sizes; keep it if its own sizes were met before.

        Data whose every length is new leave nothing but a key behind, which the garbage collector passes quickly.
        """
        if count:
            self._taken.append(key)
        self.known[key] = plan if count else 1
        return plan

    def _forget_some(self) -> None:
        """Drop the keys without a plan of their own: an option that is another number at each call must cost no plan.

        The table stays the same one, which another thread may change or clear.
        """
        for key in self._taken:
            self.known.pop(key, None)
        self._taken.clear()
        for table in (self.known, self._shared):
            for key, entry in list(table.items()):
                if type(entry) is int:
                    table.pop(key, None)
        if len(self.known) > _LIMIT // 2 or len(self._shared) > _LIMIT // 2:
            self.clear()

    def clear(self) -> None:
        """Forget all plans."""
        self.known.clear()
        self._counts.clear()
        self._shared.clear()
        self._taken.clear()


def _shapes_of(key: Sequence[Any]) -> Any:
    return sizes_that_do_not_matter(key[0], [part for part in key if type(part) is ShapedArray])


def _without_sizes(key: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([without_sizes(part) if type(part) is ShapedArray else part for part in key])


_MANY = 16  # plans of one primitive; later ones wait for four times the meetings, since so long it takes to make them
_LIMIT = 4096
_all: weakref.WeakSet[Plans[Any]] = weakref.WeakSet()


@forget_with_rules
def _forget_plans() -> None:
    for plans in list(_all):
        plans.clear()
