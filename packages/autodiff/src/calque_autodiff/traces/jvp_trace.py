"""Values that carry a tangent, and the trace that applies derivative rules to them.

One idea: one trace with two parents.  Primals go to `parent`; rules run over `tangent_trace`.  If the two are the same,
tangents are computed beside the primals: `jvp`.  If the second is a `TangentTrace`, operations on tangents are recorded
instead: `linearize`.  So one rule per primitive serves both.

An operation that is known runs as code that its rules gave once, or is recorded by copies of its equations: at most its
first meetings pass a rule.

Read next: `verbs/forward.py` for `jvp`, `verbs/linearize.py` for the other half; `known/tables.py` for known
operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_autodiff.known.steps import DualOperation, LinearizedOperation, Step, new_object, new_step
from calque_autodiff.verbs.checks import check_tangent
from calque_core import (
    Primitive,
    Trace,
    Tracer,
    Var,
    Zero,
    decompose,
    evaluation,
    hand_down,
    typeof,
)
from calque_core.engine import (
    SCALAR_TYPES,
    ArrayOperations,
    JitTracer,
    Known,
    KnownOperations,
    Position,
    call_by_rules,
    check_lift,
    current_position,
    each_one_value,
    has_tangent,
    here,
    one_value,
    own_context,
    own_tracer_class,
    own_types,
    plain_types,
    records_alone,
)
from calque_core.extend import zero_tangent

Value = Any


class JVPTracer(ArrayOperations, Tracer):
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


def dual(trace: Trace, primal: Value, tangent: Value) -> JVPTracer:
    """Return the tracer of a primal, which may be of an own type, and its tangent."""
    kind = own_tracer_class(JVPTracer, typeof(primal)) if type(primal) in own_types else JVPTracer
    return kind(trace, primal, tangent)


class JVPTrace(Trace):
    """Applies jvp rules to operations on its tracers, or runs what `known` has for them.

    Known operations run as code, or where the parent records operations and does nothing else, they are recorded.
    """

    verb = "jvp"
    tracer_type = JVPTracer

    def __init__(self, parent: Trace, tangent_trace: Trace, known: KnownOperations[Known] | None = None) -> None:
        Trace.__init__(self, parent)  # `super()` takes 0.1 us more
        self.tangent_trace = tangent_trace
        if known is not None:
            self.known = known
            if parent is not evaluation and records_alone(parent):
                self.recording = type(parent)
        self.is_linearizing = tangent_trace is not parent  # a jvp inside of a rule has a tangent trace as its parent
        if self.is_linearizing:
            tangent_trace.is_open = True
            self.captures = tangent_trace.captures

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        known = self.known
        if known is None or not primitive.is_leaf:
            return self.run_rule(primitive, args, params)
        return known.call(self, primitive, args, params)  # type: ignore[no-any-return]

    def run_known(self, known: Any, operands: Sequence[Value]) -> list[Value] | None:
        """Run a known operation, or record its equations; return the results, None where the rules have to run."""
        if self.recording is not None:
            return record_known(self, known, operands)
        return self.run_step(known, operands) if self.is_linearizing else run_dual(self, known, operands)

    def run_step(self, known: LinearizedOperation, operands: Sequence[Value]) -> list[Value] | None:
        """Run the code of results and residuals, and record a step; return None where a rule has to run."""
        primals: list[Value] = []
        invars: list[Var] = []
        is_plain = True
        for x in operands:
            if type(x) is JVPTracer and x._trace is self:
                tangent = x._tangent
                if type(tangent) is Step:
                    invars.append(tangent[2])
                elif type(tangent) is JitTracer and tangent._trace is self.tangent_trace:
                    invars.append(tangent.variable)
                else:
                    return None
                primal = x.primal
                if type(primal) in _WEAK and typeof(primal) != x.aval:  # a setting was changed since it was made
                    return None
                x = primal  # noqa: PLW2901
            is_plain = is_plain and type(x) in plain_types
            primals.append(x)
        for i in known.captured:
            primals[i] = self.safe_residual(primals[i])
        if is_plain:
            out, residuals = known.run(*primals)
        else:
            of_rules = known.for_any_values()
            if of_rules is None:
                return None
            out, residuals = _under_parent(self, of_rules.run_under, self.parent, primals)
            known = of_rules.interpreted() if self.parent is evaluation else of_rules  # device arrays
        position = current_position(4)
        if known.pull is None:
            return _record_several(self, known, invars, out, residuals, position)
        var = new_object(Var)
        var.aval = known.dot_avals[0]
        step = new_step((known, invars, var, residuals, position))
        self.tangent_trace.eqns.append(step)  # type: ignore[attr-defined]
        result = new_object(JVPTracer)
        result._trace, result.primal, result._tangent, result.aval = self, out, step, known.out_avals[0]
        return [result]

    def run_rule(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Run the operation's derivative rule."""
        if own_types:
            args = each_one_value(args)
        primals: list[Value] = []
        tangents: list[Value] = []
        is_perturbed = has_array = False
        for x in args:
            if (type(x) is JVPTracer or (own_types and isinstance(x, JVPTracer))) and x._trace is self:
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
                outs, out_dots = rule(tuple(primals), tuple(tangents), **params)
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
            if not has_tangent(aval):
                return x
            return dual(self, x, x_dot)
        return dual(self, x, x_dot) if own_types else JVPTracer(self, x, x_dot, aval)

    process_custom_derivative = call_by_rules

    def owns(self, x: Value) -> bool:
        """Tell whether `x` carries a tangent of this trace."""
        return (type(x) is JVPTracer or (bool(own_types) and isinstance(x, JVPTracer))) and x._trace is self

    def safe_residual(self, x: Value) -> Value:
        """Return a safe form of a value of the user's, since residuals may refer to it."""
        if isinstance(x, np.ndarray):
            return self.captures.use(x)
        return x if not own_types or type(x) not in own_types or isinstance(x, Tracer) else self._safe_value(x)

    def _safe_value(self, x: Value) -> Value:
        """Return a value of an own type with safe forms of its arrays."""
        aval, arrays = typeof(x), [getattr(x, name) for name in typeof(x).arrays()]
        return aval.make(**dict(zip(aval.arrays(), map(self.safe_residual, arrays))))

    def decompose(
        self, primitive: Primitive, primals: list[Value], tangents: list[Value], params: dict[str, Any]
    ) -> tuple[list[Value], list[Value]]:
        """Return results and tangents of a primitive that has no derivative rule."""
        args = [p if type(t) is Zero else dual(self, p, t) for p, t in zip(primals, tangents)]
        return self.split(decompose(self, primitive, args, params, "jvp"))

    def split(self, outs: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """Return the primals and the tangents of `outs`; a value without tangent has a `Zero`.

        Raises: UnexpectedTracerError for a tracer that is no constant here: its zero tangent would be a wrong number.
        """
        primals: list[Value] = []
        tangents: list[Value] = []
        for x in each_one_value(outs) if own_types else outs:
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
        x = one_value(x) if own_types else x
        return x.primal if self.owns(x) else x

    def explain_refused_write(self, error: ValueError) -> None:
        if self.is_linearizing:
            self.tangent_trace.explain_refused_write(error)

    def close(self) -> None:
        Trace.close(self)  # `super()` takes 0.1 us more
        if self.is_linearizing:
            self.tangent_trace.close()


# Known operations


_WEAK = frozenset((float, complex))


def _record_several(
    trace: JVPTrace,
    known: LinearizedOperation,
    invars: Sequence[Var],
    outs: Sequence[Value],
    residuals: tuple[Value, ...],
    position: Position | None,
) -> list[Value]:
    """Record a step with any number of tangents; return the results, with tangents where these are not zero."""
    if not any(known.dot_avals):  # a comparison, say
        return [*outs]
    tangents: Any = trace.tangent_trace
    dots = [None if aval is None else JitTracer(tangents, aval, Var(aval), position) for aval in known.dot_avals]
    outvars = tuple([dot.variable for dot in dots if dot is not None])
    tangents.eqns.append(new_step((known, invars, outvars, residuals, position)))
    return [x if dot is None else JVPTracer(trace, x, dot, aval) for x, dot, aval in zip(outs, dots, known.out_avals)]


def run_dual(trace: JVPTrace, known: DualOperation, operands: Sequence[Value]) -> list[Value] | None:
    """Run the code of an operation's results and their tangents; return None where a rule has to run."""
    values: list[Value] = []
    tangents: list[Value] = []
    for x in operands:
        if type(x) is JVPTracer and x._trace is trace:
            primal = x.primal
            if type(primal) in _WEAK and typeof(primal) != x.aval:  # a setting was changed since it was made
                return None
            values.append(primal)
            tangents.append(x._tangent)
        else:
            values.append(x)
    values += tangents
    if plain_types.keys() >= set(map(type, values)):
        results = known.run(*values)
    else:
        of_rules = known.for_any_values()
        if of_rules is None:
            return None
        results = _under_parent(trace, trace.parent.process_function, of_rules.for_tracers, values, {})  # type: ignore[union-attr]
    dots = iter(results[len(known.out_avals) :])
    return [
        x if aval is None else JVPTracer(trace, x, next(dots), out_aval)
        for x, aval, out_aval in zip(results, known.dot_avals, known.out_avals)
    ]


def _under_parent(trace: JVPTrace, run: Callable[..., Value], *args: Value) -> Value:
    """Return `run(*args)`, computed under the parent, at the user's line."""
    context = own_context()
    before, source = context.trace, context.source
    try:
        context.trace, context.source = trace.parent, current_position(6)
        return run(*args)
    finally:
        context.trace, context.source = before, source


def record_known(trace: JVPTrace, known: Any, operands: Sequence[Value]) -> list[Value] | None:
    """Record the equations of an operation and of its derivative; return None where the rules have to run."""
    primals: list[Any] = []
    tangents: list[Any] = []
    for x in operands:
        if type(x) is JVPTracer:
            primals.append(x.primal)
            tangents.append(x.tangent)
        else:
            primals.append(x)
    if not _are_variables(trace, primals, tangents):
        return None
    outs, out_dots = known.record(trace, current_position(4), primals, tangents)
    return [x if type(t) is Zero else JVPTracer(trace, x, t, x.aval) for x, t in zip(outs, out_dots)]


def _are_variables(trace: JVPTrace, primals: Sequence[Value], tangents: Sequence[Value]) -> bool:
    """Tell whether all values are variables of the two parents of `trace`: not numbers, at which rules may look.

    In the equations of a jvp no tangent may be a primal, since the key tells apart the tracers that hold them.
    """
    for x in primals:
        if type(x) is not JitTracer or x._trace is not trace.parent:
            return False
    for x in tangents:
        if type(x) is not JitTracer or x._trace is not trace.tangent_trace:
            return False
        if not trace.is_linearizing and x.aval.weak_type:  # a tangent's type is not in the key
            return False
    return trace.is_linearizing or {id(x) for x in primals}.isdisjoint([id(x) for x in tangents])
