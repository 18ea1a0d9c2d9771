"""Copies of the equations of a function and of its derivative, under a `JVPTrace`.

Read next: `functions.py` of this package, which linearizes functions; `jvp_trace.py`, which asks for copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from calque_core import Var, Zero
from calque_core.extend import (
    FunctionProgram,
    JitTracer,
    Position,
    add_option,
    add_options,
    current_position,
    is_new_operand,
    mark_wrapper,
    may_expand,
    split_results,
)

Value = Any


class LinearizedFunction(NamedTuple):
    """A function on operands of known types, some of which have tangents, cut in two.

    `record_known(trace, position, *tracers)` appends the equations of the results and of residuals.
    `record_linear(trace, position, *atoms, *tracers)`, of residuals, then tangents, appends those of the tangents;
    `places` holds the position of each residual among the operands and the values that `record_known` returns.
    """

    function: FunctionProgram
    record_known: Callable[..., list[Value]]
    record_linear: Callable[..., list[Value]]
    places: Sequence[int]

    def record(
        self, trace: Any, position: Position | None, primals: Sequence[JitTracer], tangents: Sequence[JitTracer]
    ) -> tuple[list[Value], list[Value]]:
        """Record the function and its derivative under a `JVPTrace`; return the results and their tangents."""
        outs = self.record_known(trace.parent, position, *primals)
        values, tangent_trace = [*primals, *outs], trace.tangent_trace
        residuals = [_constant(tangent_trace, values[i]) for i in self.places]
        return outs, self.record_linear(tangent_trace, position, *residuals, *tangents)


class DualFunction(NamedTuple):
    """A function with its derivative, for operands of known types and tangents of some.

    `record_both(trace, position, *tracers)`, of primals, then tangents, appends the equations of the results and of the
    tangents; it returns the results, then a tangent for each result in the mask `out_mask`.
    """

    function: FunctionProgram
    record_both: Callable[..., list[Value]]
    out_mask: Sequence[bool]

    def record(
        self, trace: Any, position: Position | None, primals: Sequence[JitTracer], tangents: Sequence[JitTracer]
    ) -> tuple[list[Value], list[Value]]:
        """Record the function and its derivative under a `JVPTrace`; return the results and their tangents."""
        return split_results(self.record_both(trace.parent, position, *primals, *tangents), self.out_mask)


def _constant(trace: Any, x: Value) -> Any:
    """Return `trace.constant(x)`, for a variable of the parent of `trace` 0.8 us sooner."""
    if type(x) is not JitTracer:
        return trace.constant(x)
    known = trace.constants.get(id(x))
    if known is None:
        known = trace.constants[id(x)] = x, Var(x.aval)
    return known[1]


@mark_wrapper
def copied_call(trace: Any, function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]) -> Value:
    """Return the result of a function under a `JVPTrace` that knows functions, by copies of equations.

    It is None if the function has to run.
    """
    if not may_expand(args):
        return None
    parent, tracer = trace.parent, trace.tracer
    key: list[Any] = [function]
    tracers: list[Any] = []
    primals: list[Any] = []
    tangents: list[Any] = []
    for x in args:
        kind = type(x)
        if (kind is tracer and x._trace is trace) or (kind is JitTracer and x._trace is parent):
            if not tracers or is_new_operand(key, tracers, x):
                tracers.append(x)
                key += kind, x.aval
                if kind is tracer:
                    primals.append(x.primal)
                    tangents.append(x.tangent)
                else:
                    primals.append(x)
        elif not add_option(key, x):
            return None
    if not tangents or (options and not add_options(key, options)):
        return None
    if not _are_variables(trace, primals, tangents):
        return None
    known = trace.functions.find(key, trace, function, args, options)
    if known is None:
        return None
    recorded = known.record(trace, current_position(3), primals, tangents)
    outs = [x if type(t) is Zero else tracer(trace, x, t, x.aval) for x, t in zip(*recorded)]
    return outs[0] if known.function.is_new_array else known.function.results(outs, tracers)


def _are_variables(trace: Any, primals: Sequence[Value], tangents: Sequence[Value]) -> bool:
    """Tell whether all are variables of the two parents of `trace`, and no two of them are one in the equations.

    The key tells apart the tracers that hold them.
    """
    if not (_are_of(trace.parent, primals) and _are_of(trace.tangent_trace, tangents)):
        return False
    if not trace.is_linearizing and any(x.aval.weak_type for x in tangents):  # a tangent's type is not in the key
        return False
    operands = primals if trace.is_linearizing else [*primals, *tangents]
    return len(operands) == 1 or len({id(x) for x in operands}) == len(operands)


def _are_of(trace: Any, values: Sequence[Value]) -> bool:
    """Tell whether all values are variables of `trace`: not numbers, at which rules may look, nor of an outer trace."""
    for x in values:  # noqa: SIM110  (`all` takes 0.4 us more)
        if type(x) is not JitTracer or x._trace is not trace:
            return False
    return True
