"""Values that carry a tangent, and the trace that applies derivative rules to them.

One idea: one trace with two parents.  Primals go to `parent`; rules run over `tangent_trace`.  If the two are the same,
tangents are computed beside the primals: `jvp`.  If the second is a `TangentTrace`, operations on tangents are recorded
instead: `linearize`.  So one rule per primitive serves both.

In evaluation, an operation whose types were met before runs as straight-line code that the rules gave once: `run_step`.
Read next: `forward.py` for `jvp`, `linearize.py` for the other half, `steps.py` for the straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.traces.copies import LinearizedFunction, copied_call
from calque_autodiff.traces.steps import LinearizedOperation, Step, new_step
from calque_core import (
    Primitive,
    Trace,
    Tracer,
    Var,
    Zero,
    decompose,
    hand_down,
    typeof,
)
from calque_core.extend import (
    DEFAULT_SETTINGS,
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
    plain_types,
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
            return f"{type(self).__name__}(primal={self.primal!r}, typeof(tangent)={typeof(self.tangent)})"
        return f"{type(self).__name__}(primal={self.primal!r}, tangent={self.tangent!r})"


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
        operations: Plans[LinearizedOperation] | None = None,
        functions: Plans[LinearizedFunction] | None = None,
    ) -> None:
        super().__init__(parent)
        self.tangent_trace = tangent_trace
        self.operations = operations  # if the parent evaluates and the linear program may hold steps
        self.functions = functions  # if the parent records and the derivative is linearized
        self.tracer = JVPTracer if functions is None else StagedJVPTracer
        self.is_linearizing = tangent_trace is not parent  # a jvp inside of a rule has a tangent trace as its parent
        if self.is_linearizing:
            tangent_trace.is_open = True
            self.captures = tangent_trace.captures

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        if self.operations is not None and primitive.is_leaf:
            outs = self.run_step(primitive, args, params)
            if outs is not None:
                return outs
        return self.run_rule(primitive, args, params)

    @mark_wrapper
    def process_function(self, function: Callable[..., Value], args: Sequence[Value], options: Params) -> Value:
        """Record the equations of `function` and of its derivative that are known, or call it."""
        if self.functions is None:
            return function(*args, **options)
        return copied_call(self, function, args, options)

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
        if len(outs) == 1 and type(out_dots[0]) is not Zero:  # nearly always; 0.2 us less than the comprehension
            return [tracer(self, outs[0], out_dots[0])]
        return [x if type(t) is Zero else tracer(self, x, t) for x, t in zip(outs, out_dots)]

    def run_step(  # noqa: C901, PLR0911, PLR0912 - one loop over the operands; a call for each would take 0.2 us
        self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value] | None:
        """Run the operation's straight-line code and record a step; return None where a rule has to run."""
        if here().settings is not DEFAULT_SETTINGS:
            return None
        key: list[Any] = [primitive]
        primals: list[Value] = []
        invars: list[Var] = []
        for x in args:
            kind = type(x)
            if kind is JVPTracer and x._trace is self:
                tangent, primal = x._tangent, x.primal
                if type(primal) not in plain_types:
                    return None
                if type(tangent) is Step:
                    invars.append(tangent[2])
                elif type(tangent) is JitTracer and tangent._trace is self.tangent_trace:
                    invars.append(tangent.variable)
                else:
                    return None
                key.append(x.aval)
                primals.append(primal)
            else:
                if kind in SCALAR_TYPES:
                    key.append(kind)
                elif kind is np.ndarray:
                    key += (None, typeof(x))
                else:
                    return None
                primals.append(x)
        if not invars:
            return None
        if params:
            key += params.items()
        operation = self.operations.find(key, key, params)  # type: ignore[union-attr]
        if operation is None:
            return None
        for i in operation.captured:
            primals[i] = self.captures.use(primals[i])
        try:
            out, residuals = operation.run(*primals)
        except Exception:  # noqa: BLE001  the rule raises it again, and names the place
            return None
        position = current_position(3)
        if operation.pull is None:
            return self.record_several(operation, invars, out, residuals, position)
        step = new_step((operation, invars, Var(operation.dot_avals[0]), residuals, position))
        self.tangent_trace.eqns.append(step)  # type: ignore[attr-defined]
        return [JVPTracer(self, out, step, operation.out_avals[0])]

    def record_several(
        self,
        operation: LinearizedOperation,
        invars: Sequence[Var],
        outs: Sequence[Value],
        residuals: tuple[Value, ...],
        position: Position | None,
    ) -> list[Value]:
        """Record a step with several results; return the results, with tangents where these are not zero."""
        trace: Any = self.tangent_trace
        dots = [None if aval is None else JitTracer(trace, aval, Var(aval), position) for aval in operation.dot_avals]
        outvars = tuple([dot.variable for dot in dots if dot is not None])
        trace.eqns.append(new_step((operation, invars, outvars, residuals, position)))
        return [
            x if dot is None else JVPTracer(self, x, dot, aval) for x, dot, aval in zip(outs, dots, operation.out_avals)
        ]

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
        super().close()
        if self.is_linearizing:
            self.tangent_trace.close()
