"""Batching functions with rules of their own: their programs and derivative rules run on whole batches.

A function with a rule for batches is the result of this rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_batching.verbs.custom import CustomBatch
from calque_core import CustomRules, Jaxpr, Primitive, current_trace, jaxpr_as_fun, typeof
from calque_core.extend import Pullback, named_axes
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p, custom_vmap_call_p, squeeze
from calque_core.lax import slice as slice_of

Value = Any
Dims = Sequence[int | None]


def custom_batch(primitive: Primitive) -> Any:
    """Return the batching rule of one of the three primitives.

    It takes the function as a program, `jaxpr`, or during a call as `fun`, with the `tag` of the trace whose tracers
    the function may close over.  A result that a collective makes equal for all elements has no batch axis; derivative
    rules see it with one, as for every result, because their cotangents have one.
    """

    def batch(
        axis: AxisData, args: Sequence[Value], dims: Dims, *, rules: CustomRules, **program: Any
    ) -> tuple[list[Value], list[int | None]]:
        call = CustomBatch(axis, dims, program.get("tag"))
        fun = program["fun"] if "fun" in program else jaxpr_as_fun(program["jaxpr"])
        batch_rule = rules.batch if any(d is not None for d in dims) else None
        if not rules.has_derivative:
            return call.by_operations(fun, args) if batch_rule is None else call.by_rule(batch_rule, args)
        whole = partial(call.function, fun) if batch_rule is None else partial(call.whole_by_rule, batch_rule)
        params = {"rules": call.rules(rules)}
        outs = current_trace().process_custom_derivative(primitive, whole, args, params)
        if batch_rule is not None or axis.name is None or not axis.size:
            return outs, [0] * len(outs)
        out_dims = call.out_dims if "fun" in program else _dims_of_program(program["jaxpr"], axis, dims)
        is_reduced = [False] * len(outs) if out_dims is None else [dim is None for dim in out_dims]
        return [_first(x) if r else x for x, r in zip(outs, is_reduced)], [None if r else 0 for r in is_reduced]

    return batch


def _dims_of_program(jaxpr: Jaxpr, axis: AxisData, dims: Dims) -> Dims | None:
    """Return the batch dimensions of the results if a collective may remove the batch axis, else None."""
    return batch_jaxpr_axes(jaxpr, axis, dims)[1] if axis.name in named_axes({"jaxpr": jaxpr}) else None


def _first(x: Value) -> Value:
    """Return the first of equal elements."""
    shape = typeof(x).shape
    return squeeze(slice_of(x, (0,) * len(shape), (1, *shape[1:])), (0,))


for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p):
    _primitive.def_rule("axis_batch", custom_batch(_primitive))


@custom_vjp_linear_p.def_rule("axis_batch")
def custom_vjp_linear_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, pullback: Pullback
) -> tuple[list[Value], list[int | None]]:
    """Run on whole batches; all results have the batch axis in front."""
    call = CustomBatch(axis, dims)
    batched = pullback._replace(
        fun=partial(call.function, pullback.fun),
        transpose=partial(call.transpose, pullback.transpose),
        out_avals=tuple(map(call.batched_aval, pullback.out_avals)),
    )
    outs = custom_vjp_linear_p.bind(*args, pullback=batched)
    return outs, [0] * len(outs)
