"""Known operations: code or equations that a transformation made of an operation on operands of known types.

One idea: rules give the same operations whenever operands have the same types.  An operation is a primitive, a program
or a function.  So a transformation makes code, or equations to copy, once for each operation and types, and keeps
it in one table; later calls leave out the rules.

The page `docs/known_operations.md` tells which entries are kept, for how long, and how to run the rules at each call.

Read next: `operands.py` for keys; `operation.py` for operations as programs; `run.py` and `record.py`, which write
code.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from calque_core.context import DEFAULT_SETTINGS, allow_known, here
from calque_core.epoch import forget_with_rules, rule_epoch
from calque_core.errors import ConcretizationTypeError
from calque_core.frames.names import name_of
from calque_core.frames.source import mark_wrapper
from calque_core.jaxprs.interpret import JaxprFunction
from calque_core.known.operands import (
    FLOATS,
    NO_KINDS,
    VALUES,
    Option,
    add_options,
    exact_params,
    kinds_of_operands,
    operands_to_record,
    operands_to_run,
    texts_of_floats,
)
from calque_core.known.sizes import sizes_that_do_not_matter, without_sizes
from calque_core.primitives.primitive import Primitive
from calque_core.traces.trace import evaluation
from calque_core.types.avals import ShapedArray

T = TypeVar("T")
Value = Any
Params = Mapping[str, Any]


class Known(NamedTuple):
    """A known operation: its program, and the code or equations that the transformation made, for `trace.run_known`."""

    operation: Any
    code: Any


LOOKS_AT_FLOATS: Any = Option()
"""Stands in a table for a function whose equations depend on the values of floats, as those of `x**0.5` may."""

HAS_SIZES: Any = Option()
"""Tells that the entry of an operation, as another size shows, serves arrays of its own sizes alone."""


@mark_wrapper
def by_rules(trace: Any, operation: Any, args: Sequence[Value], options: Params) -> Value:
    """Return the results of an operation by its rule; of a program or a function by the rules of its operations."""
    if type(operation) is Primitive:
        return trace.run_rule(operation, args, options)
    return operation(*args, **options)


class KnownOperations(Generic[T]):
    """The operations that one transformation knows: `make(*facts)` gives the entry of an operation, or None.

    An entry is made after `meetings` meetings of a key, at the next one; where the shapes of one operation differ from
    call to call, most keys are met only a few times, so that later entries of it wait for more meetings.  Settings
    other than the default join the key; settings that ask to see each operation have no entries.  A rule that replaces
    another one drops all entries.

    A table without `make` has the entries that its owner gives to `keep`.

    Where the sizes of an operation do not matter, `share(entry, shapes, *facts)`, for an entry made for operands of
    these shapes, may return a function from other shapes to the entry for them, or to None; or, at its first call, to
    `HAS_SIZES`: most operations never meet another size.  Then meetings in all sizes count together, but for sizes of 0
    and 1.

    >>> from calque_core.engine import KnownOperations
    >>> table = KnownOperations(lambda text: text.upper())
    >>> [table.find(["sin"], "sin") for _ in range(3)]
    [None, None, 'SIN']
    """

    __slots__ = ("__weakref__", "_counts", "_meetings", "_shared", "_taken", "known", "make", "share")

    def __init__(
        self,
        make: Callable[..., T | None] | None = None,
        share: Callable[..., Callable[[Any], T | None] | None] | None = None,
        meetings: int = 2,
    ) -> None:
        self.known: dict[Any, Any] = {}
        self._counts: Counter[Any] = Counter()  # of the entries made, by operation
        self._shared: dict[Any, Any] = {}  # by key without sizes: a function of sizes, None, or a number of meetings
        self._taken: list[Any] = []  # the keys whose entries are made from those of other sizes
        self.make, self.share, self._meetings = make, share, meetings
        _all.add(self)

    @mark_wrapper
    def call(self, trace: Any, operation: Any, args: Sequence[Value], options: Params) -> Value:  # noqa: C901, PLR0911, PLR0912  (hot)
        """Return the results of an operation under a trace, by known code or by rules; of a primitive as a list."""
        recording, is_primitive = trace.recording, type(operation) is Primitive
        is_whole = is_primitive or type(operation) is JaxprFunction
        key: list[Any] = [operation, recording]
        if recording is not None:
            kinds, operands = NO_KINDS, operands_to_record(key, trace, args)
        else:
            kinds = VALUES if is_whole else kinds_of_operands(trace, operation)
            operands = operands_to_run(key, trace, args, kinds, not is_whole)
        if operands is None:
            return by_rules(trace, operation, args, options)
        context = here()
        if is_primitive:
            if options:
                key.append(exact_params(options))
        elif context.axis_env or context.varying_axes or not (not options or add_options(key, options)):
            return operation(*args, **options)
        outs, is_checked = None, recording is None and context.settings.enable_checks
        try:
            if context.settings is DEFAULT_SETTINGS:  # as `find`, in this frame
                known: Any = self.known.get(tuple(key), 0)
                if type(known) is int:
                    known = self._meet(key, (trace, operation, args, options, operands, kinds), known)
            else:
                known = self.find(key, trace, operation, args, options, operands, kinds)
            if known is LOOKS_AT_FLOATS:
                key += texts_of_floats(operands)
                operands = [x for x in operands if type(x) not in FLOATS]
                known = self.find(key, trace, operation, args, options, operands, kinds - FLOATS)
            if known is not None and not is_checked:
                outs = trace.run_known(known.code, operands)
        except Exception as error:  # noqa: BLE001  the rules raise it again, in their own words
            return _after(error, trace, operation, args, options)
        if outs is None:
            if is_checked and known is not None:
                return _checked(known, operands, trace, operation, args, options)
            return by_rules(trace, operation, args, options)
        if is_whole:
            return outs
        return outs[0] if known.operation.is_new_array else known.operation.results(outs, operands)

    def find(self, key: list[Any], *facts: Any) -> T | None:
        """Return the entry of a key, made at its third meeting or later from `facts`; None if the rules have to run."""
        settings = here().settings
        if settings is not DEFAULT_SETTINGS:
            if not allow_known(settings):
                return None
            key.append(settings)
        try:
            entry = self.known.get(tuple(key), 0)  # an entry, None, or the number of meetings
        except TypeError:  # parameters that cannot be hashed
            return None
        return entry if type(entry) is not int else self._meet(key, facts, entry)

    def keep(self, key: tuple[Any, ...], entry: T | None, epoch: int) -> None:
        """Keep an entry that was made under a rule epoch."""
        if len(self.known) >= _LIMIT:
            self._forget_some()
        self.known[key] = entry
        if rule_epoch() != epoch:  # a rule was replaced meanwhile, in another thread
            self.clear()

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
                of_these = in_sizes(shapes)
                if of_these is not HAS_SIZES:
                    return self._of_other_sizes(tuple(key), of_these, count)
                self._shared[form] = None
        if count < (self._meetings if self._counts[key[0]] < _MANY else 4 * self._meetings):
            self.known[tuple(key)] = count + 1
            return None
        epoch = rule_epoch()
        self._counts[key[0]] += 1
        assert self.make is not None, key
        entry = attempt(self.make, *facts)
        if shapes is not None and self.share is not None:
            self._shared[form] = None if entry is None else self.share(entry, shapes, *facts)
        self.keep(tuple(key), entry, epoch)
        return entry

    def _of_other_sizes(self, key: tuple[Any, ...], entry: T | None, count: int) -> T | None:
        """Return an entry made from that of other sizes; keep it if its own sizes were met before.

        Data whose every length is new leave nothing but a key behind, which the garbage collector passes quickly.
        """
        if count:
            self._taken.append(key)
        self.known[key] = entry if count else 1
        return entry

    def _forget_some(self) -> None:
        """Drop the keys without an entry of their own: an option with another number at each call must cost no entry.

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
        """Forget all entries."""
        self.known.clear()
        self._counts.clear()
        self._shared.clear()
        self._taken.clear()


def _shapes_of(key: Sequence[Any]) -> Any:
    return sizes_that_do_not_matter(key[0], [part for part in key if type(part) is ShapedArray])


def _without_sizes(key: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([without_sizes(part) if type(part) is ShapedArray else part for part in key])


_MANY = 16  # entries of one operation; later ones wait for four times the meetings, since so long it takes to make them
_LIMIT = 4096
_all: weakref.WeakSet[KnownOperations[Any]] = weakref.WeakSet()


@forget_with_rules
def forget_known_operations() -> None:
    """Drop all entries of all tables."""
    for table in list(_all):
        table.clear()


def all_run_known(trace: Any) -> bool:
    """Tell whether known operations run as code over a trace: it and the traces below it run such code.

    A trace of a user's sees each operation.

    >>> from calque_core import Trace, evaluation
    >>> from calque_core.engine import all_run_known
    >>> all_run_known(evaluation), all_run_known(Trace(evaluation))
    (True, False)
    """
    while trace is not None and trace is not evaluation:
        if trace.known is None or trace.recording is not None:
            return False
        trace = trace.parent
    return True


# Errors


def attempt(run: Callable[..., T], *args: Any) -> T | None:
    """Return `run(*args)`, which makes the code of an operation; None after an error: its rules say it better.

    Under `enable_checks` an error is raised, and reported if the rules raise none.  Some errors say that there is no
    code: a function asks for a value, or a rule that another direction needs is missing.
    """
    try:
        return run(*args)
    except Exception as error:
        if here().settings.enable_checks and not isinstance(error, (ConcretizationTypeError, NotImplementedError)):
            raise
        return None


def run_code(operation: Any, code: Callable[..., T], args: Sequence[Value], by_rules: Callable[[], T]) -> T:
    """Return `code(*args)`, or after an error `by_rules()`, which raises the error of the rules.

    Under `enable_checks` the rules run, whose operations are checked, and an error of the code alone is reported.
    """
    if here().settings.enable_checks:
        outs = by_rules()
        try:
            code(*args)
        except Exception as error:
            raise RuntimeError(_report(operation)) from error
        return outs
    try:
        return code(*args)
    except Exception:  # noqa: BLE001
        return by_rules()


@mark_wrapper
def _after(error: Exception, trace: Any, operation: Any, args: Sequence[Value], options: Params) -> Value:
    """Return the results of an operation by its rules, after an error of its code; under `enable_checks` report it."""
    outs = by_rules(trace, operation, args, options)
    if here().settings.enable_checks:
        raise RuntimeError(_report(operation)) from error
    return outs


@mark_wrapper
def _checked(
    known: Known, operands: Sequence[Value], trace: Any, operation: Any, args: Sequence[Value], options: Params
) -> Value:
    """Return the results of an operation by its rules, whose operations are checked; report an error of its code."""
    outs = by_rules(trace, operation, args, options)
    try:
        trace.run_known(known.code, operands)
    except Exception as error:
        raise RuntimeError(_report(operation)) from error
    return outs


def _report(operation: Any) -> str:
    is_named = type(operation) is str
    name = operation if is_named else operation.name if type(operation) is Primitive else name_of(operation)
    return (
        f"the code of the known operation '{name}' raised an error where its rules raise none. Report this as a fault "
        "of calque; config.known_operations(False) runs the rules."
    )
