"""Transpositions: the equations that a transpose rule records, made once per types.

One idea: while a backward pass is staged, the transpose rule of a primitive records the same equations whenever the
types of the cotangent and of the operands, and the parameters, are equal.  So the rule runs under a trace of its own
once; later backward passes append copies of its equations.  A backward pass is traced in two thirds of the time.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.

Read next: `programs/transpose.py`, which asks for copies; `copies.py`, the same for functions and their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Literal, Primitive, Zero
from calque_core.engine import (
    Call,
    KnownOperations,
    exact_params,
    here,
    operands_to_record,
    recorder,
    records_alone,
    staged_apart,
)
from calque_core.extend import JaxprTrace, merged

Value = Any


def may_copy_transpositions(trace: Any) -> bool:
    """Tell whether equations may be copied into a trace here."""
    context = here()
    has_axes = context.axis_env or context.varying_axes
    return records_alone(trace) and trace.is_open and not has_axes and not context.settings.enable_checks


def copied_transposition(
    trace: JaxprTrace, primitive: Primitive, ct: Value, operands: Sequence[Value], params: dict[str, Any]
) -> list[Value] | None:
    """Record the equations of an operation's transpose rule, and return the cotangents; None if the rule has to run.

    They are equations of the place of the operation, which the context names.
    """
    args, key = (ct, *operands), [primitive, trace.recording]
    tracers = operands_to_record(key, trace, args)
    if tracers is None:
        return None
    if params:
        key.append(exact_params(params))
    record = transpositions.find(key, trace, primitive, args, params, tracers, _NO_KINDS)
    return None if record is None else record(trace, here().source, *tracers)


_NO_KINDS: frozenset[type] = frozenset()


def _recorded_rule(*facts: Any) -> Callable[..., list[Value]] | None:
    """Return the function that records the equations of a transpose rule on values of the types of a call.

    It returns a list of the cotangents, None for one that is zero.  There is none if the rule has to run at each call.
    """
    call = Call(*facts)
    typed, primitive = call.typed(), call.operation
    has_ct: list[bool] = []

    def transposed(*tracers: Value) -> list[Value]:
        ct, *operands = typed.arguments(tracers)
        cts = primitive.adapted["transpose"]([ct], *operands, **typed.options)
        assert type(cts) is list, cts
        assert len(cts) == len(operands), cts
        has_ct[:] = [ct is not None and type(ct) is not Zero for ct in cts]
        return [ct for ct, m in zip(cts, has_ct) if m]

    program = staged_apart(call.trace.recording, transposed, typed.avals)
    if program is None:
        return None
    nothing = [Literal(None, program.in_avals[0])] * has_ct.count(False)
    return recorder(program.replace(outvars=merged(has_ct, program.outvars, nothing)))


transpositions = KnownOperations(_recorded_rule)
