"""How values are made of arrays, and programs on values of programs on arrays.

One idea: a `Part` says how one argument or result is made of arrays; a constant is one array.  Where two ways through a
program meet, their parts are joined: those of two branches, those of a carry with what a step makes of it.

Read next: `value_programs.py`, which binds such programs; `value_trace.py` for the traces that own the values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.cond import join_constants
from calque_core.ops.jit import run_program
from calque_core.ops.operands import strong
from calque_core.primitives.rules import rule_epoch
from calque_core.staging.stage import stage
from calque_core.traces.trace import current_trace, run_under, tracing
from calque_core.traces.tracer import Tracer, check_lift
from calque_core.types.avals import typeof

Value = Any
Array = Any
Made = TypeVar("Made")


class Part(NamedTuple):
    """How one argument is made of arrays: their types, the static part, and the type that it has to the user.

    A constant is one array.
    """

    arrays: tuple[Any, ...]
    static: Hashable
    aval: Any
    is_value: bool


Parts = Sequence[Part]
Targets = Sequence[Part | None]  # None leaves a result as it is


class Program(NamedTuple):
    """A program on values as one on arrays, with its constants as leading operands; `parts` are its results."""

    jaxpr: Jaxpr
    consts: list[Array]
    parts: list[Part]


# Between values and arrays


def flattened(trace: Any, xs: Sequence[Value], targets: Targets | None = None) -> tuple[list[Array], list[Part]]:
    """Return the arrays that `xs` are made of, and how; a constant is lifted where its target is a value."""
    arrays: list[Array] = []
    parts = []
    for x, target in zip(xs, targets or [None] * len(xs)):
        if trace.owns(x) or (target is not None and target.is_value):
            own_arrays, static = run_under(trace.parent, _arrays_of, trace, trace.unwrap(x))
            part = Part(tuple(map(typeof, own_arrays)), static, typeof(x), True)
        else:
            if isinstance(x, Tracer):
                check_lift(x, trace)
            own_arrays, part = [x], Part((typeof(x),), None, typeof(x), False)
        arrays += own_arrays
        parts.append(part)
    return arrays, parts


def _arrays_of(trace: Any, value: Value) -> tuple[list[Array], Hashable]:
    arrays, static = trace.to_arrays(value)
    return [strong(x) for x in arrays], static


def restored(trace: Any, parts: Parts, arrays: Sequence[Array]) -> list[Value]:
    """Return the tracers, and the constants, that are made of `arrays`."""
    remaining = iter(arrays)
    xs = []
    for part in parts:
        own_arrays = [next(remaining) for _ in part.arrays]
        if part.is_value:
            value = run_under(trace.parent, trace.from_arrays, part.static, own_arrays)
            xs.append(trace.wrap(value, part.aval))
        else:
            xs += own_arrays
    return xs


def joined(trace: Any, first: Targets, second: Parts) -> list[Part]:
    """Return the parts that stand for both; a value and a constant together are a value.

    Raises: TypeError that names the class if values are made of arrays of different types.
    """
    return [_joined(trace, a, b) for a, b in zip(first, second)]


def _joined(trace: Any, first: Part | None, second: Part) -> Part:
    if first is None or not first.is_value:
        return second
    if not second.is_value:
        return first
    if first.arrays != second.arrays:
        name = type(trace).__name__
        ways = " and ".join(f"({', '.join(map(str, part.arrays))})" for part in (first, second))
        raise TypeError(
            f"{name} makes a value of type {second.aval}{where()} of the arrays {ways}, on two ways through the "
            f"program. Let the number and the types of what {name}.to_arrays returns follow from the type of the value."
        )
    return first._replace(static=trace.join(first.static, second.static))


def until_stable(trace: Any, make: Callable[[Any], tuple[Made, list[Part]]], parts: Any) -> tuple[Made, list[Part]]:
    """Return what `make` makes of parts that it gives back, starting with `parts`.

    Raises: TypeError that names the class if its static parts change without end.
    """
    for _ in range(_MAX_PASSES):
        program, after = make(parts)
        if after == list(parts):
            return program, after
        parts = after
    name = type(trace).__name__
    raise TypeError(
        f"the static parts that {name}.join returns{where()} have changed {_MAX_PASSES} times. Let it return one of "
        "finitely many, and join(a, join(a, b)) equal join(a, b)."
    )


_MAX_PASSES = 100

# Programs on arrays


def on_arrays(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: Targets | None = None) -> Program:
    """Return the program of arrays that `jaxpr` is for arguments made of `parts`; results become their targets."""
    return _made_once(trace, jaxpr, parts, tuple(targets or [None] * len(jaxpr.outvars)))


def deciding(trace: Any, jaxpr: Jaxpr, parts: Parts) -> Program:
    """Return the program of the condition `jaxpr`, whose result is the predicate of a value."""
    return _made_once(trace, jaxpr, parts, None)


def _made_once(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: tuple[Part | None, ...] | None) -> Program:
    """Return the program, from before if this trace, or one with its key, has made it.

    One that holds a tracer, which a rule closes over, is made anew.
    """
    kept = trace.programs.setdefault(jaxpr, {}) if trace.key is None else jaxpr.memo("value", dict)
    key = (type(trace), trace.key, tuple(parts), targets, here().settings, here().axis_env, rule_epoch())
    program: Program | None = kept.get(key)
    if program is None:
        program = _made(trace, jaxpr, parts, targets)
        if not any(isinstance(x, Tracer) for x in program.consts):
            kept[key] = program
    return program


def _made(trace: Any, jaxpr: Jaxpr, parts: Parts, targets: Targets | None) -> Program:
    out_parts: list[Part] = []

    def run(*arrays: Array) -> list[Array]:
        with tracing(trace.over(current_trace())) as inner:
            outs = run_program(jaxpr, restored(inner, parts, arrays))
            if targets is None:
                outs = [run_under(inner.parent, inner.predicate, x.value) if inner.owns(x) else x for x in outs]
            results, out_parts[:] = flattened(inner, outs, targets)
            return results

    avals = [aval for part in parts for aval in part.arrays]
    staged = stage(run, avals, verb=trace.verb or type(trace).__name__, user_fun=trace.fun)
    (program,), consts = join_constants([staged])
    return Program(program, consts, out_parts)
