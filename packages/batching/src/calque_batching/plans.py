"""Plans: the batching rule of an operation as straight-line code, made once per types.

One idea: a rule gives the same operations for all operands of the same types and batch axes.  So the rule is traced
once, and later calls run its program as a Python function of whole arrays, without the rule.

An error is left to the rules, whose messages name the place.
Read next: `batch_trace.py`, which runs plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_core import Primitive, Var, eval_context, jaxprs_in_params, rule_epoch, stage, typeof
from calque_core.extend import Plans, StraightLine, is_straight, traced_type

Value = Any


class Plan(NamedTuple):
    """A primitive on operands of known types and batch axes.

    `run(*arrays)` returns a tuple of the whole results; `dims` holds their batch axes, None for a result without one,
    and `avals` the types of one element.
    """

    run: Callable[..., Any]
    dims: Sequence[int | None]
    avals: Sequence[Any]


def plan_of(
    size: int, primitive: Primitive, arrays: Sequence[Value], avals: Sequence[Any], dims: Any, params: dict[str, Any]
) -> Plan | None:
    """Return the plan of a primitive on arrays with batch axes `dims` of `size`; None if its rule has to run.

    `avals` are the types of one element of each operand.

    >>> import numpy as np
    >>> from calque_core.lax import neg_p
    >>> plan = plan_of(2, neg_p, [np.ones((2, 3))], [typeof(np.ones(3))], [0], {})
    >>> plan.run(np.ones((1, 2))), plan.dims, plan.avals
    ((array([[-1., -1.]]),), [0], [float64[3]])
    """
    rules = primitive.adapted
    if rules["axis_batch"] is not None or rules["batch"] is None or next(jaxprs_in_params(params), None) is not None:
        return None
    try:
        with eval_context():
            return _plan(size, primitive, arrays, avals, dims, params)
    except Exception:  # noqa: BLE001  the rule raises it again, in its own words
        return None


def _plan(
    size: int, primitive: Primitive, arrays: Sequence[Value], avals: Sequence[Any], dims: Any, params: dict[str, Any]
) -> Plan | None:
    out_dims: list[int | None] = []

    def batched(*operands: Value) -> Sequence[Value]:
        outs, out_dims[:] = primitive.adapted["batch"](operands, dims, **params)
        return outs  # type: ignore[no-any-return]

    program = stage(batched, [typeof(x) for x in arrays], verb="vmap")
    elements = [
        aval if d is None else _element(v.aval, d, size, aval.weak_type)
        for v, d, aval in zip(program.outvars, out_dims, primitive.abstract(*avals, **params))
    ]
    # A result that is an operand or a constant is left to the rule: two results never share memory by accident.
    made = {v for eqn in program.eqns for v in eqn.outvars}
    if not is_straight(program) or program.consts or not all(type(v) is Var and v in made for v in program.outvars):
        return None
    code = StraightLine()
    arguments = code.arguments(program.invars)
    results = "".join(f"{name}, " for name in code.results(program))
    return Plan(code.function(arguments, f"({results})"), out_dims, elements)


def _element(aval: Any, dim: int, size: int, weak_type: bool) -> Any:
    """Return the type of one element of a result; refuse a rule that misplaces the batch axis."""
    assert aval.shape[dim] == size, (aval, dim, size)
    return traced_type(aval.shape[:dim] + aval.shape[dim + 1 :], aval.dtype, weak_type)


_current: list[Any] = [-1, Plans(plan_of)]


def current_plans() -> Plans[Plan]:
    """Return the plans that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(plan_of)]
    return _current[1]  # type: ignore[no-any-return]
