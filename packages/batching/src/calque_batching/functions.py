"""Functions of NumPy's on batches: straight-line code for the operations of a whole function, made once per types.

One idea: a function such as `numpy.var` gives the same operations whenever the types and batch axes of its operands and
its options are equal.  So it is traced once for one element and once for the whole batch; later calls run the program
of the batch, without the function, its checks and its rules.  A program, such as the way back through an operation of
`vjp`, is such a function, all of whose arguments are operands, with the axis or without it.

Read next: `plans.py`, the same for one operation; `batch_trace.py`, which uses both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from calque_batching.batch_tracer import BatchTracer
from calque_batching.known import Dims, Plan, WholeProgram, has_plain_rule, plan_of_whole, whole_program
from calque_core import Jaxpr, current_trace, eval_context, eval_jaxpr, evaluation, tracing, typeof
from calque_core.extend import FunctionProgram, JaxprTrace, Plans, function_program, makes_its_results

Value = Any


class BatchedFunction(NamedTuple):
    """A function's equations for one element, and their plan for the whole batch."""

    function: FunctionProgram
    plan: Plan


def batched_function(
    trace: Any, function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]
) -> BatchedFunction | None:
    """Return `function(*args, **options)` as straight-line code; None if the function has to run at each call.

    The plan takes the tracers among `args`, each once.

    >>> import numpy as np
    >>> from calque_batching import AxisData, BatchTrace
    >>> trace = BatchTrace(evaluation, AxisData(None, 2))
    >>> x = BatchTracer(trace, np.array([[1.0, 2.0], [3.0, 5.0]]), 0)
    >>> known = batched_function(trace, np.var, [x], {})
    >>> known.plan(trace, x)[0].val
    array([0.25, 1.  ])
    """
    staging = JaxprTrace(evaluation)
    operands = {id(x): x for x in args if trace.owns(x)}
    stand_ins = {key: staging.new_arg(x.aval) for key, x in operands.items()}
    known = function_program(staging, function, [stand_ins.get(id(x), x) for x in args], options)
    if known is None:
        return None
    tracers = list(operands.values())
    whole = _batched(trace, known.program, tracers)
    if whole is None or not makes_its_results(whole.program) or None in whole.out_dims:
        return None  # a result without the axis may be no tracer
    return BatchedFunction(known, plan_of_whole(trace, whole, tracers, _is_weak(known.program)))


def batched_program(trace: Any, program: Jaxpr, args: Sequence[Value]) -> Plan | None:
    """Return the plan of a program on operands like `args`; None if it has to be interpreted."""
    if [typeof(x) for x in args] != program.in_avals:
        return None
    whole = _batched(trace, program, args)
    return None if whole is None else plan_of_whole(trace, whole, args, _is_weak(program))


def _batched(trace: Any, program: Jaxpr, args: Sequence[Value]) -> WholeProgram | None:
    """Return a program as one of whole arrays; None if a rule has to run at each call."""
    if program.consts or not all(has_plain_rule(eqn.primitive) for eqn in program.eqns):
        return None

    def batched(arrays: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
        inner = type(trace)(current_trace(), trace.axis)
        with tracing(inner):
            values = [x if d is None else BatchTracer(inner, x, d) for x, d in zip(arrays, dims)]
            return inner.split(eval_jaxpr(program, (), *values))  # type: ignore[no-any-return]

    try:
        with eval_context():
            return whole_program(trace, batched, args)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None


def _is_weak(program: Jaxpr) -> list[bool]:
    return [v.aval.weak_type for v in program.outvars]


function_plans = Plans(batched_function)
program_plans = Plans(batched_program)
