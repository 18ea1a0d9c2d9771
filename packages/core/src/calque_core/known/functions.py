"""Expansions: the equations of a function of arrays, worked out once per types.

One idea: a function such as `numpy.mean` records the same equations whenever its operands have the same types and its
options are equal.  So it is staged once by itself; later calls append copies of these equations, without the function.
A transformer is traced in less than half of the time.

A function is left to itself if it captures an array, holds programs, or returns anything but new arrays; and where axes
have names.

Read next: `record.py`, which writes the code of copies; `plans.py`, which keeps it; `stage.py`, which asks for it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import here
from calque_core.frames.source import current_position, mark_wrapper
from calque_core.jaxprs.jaxpr import Jaxpr, Var, has_jaxpr
from calque_core.known.record import recorder
from calque_core.known.table import Plans
from calque_core.staging.jit_tracer import JitTracer
from calque_core.traces.trace import eval_context, evaluation, tracing
from calque_core.traces.tracer import Tracer

Value = Any
Function = Callable[..., Value]
Options = Mapping[str, Any]

_DTYPES = [np.dtype(code) for code in "?bhilqBHILQefd"]
# Complex numbers are left out: two of them may be equal and have different signs of a zero.
_EXACT = frozenset((NoneType, int, bool, float, str, type, *map(type, _DTYPES), *(dtype.type for dtype in _DTYPES)))
_BOUNDS = frozenset((NoneType, int))
_MOST_OPERANDS = 64


class Option:
    """An immutable argument of functions that is compared by identity: two objects never stand for each other.

    >>> from calque_core.extend import Option, add_option
    >>> key = []
    >>> add_option(key, Option()), add_option(key, object())
    (True, False)
    """

    __slots__ = ()


class FunctionProgram(NamedTuple):
    """The equations of a function on operands of known types.

    For each result, `views` holds the positions of the operands whose memory NumPy's array would share; `container` is
    the class of the results, None for one result alone; `is_new_array` says that there is one result and no view.
    """

    program: Jaxpr
    views: Sequence[Sequence[int]]
    container: type | None
    is_new_array: bool

    def results(self, outs: Sequence[Value], tracers: Sequence[Tracer]) -> Value:
        """Return the results of a call on `tracers`, marked as views of these and in the function's container."""
        for out, viewed in zip(outs, self.views):
            if viewed:
                sources = [tracers[i] for i in viewed]
                out._viewed = tuple(ref for x in sources for ref in (weakref.ref(x), *getattr(x, "_viewed", ())))
        return outs[0] if self.container is None else self.container(outs)


class Expansion(NamedTuple):
    """A function's equations, and the code that records them: `record(trace, position, *tracers)` returns results."""

    function: FunctionProgram
    record: Callable[..., list[Value]]


@mark_wrapper
def expand(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Value:
    """Return `function(*args, **options)` under a trace that records operations and does nothing else with them."""
    if not may_expand(args):
        return function(*args, **options)
    key: list[Any] = [function]
    tracers: list[JitTracer] = []
    for x in args:
        if type(x) is JitTracer and x._trace is trace:
            if not tracers or is_new_operand(key, tracers, x):  # the first one is new; 0.1 us sooner
                tracers.append(x)
                key.append(x.aval)
        elif not add_option(key, x):
            return function(*args, **options)
    if not tracers or (options and not add_options(key, options)) or not trace.is_open:
        return function(*args, **options)
    expansion = expansions.find(key, trace, function, args, options)
    if expansion is None:
        return function(*args, **options)
    program, record = expansion
    outs = record(trace, current_position(3), *tracers)
    return outs[0] if program.is_new_array else program.results(outs, tracers)


def is_new_operand(key: list[Any], tracers: list[Any], x: Tracer) -> bool:
    """Tell whether an operand is not among `tracers`; if it is, its position goes to the key.

    `x * x` may have other equations than `x * y`.
    """
    for i, known in enumerate(tracers):
        if known is x:
            key.append(i)
            return False
    return True


def may_expand(args: Sequence[Value] = ()) -> bool:
    """Tell whether expansions are made in this context, without named axes, and of `args`.

    There is none for many operands, such as those of `numpy.stack`: each is compared with all operands before it.
    """
    context = here()
    return not context.axis_env and not context.varying_axes and len(args) <= _MOST_OPERANDS


def add_options(key: list[Any], options: Options) -> bool:
    """Append keyword arguments to a key; return False if only the function knows their meaning."""
    for name, x in options.items():
        key.append(name)
        if not add_option(key, x):
            return False
    return True


def add_option(key: list[Any], x: Value) -> bool:
    """Append an argument that is no tracer to a key; return False if only the function knows its meaning."""
    kind = type(x)
    if kind in _EXACT:
        key += kind, x or str(x)  # 0.0 equals -0.0, their texts differ
        return True
    if kind is slice:
        key += kind, x.start, x.stop, x.step
        return _BOUNDS.issuperset((type(x.start), type(x.stop), type(x.step)))
    if kind is tuple:
        key += kind, len(x)
        return all([add_option(key, item) for item in x])  # noqa: C419  (a list: half of the time)
    if x is Ellipsis or isinstance(x, Option):
        key.append(x)
        return True
    return False


# Making


def function_program(trace: Any, function: Function, args: Sequence[Value], options: Options) -> FunctionProgram | None:
    """Return the equations of a function on operands of the types of `args`; None if it has to run at each call.

    It is staged under a trace of the class of `trace`.
    """
    containers: list[type | None] = []
    views: list[list[int]] = []

    def results(operands: Sequence[Value]) -> list[Value]:
        out = function(*operands, **options)
        containers.append(type(out) if type(out) in (tuple, list) else None)
        outs = [out] if containers[0] is None else list(out)
        tracers = list({id(x): x for x in operands if type(x) is JitTracer}.values())
        views[:] = [[i for i, x in enumerate(tracers) if _is_view(y, x)] for y in outs]
        return outs

    program = staged_apart(trace, results, args)
    if program is None or not makes_its_results(program):
        return None
    is_new_array = containers[0] is None and not any(views)
    return FunctionProgram(program, views, containers[0], is_new_array)


def staged_apart(trace: Any, function: Callable[[list[Value]], list[Value]], args: Sequence[Value]) -> Jaxpr | None:
    """Return the equations of a function from a list of operands, like `args`, to a list of results.

    It is None if an error was raised, or if such equations must not be recorded again.
    """
    try:
        staging = type(trace)(evaluation)
        with eval_context(), tracing(staging):
            operands = {id(x): x for x in args if type(x) is JitTracer}
            new = {key: staging.new_arg(x.aval) for key, x in operands.items()}
            program: Jaxpr = staging.finish(function([new.get(id(x), x) for x in args]))
    except Exception:  # noqa: BLE001  the function raises it again, where the user's line is known
        return None
    return program if holds_equations_alone(program) else None


def _is_view(out: Value, x: JitTracer) -> bool:
    return any(viewed() is x for viewed in getattr(out, "_viewed", ()))


def makes_its_results(program: Jaxpr) -> bool:
    """Tell whether each result is a new value, and each another one."""
    made = {v for eqn in program.eqns for v in eqn.outvars}
    results = program.outvars
    return bool(results) and all(type(v) is Var and v in made for v in results) and len(set(results)) == len(results)


def holds_equations_alone(program: Jaxpr) -> bool:
    """Tell whether equations like those of a program may be recorded again: they hold no program, array or effect."""
    return not program.consts and not program.effects and not any(has_jaxpr(eqn.params) for eqn in program.eqns)


def expansion_of(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Expansion | None:
    """Return the expansion of a function on operands of the types of `args`; None if it has to run at each call."""
    known = function_program(trace, function, args, options)
    return None if known is None else Expansion(known, recorder(known.program))


expansions = Plans(expansion_of)
