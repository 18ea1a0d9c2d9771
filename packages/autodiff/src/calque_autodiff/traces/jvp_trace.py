"""Values that carry a tangent, and the trace that applies derivative rules to them.

One idea: one trace with two parents.  Primals go to `parent`; rules run over `tangent_trace`.  If the two are the same,
tangents are computed beside the primals: `jvp`.  If the second is a `TangentTrace`, operations on tangents are recorded
instead: `linearize`.  So one rule per primitive serves both.

Read next: `verbs/forward.py` for `jvp`, `verbs/linearize.py` for the other half, `step_trace.py` for derivatives in
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.checks import check_tangent
from calque_autodiff.known.copies import DualFunction, LinearizedFunction, copied_call
from calque_autodiff.known.steps import Step
from calque_core import (
    Primitive,
    Trace,
    Tracer,
    Zero,
    decompose,
    hand_down,
    typeof,
)
from calque_core.extend import (
    SCALAR_TYPES,
    ArrayOperations,
    JitTracer,
    Plans,
    Position,
    call_by_rules,
    check_lift,
    current_position,
    here,
    mark_wrapper,
    zero_tangent,
)

Value = Any
Params = Mapping[str, Any]


class JVPTracer(Tracer):
    """A primal and its tangent, never a symbolic zero: a value without tangent is no tracer.

    The tangent may be the step that records it, which becomes a tracer when a rule asks for it.
    """

    __slots__ = ("_tangent", "aval", "primal")

    def __init__(self, trace: Trace, primal: Value, tangent: Value, aval: Any = None) -> None:
        self._trace, self.primal, self._tangent = trace, primal, tangent
        # A recorded tangent knows its type, the type of its primal unless the primal is weak.  No array is weak;
        # `typeof` of a NumPy array takes 0.3 us.
        if aval is None:
            is_known = type(primal) is np.ndarray and type(tangent) is JitTracer and not tangent.aval.weak_type
            aval = tangent.aval if is_known else typeof(primal)
        self.aval = aval

    @property
    def tangent(self) -> Value:
        """The tangent, a value of the trace of tangents."""
        tangent = self._tangent
        if type(tangent) is Step:
            step = tangent
            tangent = JitTracer(self._trace.tangent_trace, step.outvars.aval, step.outvars, step.position)
            self._tangent = tangent
        return tangent

    @property
    def known_value(self) -> Value:
        """The primal, if it is known: Python control flow may look at it."""
        return self.primal.known_value if isinstance(self.primal, Tracer) else self.primal

    @property
    def inner_values(self) -> tuple[Value, ...]:
        """The primal and the tangent."""
        return self.primal, self.tangent

    @property
    def origin(self) -> Position | None:
        """The position where the value was made, from its tangent."""
        return self.tangent.origin if isinstance(self.tangent, Tracer) else self._trace.position

    def __repr__(self) -> str:
        if isinstance(self._trace, JVPTrace) and self._trace.is_linearizing:
            return f"JVPTracer(primal={self.primal!r}, typeof(tangent)={typeof(self.tangent)})"
        return f"JVPTracer(primal={self.primal!r}, tangent={self.tangent!r})"


class StagedJVPTracer(ArrayOperations, JVPTracer):
    """A tracer of a trace that knows functions: its methods, which are such functions, ask the trace."""

    __slots__ = ()


class JVPTrace(Trace):
    """Applies jvp rules to operations on its tracers."""

    verb = "jvp"

    def __init__(
        self,
        parent: Trace,
        tangent_trace: Trace,
        functions: Plans[LinearizedFunction] | Plans[DualFunction] | None = None,
    ) -> None:
        Trace.__init__(self, parent)  # `super()` takes 0.1 us more
        self.tangent_trace = tangent_trace
        self.functions = functions  # if the parent records operations and does nothing else with them
        self.tracer = JVPTracer if functions is None else StagedJVPTracer
        self.is_linearizing = tangent_trace is not parent  # a jvp inside of a rule has a tangent trace as its parent
        if self.is_linearizing:
            tangent_trace.is_open = True
            self.captures = tangent_trace.captures

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        if self.functions is not None and primitive.is_leaf:
            out = copied_call(self, primitive.bind, args, params)
            if out is not None:
                return out if primitive.multiple_results else [out]
        return self.run_rule(primitive, args, params)

    @mark_wrapper
    def process_function(self, function: Callable[..., Value], args: Sequence[Value], options: Params) -> Value:
        """Record the equations of `function` and of its derivative that are known, or call it."""
        out = None if self.functions is None else copied_call(self, function, args, options)
        return function(*args, **options) if out is None else out

    def run_rule(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Run the operation's derivative rule."""
        primals: list[Value] = []
        tangents: list[Value] = []
        is_perturbed = has_array = False
        tracer = self.tracer
        for x in args:
            if type(x) is tracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                is_perturbed = True
            else:
                primals.append(x)
                tangents.append(zero_tangent(x))
                has_array = has_array or type(x) not in SCALAR_TYPES
        if not is_perturbed:
            return hand_down(self.parent, primitive, primals, params)  # type: ignore[arg-type]
        if has_array and self.is_linearizing:
            primals = [self.safe_residual(x) if p is x else p for p, x in zip(primals, args)]
        rule = primitive.adapted["jvp"]
        if rule is None:
            outs, out_dots = self.decompose(primitive, primals, tangents, params)
        else:
            context = here()
            before, source = context.trace, context.source
            try:
                context.trace = self.tangent_trace
                if self.is_linearizing and source is None:  # the rule records several equations: find their line once
                    context.source = current_position(3)
                outs, out_dots = rule(primals, tangents, **params)
            except FloatingPointError as error:
                error.add_note(f"This happened in the derivative rule of '{primitive.name}', in {self.describe()}.")
                raise
            finally:
                context.trace, context.source = before, source
        return [x if type(t) is Zero else self._result(primitive, x, t) for x, t in zip(outs, out_dots)]

    def _result(self, primitive: Primitive, x: Value, x_dot: Value) -> Value:
        """Return a result of a rule with its tangent, whose type is checked; an integer is returned alone."""
        aval = typeof(x)
        if type(x_dot) is not JitTracer or x_dot.aval is not aval:  # rarely
            check_tangent(primitive, aval, x_dot)
            if aval.kind in "iub":
                return x
        return self.tracer(self, x, x_dot, aval)

    process_custom_derivative = call_by_rules

    def owns(self, x: Value) -> bool:
        """Tell whether `x` carries a tangent of this trace."""
        return type(x) is self.tracer and x._trace is self

    def safe_residual(self, x: Value) -> Value:
        """Return a safe form of a value of the user's, since residuals may refer to it."""
        return self.captures.use(x) if isinstance(x, np.ndarray) else x

    def decompose(
        self, primitive: Primitive, primals: list[Value], tangents: list[Value], params: dict[str, Any]
    ) -> tuple[list[Value], list[Value]]:
        """Return results and tangents of a primitive that has no derivative rule."""
        args = [p if type(t) is Zero else self.tracer(self, p, t) for p, t in zip(primals, tangents)]
        return self.split(decompose(self, primitive, args, params, "jvp"))

    def split(self, outs: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """Return the primals and the tangents of `outs`; a value without tangent has a `Zero`.

        Raises: UnexpectedTracerError for a tracer that is no constant here: its zero tangent would be a wrong number.
        """
        primals: list[Value] = []
        tangents: list[Value] = []
        for x in outs:
            if self.owns(x):
                primals.append(x.primal)
                tangents.append(x.tangent)
                continue
            if isinstance(x, Tracer):
                check_lift(x, self)
            primals.append(x)
            tangents.append(zero_tangent(x))
        return primals, tangents

    def primal_of(self, x: Value) -> Value:
        """Return the primal of a tracer of this trace, and any other value unchanged."""
        return x.primal if self.owns(x) else x

    def explain_refused_write(self, error: ValueError) -> None:
        if self.is_linearizing:
            self.tangent_trace.explain_refused_write(error)

    def close(self) -> None:
        Trace.close(self)  # `super()` takes 0.1 us more
        if self.is_linearizing:
            self.tangent_trace.close()
