"""Plans: the batching rule of an operation as straight-line code, made once per types.

One idea: a rule gives the same operations for all operands of the same types and batch axes.  So the rule is traced
once, and later calls run its program as a Python function of whole arrays, without the rule.

An error is left to the rules, whose messages name the place.
Read next: `functions.py`, the same for whole functions; `batch_trace.py`, which runs plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_batching.batch_tracer import BatchTracer, element_of
from calque_core import Jaxpr, Primitive, Var, eval_context, jaxprs_in_params, stage, typeof
from calque_core.extend import SCALAR_TYPES, Plans, StraightLine, is_straight

Value = Any
Dims = Sequence[int | None]
Plan = Callable[..., list[Value]]
"""`plan(trace, *operands)` returns the results of an operation; tracers of `trace` for results with a batch axis."""


def plan_of(trace: Any, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Plan | None:
    """Return the plan of a primitive on operands like `args`; None if its rule has to run.

    >>> import numpy as np
    >>> from calque_batching import AxisData, BatchTrace, BatchTracer
    >>> from calque_core import evaluation
    >>> from calque_core.lax import neg_p
    >>> trace = BatchTrace(evaluation, AxisData("i", 2))
    >>> x = BatchTracer(trace, np.array([[1.0, 2.0], [3.0, 4.0]]), 0)
    >>> (y,) = plan_of(trace, neg_p, [x], {})(trace, x)
    >>> y.aval, y.val
    (float64[2], array([[-1., -2.],
           [-3., -4.]]))
    """
    if not has_plain_rule(primitive) or next(jaxprs_in_params(params), None) is not None:
        return None

    def batched(operands: Sequence[Value], dims: Dims) -> tuple[Sequence[Value], Dims]:
        return primitive.adapted["batch"](operands, dims, **params)  # type: ignore[no-any-return]

    try:
        with eval_context():
            weak = [aval.weak_type for aval in primitive.abstract(*map(typeof, args), **params)]
            return plan_of_batch(trace, batched, args, weak)
    except Exception:  # noqa: BLE001  the rule raises it again, in its own words
        return None


def has_plain_rule(primitive: Primitive) -> bool:
    """Tell whether the batching rule of a primitive depends on types and parameters alone."""
    rules = primitive.adapted
    return primitive.is_leaf and rules["axis_batch"] is None and rules["batch"] is not None


_PLAIN = {np.ndarray, *SCALAR_TYPES}


def plan_of_batch(
    trace: Any, batched: Callable[[Sequence[Value], Dims], Any], args: Sequence[Value], weak: Sequence[bool]
) -> Plan | None:
    """Return `batched(arrays, dims) -> (results, their dims)` as a plan for operands like `args`; None if it has none.

    The elements of the results in `weak` are weak.
    """
    mask = [trace.owns(x) for x in args]
    vals, dims = trace.split(args)
    if not any(mask) or not _PLAIN.issuperset(map(type, vals)):
        return None
    out_dims: list[int | None] = []

    def whole(*arrays: Value) -> Sequence[Value]:
        outs, out_dims[:] = batched(arrays, dims)
        return outs  # type: ignore[no-any-return]

    program = stage(whole, [typeof(x) for x in vals], verb="vmap")
    # A result that is an operand or a constant is left to the rule: two results never share memory by accident.
    made = {v for eqn in program.eqns for v in eqn.outvars}
    if not is_straight(program) or program.consts or not all(type(v) is Var and v in made for v in program.outvars):
        return None
    return _function(program, mask, out_dims, weak, trace.axis.size)


def _function(
    program: Jaxpr, mask: Sequence[bool], out_dims: Sequence[int | None], weak: Sequence[bool], size: int
) -> Plan:
    """Return the function of a trace and of operands, tracers where `mask` is set, that runs a program of arrays."""
    code = StraightLine()
    arguments = code.arguments(program.invars)
    code.lines += [f"{name} = {name}.val" for name, m in zip(arguments, mask) if m]
    outs = [
        out if d is None else _tracer(code, out, v.aval, d, is_weak, size)
        for out, v, d, is_weak in zip(code.results(program), program.outvars, out_dims, weak)
    ]
    return code.function(["trace", *arguments], f"[{', '.join(outs)}]")


def _tracer(code: StraightLine, out: str, aval: Any, dim: int, is_weak: bool, size: int) -> str:
    """Append the lines that make a tracer of the array `out`; return its name.  Calling the class takes 0.4 us more.

    A rule that misplaces the batch axis is refused.
    """
    assert aval.shape[dim] == size, (aval, dim, size)
    element = element_of(np.ndarray, aval.shape, aval.dtype, dim, is_weak)
    tracer = f"{out}_tracer"
    values = {"_trace": "trace", "val": out, "_element": code.constant(element), "aval": code.constant(element.aval)}
    code.lines.append(f"{tracer} = {code.constant(_new)}({code.constant(BatchTracer)})")
    code.lines += [f"{tracer}.{slot} = {value}" for slot, value in values.items()]
    return tracer


_new = object.__new__
operation_plans = Plans(plan_of)
