"""Expansions: the equations of a function of arrays, worked out once per types.

One idea: a function such as `numpy.mean` records the same equations whenever its operands have the same types and its
options are equal.  So it is staged once by itself; later calls append copies of these equations, without the function.
A transformer is traced in less than half of the time.

A function is left to itself if it captures an array, holds programs, or returns anything but new arrays; under other
settings than the default; and where axes have names.
Read next: `jaxprs/straight_line.py` for `Plans`; `stage.py`, which asks for expansions.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, here
from calque_core.frames.source import current_position, mark_wrapper
from calque_core.jaxprs.jaxpr import Jaxpr, Literal, Var, has_jaxpr
from calque_core.jaxprs.straight_line import Plans, function_of
from calque_core.primitives.primitive import Primitive
from calque_core.primitives.rules import rule_epoch
from calque_core.staging.jit_tracer import NO_PARAMS, JitTracer, new_eqn
from calque_core.traces.trace import eval_context, evaluation, tracing
from calque_core.traces.tracer import Tracer

Value = Any
Function = Callable[..., Value]
Options = Mapping[str, Any]

_DTYPES = [np.dtype(code) for code in "?bhilqBHILQefd"]
# Complex numbers are left out: two of them may be equal and have different signs of a zero.
_EXACT = frozenset((NoneType, int, bool, float, str, type, *map(type, _DTYPES), *(dtype.type for dtype in _DTYPES)))


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
        if self.is_new_array:
            return outs[0]
        for out, viewed in zip(outs, self.views):
            if viewed:
                sources = [tracers[i] for i in viewed]
                out._viewed = tuple(ref for x in sources for ref in (weakref.ref(x), *getattr(x, "_viewed", ())))
        return outs[0] if self.container is None else self.container(outs)


class Expansion(NamedTuple):
    """A function's equations, and the code that records them: `record(trace, position, *atoms)` returns its results."""

    function: FunctionProgram
    record: Callable[..., list[Value]]


@mark_wrapper
def expand(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Value:
    """Return `function(*args, **options)` under a trace that records operations and does nothing else with them."""
    key: list[Any] = [function]
    tracers: list[JitTracer] = []
    for x in args:
        if type(x) is JitTracer and x._trace is trace:
            if is_new_operand(key, tracers, x):
                key.append(x.aval)
        elif not add_option(key, x):
            return function(*args, **options)
    if not tracers or not add_options(key, options) or not may_expand() or not trace.is_open:
        return function(*args, **options)
    expansion = current_expansions().find(key, trace, function, args, options)
    if expansion is None:
        return function(*args, **options)
    outs = expansion.record(trace, current_position(3), *[x.variable for x in tracers])
    return expansion.function.results(outs, tracers)


def is_new_operand(key: list[Any], tracers: list[Any], x: Tracer) -> bool:
    """Append an operand to `tracers`; return False for one that is there, whose position goes to the key.

    `x * x` may have other equations than `x * y`.
    """
    for i, known in enumerate(tracers):
        if known is x:
            key.append(i)
            return False
    tracers.append(x)
    return True


def may_expand() -> bool:
    """Tell whether the context is one for which expansions are made: default settings, and no named axes."""
    context = here()
    return context.settings is DEFAULT_SETTINGS and not context.axis_env and not context.varying_axes


def add_options(key: list[Any], options: Options) -> bool:
    """Append keyword arguments to a key; return False if only the function can tell what they mean."""
    for name, x in options.items():
        key.append(name)
        if not add_option(key, x):
            return False
    return True


def add_option(key: list[Any], x: Value) -> bool:
    """Append an argument that is no tracer to a key; return False if only the function can tell what it means."""
    kind = type(x)
    if kind in _EXACT:
        key += kind, x or str(x)  # 0.0 equals -0.0, their texts differ
        return True
    if kind is tuple:
        key += kind, len(x)
        return all([add_option(key, item) for item in x])  # noqa: C419  (a list: half of the time)
    if kind is slice:
        key.append(kind)
        return add_option(key, x.start) and add_option(key, x.stop) and add_option(key, x.step)
    if x is Ellipsis:
        key.append(x)
        return True
    return False


# Making


def function_program(trace: Any, function: Function, args: Sequence[Value], options: Options) -> FunctionProgram | None:
    """Return the equations of a function on operands of the types of `args`; None if it has to run at each call.

    It is staged under a trace of the class of `trace`.
    """
    containers: list[type | None] = []
    try:
        staging = type(trace)(evaluation)
        with eval_context(), tracing(staging):
            operands = {id(x): x.aval for x in args if type(x) is JitTracer}
            new = {key: staging.new_arg(aval) for key, aval in operands.items()}
            tracers = list(new.values())
            out = function(*[new.get(id(x), x) for x in args], **options)
            containers.append(type(out) if type(out) in (tuple, list) else None)
            outs = [out] if containers[0] is None else list(out)
            views = [[i for i, x in enumerate(tracers) if _is_view(y, x)] for y in outs]
            program = staging.finish(outs)
    except Exception:  # noqa: BLE001  the function raises it again, where the user's line is known
        return None
    is_copied = holds_equations_alone(program) and _makes_its_results(program)
    is_new_array = containers[0] is None and not any(views)
    return FunctionProgram(program, views, containers[0], is_new_array) if is_copied else None


def _is_view(out: Value, x: JitTracer) -> bool:
    return any(viewed() is x for viewed in getattr(out, "_viewed", ()))


def _makes_its_results(program: Jaxpr) -> bool:
    """Tell whether each result is a new value, and each another one."""
    made = {v for eqn in program.eqns for v in eqn.outvars}
    results = program.outvars
    return bool(results) and all(type(v) is Var and v in made for v in results) and len(set(results)) == len(results)


def holds_equations_alone(program: Jaxpr) -> bool:
    """Tell whether equations like those of a program may be recorded again: they hold no program, array or effect."""
    return not program.consts and not program.effects and not any(has_jaxpr(eqn.params) for eqn in program.eqns)


def recorder(program: Jaxpr, layouts: Collection[Primitive] = ()) -> Callable[..., list[Value]]:
    """Return the function of a trace, a position and atoms that appends equations like those of `program`.

    It returns tracers for the results; a result that is a literal is the literal's value.  Operations of the primitives
    `layouts` are recorded by the trace, `trace.record_layout(primitive, tracer, params)`, which may do with fewer.
    """
    bound: dict[str, Any] = {"new": new_eqn, "var": Var, "tracer": JitTracer}
    known: dict[int, str] = {}

    def constant(value: Any) -> str:
        name = known.setdefault(id(value), f"k{len(known)}")
        bound[name] = value
        return name

    names: dict[Any, str] = {v: f"v{i}" for i, v in enumerate(program.invars)}
    arguments = ["trace", "position", *names.values()]
    lines = ["append = trace.eqns.append"]
    for eqn in program.eqns:
        operands = ", ".join(constant(x) if type(x) is Literal else names[x] for x in eqn.invars)
        outs = [names.setdefault(v, f"v{len(names)}") for v in eqn.outvars]
        if eqn.primitive in layouts:
            x = f"tracer(trace, {constant(eqn.invars[0].aval)}, {operands}, position)"
            layout = f"trace.record_layout({constant(eqn.primitive)}, {x}, {constant(eqn.params)})"
            lines.append(f"{outs[0]} = {layout}[0].variable")
            continue
        lines += [f"{name} = var({constant(v.aval)})" for name, v in zip(outs, eqn.outvars)]
        parts = constant(eqn.primitive), f"[{operands}]", f"[{', '.join(outs)}]", constant(eqn.params or NO_PARAMS)
        lines.append(f"append(new(({', '.join(parts)}, position)))")
    results = ", ".join(
        constant(v.val) if type(v) is Literal else f"tracer(trace, {constant(v.aval)}, {names[v]}, position)"
        for v in program.outvars
    )
    body = "\n ".join([*lines, f"return [{results}]"])
    return function_of(f"def function({', '.join(arguments)}):\n {body}", bound)


def expansion_of(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Expansion | None:
    """Return the expansion of a function on operands of the types of `args`; None if it has to run at each call."""
    known = function_program(trace, function, args, options)
    return None if known is None else Expansion(known, recorder(known.program))


_current: list[Any] = [-1, Plans(expansion_of)]


def current_expansions() -> Plans[Expansion]:
    """Return the expansions that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(expansion_of)]
    return _current[1]  # type: ignore[no-any-return]
