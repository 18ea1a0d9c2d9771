"""The trace of derivatives in evaluation: an operation whose types were met before is one step.

One idea: the rules of an operation give the same equations whenever its operands have the same types.  So an operation
runs as straight-line code that the rules gave once, and is recorded as one step.  A function of NumPy's is such an
operation too, although it has many equations.

Read next: `steps.py` for the steps, `operations.py` of this package, which makes the straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.operations import function_operations, primitive_operations
from calque_autodiff.traces.jvp_trace import JVPTrace, JVPTracer
from calque_autodiff.traces.steps import FLOATS, LinearizedOperation, Step, new_step
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_core import Primitive, Trace, Tracer, Var, evaluation, typeof
from calque_core.extend import (
    DEFAULT_SETTINGS,
    SCALAR_TYPES,
    ArrayOperations,
    JitTracer,
    Position,
    add_option,
    add_options,
    current_position,
    exact_params,
    here,
    mark_wrapper,
    may_expand,
    plain_types,
)

Value = Any


class SteppedJVPTracer(ArrayOperations, JVPTracer):
    """A tracer of a trace that knows functions: its methods and operators, which are such functions, ask the trace."""

    __slots__ = ()


Operands = tuple[list[Value], list[Var]]  # the primals of operands, the variables of their tangents
_OPERANDS = frozenset((np.ndarray, *SCALAR_TYPES))  # the classes of a primitive's operands without a tangent


def operands_among(args: Sequence[Value], floats: Collection[type]) -> list[Value]:
    """Return the operands of a function among its arguments: tracers, and numbers of the classes `floats`."""
    return [x for x in args if isinstance(x, Tracer) or type(x) in floats]


def _no_option(key: list[Any], x: Value) -> bool:
    """Refuse an argument: a primitive has operands alone."""
    return False


class StepTrace(JVPTrace):
    """Applies jvp rules in evaluation, and straight-line code in their place where it is known."""

    def __init__(self, parent: Trace, tangent_trace: TangentTrace) -> None:
        JVPTrace.__init__(self, parent, tangent_trace)
        self.tracer = SteppedJVPTracer

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        outs = self.primitive_step(primitive, args, params) if primitive.is_leaf else None
        return self.run_rule(primitive, args, params) if outs is None else outs

    def primitive_step(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value] | None:
        """Run a known primitive and record it as one step; return None where its rule has to run."""
        if here().settings is not DEFAULT_SETTINGS:
            return None
        key: list[Any] = [primitive]
        operands = self.operands(key, args, _OPERANDS, _no_option)
        if operands is None:
            return None
        if params:
            key.append(exact_params(params))
        operation = primitive_operations.find(key, key, params)
        return None if operation is None else self.run_step(operation, *operands)

    @mark_wrapper
    def process_function(
        self, function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]
    ) -> Value:
        """Run the function and record it as one step, or call it."""
        out = self.function_step(function, args, options)
        return function(*args, **options) if out is None else out

    def function_step(
        self, function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]
    ) -> Value | None:
        """Run a known function and record it as one step; return None where it has to be called.

        Its operands are the arguments with a tangent, and floats unless the function looks at their values.  All other
        arguments are options: a function may look at the elements of an array without a tangent.
        """
        key: list[Any] = [function]
        operands = self.operands(key, args, FLOATS, add_option)
        if operands is None or (options and not add_options(key, options)) or not may_expand():
            return None
        primals, invars = operands
        floats: Collection[type] = FLOATS
        known = function_operations.find(key, self, function, args, options, floats)
        if known is not None and known.operation is None:  # the function looks at floats: their texts join the key
            key += [repr(x) for x in args if type(x) in FLOATS]
            primals = [p for p, x in zip(primals, operands_among(args, FLOATS)) if isinstance(x, Tracer)]
            floats = ()
            known = function_operations.find(key, self, function, args, options, floats)
        if known is None or known.operation is None:
            return None
        outs = self.run_step(known.operation, primals, invars)
        if outs is None or known.function.is_new_array:
            return outs and outs[0]
        return known.function.results(outs, operands_among(args, floats))

    def operands(
        self,
        key: list[Any],
        args: Sequence[Value],
        kinds: Collection[type],
        add_other: Callable[[list[Any], Value], bool],
    ) -> Operands | None:
        """Return the primals of tracers and arguments of the classes `kinds`, and the variables of their tangents.

        Their types are appended to a key; `add_other(key, x)` appends any other argument, or returns False.  None says
        that the rules have to run.
        """
        primals: list[Value] = []
        invars: list[Var] = []
        for x in args:
            kind = type(x)
            if kind is SteppedJVPTracer and x._trace is self:
                primal, tangent = x.primal, x._tangent
                if type(primal) not in plain_types and self.parent is evaluation:
                    return None
                if type(tangent) is Step:
                    invars.append(tangent[2])
                elif type(tangent) is JitTracer and tangent._trace is self.tangent_trace:
                    invars.append(tangent.variable)
                else:
                    return None
                key.append(x.aval)
                primals.append(primal)
            elif kind in kinds:
                key.append(kind)
                if kind is np.ndarray:
                    key.append(typeof(x))
                primals.append(x)
            elif self.parent is not evaluation and isinstance(x, Tracer):
                key += np.ndarray, x.aval
                primals.append(x)
            elif not add_other(key, x):
                return None
        return (primals, invars) if invars else None

    def run_step(
        self, operation: LinearizedOperation, primals: list[Value], invars: Sequence[Var]
    ) -> list[Value] | None:
        """Run an operation's straight-line code and record a step; return None where a rule has to run."""
        for i in operation.captured:
            primals[i] = self.safe_residual(primals[i])
        try:
            out, residuals = (
                operation.run(*primals) if self.parent is evaluation else self.run_nested(operation, primals)
            )
        except Exception:  # noqa: BLE001  the rule raises it again, and names the place
            return None
        position = current_position(4)
        if operation.pull is None:
            return self.record_several(operation, invars, out, residuals, position)
        step = new_step((operation, invars, Var(operation.dot_avals[0]), residuals, position))
        self.tangent_trace.eqns.append(step)  # type: ignore[attr-defined]
        return [SteppedJVPTracer(self, out, step, operation.out_avals[0])]

    def run_nested(self, operation: LinearizedOperation, primals: Sequence[Value]) -> tuple[Any, tuple[Value, ...]]:
        """Run an operation under the parent, unless its operands are plain."""
        if plain_types.keys() >= set(map(type, primals)):
            return operation.run(*primals)
        context, parent = here(), self.parent
        before, source = context.trace, context.source
        assert parent is not None
        try:
            context.trace, context.source = parent, current_position(5)
            return operation.run_under(parent, primals)
        finally:
            context.trace, context.source = before, source

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
            x if dot is None else SteppedJVPTracer(self, x, dot, aval)
            for x, dot, aval in zip(outs, dots, operation.out_avals)
        ]
