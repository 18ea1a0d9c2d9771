"""Functions of NumPy's on batches: straight-line code for the operations of a whole function, made once per types.

One idea: a function such as `numpy.var` gives the same operations whenever the types and batch axes of its operands and
its options are equal.  So it is traced once for one element and once for the whole batch; later calls run the program
of the batch, without the function, its checks and its rules.

Read next: `plans.py`, the same for one operation; `batch_trace.py`, which uses both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from calque_batching.batch_tracer import BatchTracer
from calque_batching.plans import Dims, Plan, has_plain_rule, plan_of_batch
from calque_core import current_trace, eval_context, eval_jaxpr, evaluation, tracing
from calque_core.extend import FunctionProgram, JaxprTrace, Plans, function_program

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
    if known is None or not all(has_plain_rule(eqn.primitive) for eqn in known.program.eqns):
        return None
    out_dims: list[int | None] = []

    def batched(arrays: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
        inner = type(trace)(current_trace(), trace.axis)
        with tracing(inner):
            values = [x if d is None else BatchTracer(inner, x, d) for x, d in zip(arrays, dims)]
            outs, out_dims[:] = inner.split(eval_jaxpr(known.program, known.program.consts, *values))
        return outs, out_dims

    try:
        with eval_context():
            weak = [v.aval.weak_type for v in known.program.outvars]
            plan = plan_of_batch(trace, batched, list(operands.values()), weak)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None
    if plan is None or None in out_dims:  # a result without the axis may be no tracer
        return None
    return BatchedFunction(known, plan)


function_plans = Plans(batched_function)
