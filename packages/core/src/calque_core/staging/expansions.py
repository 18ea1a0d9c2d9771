"""Expansions: the equations of a function of arrays, worked out once per types.

One idea: a function such as `numpy.mean` records the same equations whenever its operands have the same types and its
options are equal.  So it is staged once by itself; later calls append copies of these equations, without the function.
A transformer is traced in less than half of the time.

A function is left to itself if it captures an array, holds programs, or returns anything but new arrays, and under
other settings than the default.
Read next: `jaxprs/straight_line.py` for `Plans`; `stage.py`, which asks for expansions.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, here
from calque_core.frames.source import current_position, mark_wrapper
from calque_core.jaxprs.jaxpr import Jaxpr, Literal, Var, jaxprs_in_params
from calque_core.jaxprs.straight_line import Plans, function_of
from calque_core.primitives.rules import rule_epoch
from calque_core.staging.jit_tracer import NO_PARAMS, JitTracer, new_eqn
from calque_core.traces.trace import eval_context, evaluation, tracing

Value = Any
Function = Callable[..., Value]
Options = Mapping[str, Any]

_DTYPES = [np.dtype(code) for code in "?bhilqBHILQefd"]
# Complex numbers are left out: two of them may be equal and have different signs of a zero.
_EXACT = frozenset((NoneType, int, bool, float, str, type, *map(type, _DTYPES), *(dtype.type for dtype in _DTYPES)))


class Expansion(NamedTuple):
    """The equations of a function: `record(trace, position, *tracers)` appends them and returns its list of results.

    For each result, `views` holds the positions of the operands whose memory NumPy's array would share; `container` is
    the class of the results, None for one result alone.
    """

    record: Callable[..., list[Value]]
    views: Sequence[Sequence[int]]
    container: type | None


@mark_wrapper
def expand(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Value:
    """Return `function(*args, **options)` under a trace that records operations and does nothing else with them."""
    context = here()
    if context.settings is not DEFAULT_SETTINGS or context.varying_axes or not trace.is_open:
        return function(*args, **options)
    key: list[Any] = [function]
    tracers: list[JitTracer] = []
    for x in args:
        if type(x) is JitTracer and x._trace is trace:
            key.append(x.aval)
            tracers.append(x)
        elif not _add_option(key, x):
            return function(*args, **options)
    for name, x in options.items():
        key.append(name)
        if not _add_option(key, x):
            return function(*args, **options)
    expansion = current_expansions().find(key, trace, function, args, options) if tracers else None
    if expansion is None:
        return function(*args, **options)
    outs = expansion.record(trace, current_position(3), *tracers)
    for out, viewed in zip(outs, expansion.views):
        if viewed:
            out._viewed = _views_of([tracers[i] for i in viewed])
    return outs[0] if expansion.container is None else expansion.container(outs)


def _add_option(key: list[Any], x: Value) -> bool:
    """Append an argument that is no tracer to a key; return False if only the function can tell what it means."""
    kind = type(x)
    if kind in _EXACT:
        key += kind, x or str(x)  # 0.0 equals -0.0, their texts differ
        return True
    if kind is tuple:
        key += kind, len(x)
        return all([_add_option(key, item) for item in x])  # noqa: C419  (a list: half of the time)
    if kind is slice:
        key.append(kind)
        return _add_option(key, x.start) and _add_option(key, x.stop) and _add_option(key, x.step)
    if x is Ellipsis:
        key.append(x)
        return True
    return False


def _views_of(tracers: Sequence[JitTracer]) -> tuple[Any, ...]:
    return tuple(ref for x in tracers for ref in (weakref.ref(x), *getattr(x, "_viewed", ())))


# Making


def expansion_of(trace: Any, function: Function, args: Sequence[Value], options: Options) -> Expansion | None:
    """Return the expansion of a function on operands of the types of `args`; None if it has to run at each call.

    It is staged under a trace of the class of `trace`.
    """
    containers: list[type | None] = []
    views: list[list[int]] = []
    staging = type(trace)(evaluation)
    try:
        with eval_context(), tracing(staging):
            new_args = [staging.new_arg(x.aval) if type(x) is JitTracer else x for x in args]
            tracers = [x for x in new_args if type(x) is JitTracer]
            out = function(*new_args, **options)
            containers.append(type(out) if type(out) in (tuple, list) else None)
            outs = [out] if containers[0] is None else list(out)
            views = [[i for i, x in enumerate(tracers) if _is_view(y, x)] for y in outs]
            program = staging.finish(outs)
    except Exception:  # noqa: BLE001  the function raises it again, where the user's line is known
        return None
    return Expansion(_recorder(program), views, containers[0]) if _can_be_copied(program) else None


def _is_view(out: Value, x: JitTracer) -> bool:
    return any(viewed() is x for viewed in getattr(out, "_viewed", ()))


def _can_be_copied(program: Jaxpr) -> bool:
    """Tell whether equations like those of a program may be recorded again: they hold no program, array or effect."""
    made = {v for eqn in program.eqns for v in eqn.outvars}
    results = program.outvars
    return (
        not program.consts
        and not program.effects
        and bool(results)
        and all(type(v) is Var and v in made for v in results)
        and len(set(results)) == len(results)
        and all(next(jaxprs_in_params(eqn.params), None) is None for eqn in program.eqns)
    )


def _recorder(program: Jaxpr) -> Callable[..., list[Value]]:
    """Return the function of a trace, a position and tracers that appends equations like those of `program`."""
    bound: dict[str, Any] = {"new": new_eqn, "var": Var, "tracer": JitTracer}
    known: dict[int, str] = {}

    def constant(value: Any) -> str:
        name = known.setdefault(id(value), f"k{len(known)}")
        bound[name] = value
        return name

    names: dict[Any, str] = {v: f"v{i}" for i, v in enumerate(program.invars)}
    arguments = [f"x{i}" for i in range(len(names))]
    lines = [f"v{i} = x{i}.variable" for i in range(len(names))]
    for eqn in program.eqns:
        operands = ", ".join(constant(x) if type(x) is Literal else names[x] for x in eqn.invars)
        outs = [names.setdefault(v, f"v{len(names)}") for v in eqn.outvars]
        lines += [f"{name} = var({constant(v.aval)})" for name, v in zip(outs, eqn.outvars)]
        parts = constant(eqn.primitive), f"[{operands}]", f"[{', '.join(outs)}]", constant(eqn.params or NO_PARAMS)
        lines.append(f"append(new(({', '.join(parts)}, position)))")
    results = ", ".join(f"tracer(trace, {constant(v.aval)}, {names[v]}, position)" for v in program.outvars)
    body = "\n ".join(["append = trace.eqns.append", *lines, f"return [{results}]"])
    return function_of(f"def function(trace, position, {', '.join(arguments)}):\n {body}", bound)


_current: list[Any] = [-1, Plans(expansion_of)]


def current_expansions() -> Plans[Expansion]:
    """Return the expansions that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(expansion_of)]
    return _current[1]  # type: ignore[no-any-return]
