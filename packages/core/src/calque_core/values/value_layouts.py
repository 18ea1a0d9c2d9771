"""Layouts: how arrays represent values, and programs on arrays represent programs on values.

One idea: a `Layout` says which arrays represent one argument or result; a constant is one array.  The layouts of two
branches are joined, and so are the layouts of a carry before and after a step.

Read next: `value_programs.py`, which binds such programs; `value_trace.py` for the traces that own the values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.jit import run_program
from calque_core.ops.calls.staged_programs import join_constants
from calque_core.ops.elementwise.weakness import strong
from calque_core.primitives.rules import settings_key
from calque_core.staging.stage import stage
from calque_core.traces.trace import current_trace, run_under, tracing
from calque_core.traces.tracer import Tracer, check_lift
from calque_core.types.avals import typeof

Value = Any
Array = Any
Result = TypeVar("Result")


class Layout(NamedTuple):
    """How arrays represent one argument: the types of the arrays, the static item, and the type that the user sees.

    A constant is one array.
    """

    avals: tuple[Any, ...]
    static: Hashable
    aval: Any
    is_value: bool


def constant_layout(aval: Any) -> Layout:
    """Return the layout of a constant of type `aval`."""
    return Layout((aval,), None, aval, False)


Layouts = Sequence[Layout]
Targets = Sequence[Layout | None]  # None leaves a result unchanged


class Program(NamedTuple):
    """A program on arrays for a program on values; it takes `consts` first, and its results have `out_layouts`."""

    jaxpr: Jaxpr
    consts: list[Array]
    out_layouts: list[Layout]


# Between values and arrays


def flatten_values(trace: Any, xs: Sequence[Value], targets: Targets | None = None) -> tuple[list[Array], list[Layout]]:
    """Return the arrays of `xs`, and their layouts; a constant is lifted if its target is a value."""
    arrays: list[Array] = []
    layouts = []
    for x, target in zip(xs, targets or [None] * len(xs)):
        if trace.owns(x) or (target is not None and target.is_value):
            own_arrays, static = run_under(trace.parent, _to_arrays, trace, trace.unwrap(x))
            layout = Layout(tuple(map(typeof, own_arrays)), static, typeof(x), True)
        else:
            if isinstance(x, Tracer):
                check_lift(x, trace)
            own_arrays, layout = [x], constant_layout(typeof(x))
        arrays += own_arrays
        layouts.append(layout)
    return arrays, layouts


def _to_arrays(trace: Any, value: Value) -> tuple[list[Array], Hashable]:
    arrays, static = trace.to_arrays(value)
    return [strong(x) for x in arrays], static


def unflatten_values(trace: Any, layouts: Layouts, arrays: Sequence[Array]) -> list[Value]:
    """Return the tracers and the constants that `arrays` represent."""
    remaining = iter(arrays)
    xs = []
    for layout in layouts:
        own_arrays = [next(remaining) for _ in layout.avals]
        if layout.is_value:
            value = run_under(trace.parent, trace.from_arrays, layout.static, own_arrays)
            xs.append(trace.wrap(value, layout.aval))
        else:
            xs += own_arrays
    return xs


def join_layouts(trace: Any, first: Targets, second: Layouts) -> list[Layout]:
    """Return one layout for each pair of layouts; a value joined with a constant is a value.

    Raises: TypeError that names the class if values are made of arrays of different types.
    """
    return [_join(trace, a, b) for a, b in zip(first, second)]


def _join(trace: Any, first: Layout | None, second: Layout) -> Layout:
    if first is None or not first.is_value:
        return second
    if not second.is_value:
        return first
    if first.avals != second.avals:
        name = type(trace).__name__
        ways = " and ".join(f"({', '.join(map(str, layout.avals))})" for layout in (first, second))
        raise TypeError(
            f"{name}.to_arrays returned arrays of the types {ways} for values of type {second.aval}{where()}. The "
            "number and the types of the arrays must depend on the type of the value only."
        )
    return first._replace(static=trace.join(first.static, second.static))


def until_stable(
    trace: Any, make: Callable[[Any], tuple[Result, list[Layout]]], layouts: Any
) -> tuple[Result, list[Layout]]:
    """Call `make(layouts)` with the layouts of its last result, until they stay the same; return the last result.

    Without values there is nothing to join, and the first result is the last.

    Raises: TypeError that names the class if its static items change without end.
    """
    for _ in range(_MAX_PASSES):
        result, new_layouts = make(layouts)
        if new_layouts == list(layouts) or not any(layout.is_value for layout in new_layouts):
            return result, new_layouts
        layouts = new_layouts
    name = type(trace).__name__
    raise TypeError(
        f"{name}.join{where()} returned a new static item {_MAX_PASSES} times. Make join(a, join(a, b)) equal join(a, "
        "b), with finitely many results."
    )


_MAX_PASSES = 100

# Programs on arrays


def cached_program(trace: Any, jaxpr: Jaxpr, layouts: Layouts, targets: Targets | None) -> Program:
    """Return `jaxpr` as a program on arrays, for arguments of these layouts; results are converted to their targets.

    Without targets, it is a condition: its result is the predicate of a value.  It is made once per trace or per key of
    a trace.  A program is not cached if it holds a tracer, which a rule closes over.
    """
    cache = trace.programs.setdefault(jaxpr, {}) if trace.key is None else jaxpr.memo("value", dict)
    key = (type(trace), trace.key, tuple(layouts), None if targets is None else tuple(targets), *settings_key())
    program: Program | None = cache.get(key)
    if program is None:
        program = _build_program(trace, jaxpr, layouts, targets)
        if not any(isinstance(x, Tracer) for x in program.consts):
            cache[key] = program
    return program


def _build_program(trace: Any, jaxpr: Jaxpr, layouts: Layouts, targets: Targets | None) -> Program:
    out_layouts: list[Layout] = []

    def run(*arrays: Array) -> list[Array]:
        with tracing(trace.over(current_trace())) as inner:
            outs = run_program(jaxpr, unflatten_values(inner, layouts, arrays))
            if targets is None:
                outs = [run_under(inner.parent, inner.predicate, x.value) if inner.owns(x) else x for x in outs]
            results, out_layouts[:] = flatten_values(inner, outs, targets)
            return results

    avals = [aval for layout in layouts for aval in layout.avals]
    staged = stage(run, avals, verb=trace.verb or type(trace).__name__, user_fun=trace.fun)
    (closed,), consts = join_constants([staged])
    return Program(closed, consts, out_layouts)
