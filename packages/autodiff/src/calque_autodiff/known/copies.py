"""Copies of the equations of an operation and of its derivative, while a derivative is staged.

One idea: an operation and its derivative rules record the same equations whenever types and options are equal.  So the
program of the operation is differentiated or linearized once; later calls append copies.  The gradient of a
transformer is traced in half of the time.

Read next: `programs/recorded.py`, which makes these programs; `traces/jvp_trace.py`, which asks for copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.partial_eval import distinct
from calque_autodiff.programs.recorded import recorded_halves, recorded_jvp
from calque_core import Var
from calque_core.engine import JitTracer, Operation, Position, holds_equations_alone, recorder
from calque_core.extend import split_results

Value = Any


class LinearizedFunction(NamedTuple):
    """A function on operands of known types, cut in two; some operands have tangents.

    `record_known(trace, position, *tracers)` appends the equations of the results and of residuals.
    `record_linear(trace, position, *atoms, *tracers)`, of residuals, then tangents, appends those of the tangents;
    `places` holds the position of each residual among the operands and the values that `record_known` returns.
    """

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


def dual_function(operation: Operation, mask: Sequence[bool]) -> DualFunction | None:
    """Return an operation with its derivative; None if its equations must not be recorded again."""
    both, out_mask = recorded_jvp(operation.program, mask)
    return DualFunction(recorder(both), out_mask) if holds_equations_alone(both) else None


def linearized_function(operation: Operation, mask: Sequence[bool]) -> LinearizedFunction | None:
    """Return an operation cut in two; None if its equations must not be recorded again."""
    known, linear = recorded_halves(operation.program, mask)
    if not (holds_equations_alone(known) and holds_equations_alone(linear)):
        return None
    outvars, sources = distinct(known, len(operation.program.outvars))
    known = known.replace(outvars=outvars)
    places = [i if kind == "in" else len(mask) + i for kind, i in sources]
    return LinearizedFunction(recorder(known), recorder(linear, len(places)), places)
