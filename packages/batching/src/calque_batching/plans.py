"""Plans: the batching rule of an operation as straight-line code, made once per types.

One idea: a rule gives the same operations for all operands of the same types and batch axes.  So the rule is traced
once, and later calls run its program as a Python function of whole arrays, without the rule.

An error is left to the rules, whose messages name the place.
Read next: `batch_trace.py`, which runs plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_batching.batch_tracer import BatchTracer, element_of
from calque_core import Jaxpr, Primitive, Var, eval_context, jaxprs_in_params, rule_epoch, stage, typeof
from calque_core.extend import SCALAR_TYPES, Plans, StraightLine, is_straight

Value = Any
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
    rules = primitive.adapted
    if rules["axis_batch"] is not None or rules["batch"] is None or next(jaxprs_in_params(params), None) is not None:
        return None
    mask = [trace.owns(x) for x in args]
    classes = {type(x.val if m else x) for x, m in zip(args, mask)}
    if not any(mask) or not classes <= _PLAIN:
        return None
    try:
        with eval_context():
            return _plan(trace, primitive, args, mask, params)
    except Exception:  # noqa: BLE001  the rule raises it again, in its own words
        return None


_PLAIN = {np.ndarray, *SCALAR_TYPES}


def _plan(
    trace: Any, primitive: Primitive, args: Sequence[Value], mask: Sequence[bool], params: dict[str, Any]
) -> Plan | None:
    vals, dims = trace.split(args)
    out_dims: list[int | None] = []

    def batched(*operands: Value) -> Sequence[Value]:
        outs, out_dims[:] = primitive.adapted["batch"](operands, dims, **params)
        return outs  # type: ignore[no-any-return]

    program = stage(batched, [typeof(x) for x in vals], verb="vmap")
    # A result that is an operand or a constant is left to the rule: two results never share memory by accident.
    made = {v for eqn in program.eqns for v in eqn.outvars}
    if not is_straight(program) or program.consts or not all(type(v) is Var and v in made for v in program.outvars):
        return None
    weak = [aval.weak_type for aval in primitive.abstract(*map(typeof, args), **params)]
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
_current: list[Any] = [-1, Plans(plan_of)]


def current_plans() -> Plans[Plan]:
    """Return the plans that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(plan_of)]
    return _current[1]  # type: ignore[no-any-return]
