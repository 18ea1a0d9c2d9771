"""Batching functions with derivative rules of their own: their programs and rules run on whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_batching.verbs.custom import CustomBatch
from calque_core import CustomRules, Jaxpr, Primitive, current_trace, jaxpr_as_fun, typeof
from calque_core.extend import LinearCall, merged, named_axes
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p, squeeze
from calque_core.lax import slice as slice_of

Value = Any
Dims = Sequence[int | None]


def custom_batch(primitive: Primitive) -> Any:
    """Return the batching rule of one of the two primitives.

    It takes the function as a program, `jaxpr`, or during a call as `fun`, with the `tag` of the trace whose tracers
    the function may close over.  A result that a collective makes equal for all elements has no batch axis; the rules
    see it with one, as for every result, because their cotangents have one.
    """

    def batch(
        axis: AxisData, args: Sequence[Value], dims: Dims, *, rules: CustomRules, **program: Any
    ) -> tuple[list[Value], list[int | None]]:
        call = CustomBatch(axis, dims, program.get("tag"))
        fun = program["fun"] if "fun" in program else jaxpr_as_fun(program["jaxpr"])
        params = {"rules": call.rules(rules)}
        batch_rule = rules.batch if any(d is not None for d in dims) else None
        outs = current_trace().process_custom_derivative(primitive, call.function(fun, batch_rule), args, params)
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


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_rule("axis_batch", custom_batch(_primitive))


@custom_vjp_linear_p.def_rule("axis_batch")
def custom_vjp_linear_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, call: LinearCall
) -> tuple[list[Value], list[int | None]]:
    """Run on whole batches.  A primal and its tangent are mapped together, along axis 0."""
    count, start = call.num_residuals, call.num_residuals + call.num_primals
    primals = list(zip(args[count:start], dims[count:start])) or [(None, None)] * len(call.mask)
    tangents = merged(call.mask, zip(args[start:], dims[start:]), repeat((None, None)))
    is_mapped = [d is not None or t is not None for (_, d), (_, t) in zip(primals, tangents)]
    batch = CustomBatch(axis, [0 if m else None for m in is_mapped])

    def aligned(pairs: Sequence[tuple[Value, int | None]]) -> list[Value]:
        return [matchaxis(x, d, 0, axis.size) if m else x for (x, d), m in zip(pairs, is_mapped) if x is not None]

    rules, bwd = batch.rules(call.rules), batch.bwd(call.bwd, dims[:count])
    out_avals = tuple(map(batch.batched_aval, call.out_avals))
    batched_call = LinearCall(rules, bwd, call.num_residuals, call.num_primals, call.mask, out_avals)
    outs = custom_vjp_linear_p.bind(*args[:count], *aligned(primals), *aligned(tangents), call=batched_call)
    return outs, [0] * len(outs)
