"""Transpositions: the equations that a transpose rule records, made once per types.

One idea: while a backward pass is staged, the transpose rule of a primitive records the same equations whenever the
types of the cotangent and of the operands, and the parameters, are equal.  So the rule runs under a trace of its own
once; later backward passes append copies of its equations.  A backward pass is traced in two thirds of the time.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.

Read next: `transpose.py`, which asks for copies; `functions.py`, the same for functions and their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.known.functions import records_alone
from calque_core import Literal, Primitive, UndefinedPrimal, Zero
from calque_core.extend import (
    JaxprTrace,
    JitTracer,
    Plans,
    add_option,
    exact_params,
    here,
    is_new_operand,
    may_expand,
    merged,
    recorder,
    staged_apart,
)

Value = Any


def may_copy_transpositions(trace: Any) -> bool:
    """Tell whether equations may be copied into a trace here."""
    return records_alone(trace) and trace.is_open and may_expand()


def copied_transposition(
    trace: JaxprTrace, primitive: Primitive, ct: Value, operands: Sequence[Value], params: dict[str, Any]
) -> list[Value] | None:
    """Record the equations of an operation's transpose rule, and return the cotangents; None if the rule has to run.

    They are equations of the place of the operation, which the context names.
    """
    key: list[Any] = [primitive]
    tracers: list[JitTracer] = []
    for x in (ct, *operands):
        kind = type(x)
        if kind is UndefinedPrimal:
            key += kind, x.aval
        elif kind is JitTracer and x._trace is trace:
            if not tracers or is_new_operand(key, tracers, x):
                tracers.append(x)
                key.append(x.aval)
        elif not add_option(key, x):
            return None
    if not tracers:
        return None
    if params:
        key.append(exact_params(params))
    record = transpositions.find(key, trace, primitive, ct, operands, params)
    return None if record is None else record(trace, here().source, *tracers)


def recorded_rule(
    trace: JaxprTrace, primitive: Primitive, ct: Value, operands: Sequence[Value], params: dict[str, Any]
) -> Callable[..., list[Value]] | None:
    """Return the function that records the equations of a transpose rule on values of these types.

    It returns a list of the cotangents, None for one that is zero.  There is none if the rule has to run at each call.
    """
    has_ct: list[bool] = []

    def transposed(values: list[Value]) -> list[Value]:
        cts = primitive.adapted["transpose"](values[:1], *values[1:], **params)
        assert type(cts) is list, cts
        assert len(cts) == len(operands), cts
        has_ct[:] = [ct is not None and type(ct) is not Zero for ct in cts]
        return [ct for ct, m in zip(cts, has_ct) if m]

    program = staged_apart(trace, transposed, [ct, *operands])
    if program is None:
        return None
    nothing = [Literal(None, program.in_avals[0])] * has_ct.count(False)
    return recorder(program.replace(outvars=merged(has_ct, program.outvars, nothing)))


transpositions = Plans(recorded_rule)
