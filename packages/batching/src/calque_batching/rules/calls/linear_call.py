"""Batching linear functions: one call for the whole batch, with the linear operands and the results mapped.

One idea: a program and its transpose fit if an operand is mapped exactly when its cotangent is; so all operands are
mapped, and only residuals may be the same for every element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import bdim_at_front
from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr
from calque_core.lax import linear_call_p, linear_transpose_p

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]


def batch_mapped(jaxpr: Jaxpr, axis: AxisData, fixed_dims: Dims) -> Jaxpr:
    """Return the program of a whole batch: its results are mapped, and all arguments after `fixed_dims`."""
    dims = [*fixed_dims, *[0] * (len(jaxpr.invars) - len(fixed_dims))]
    return batch_jaxpr_axes(jaxpr, axis, dims, [True] * len(jaxpr.outvars))[0]


def in_front(axis: AxisData, args: Sequence[Value], dims: Dims) -> list[Value]:
    """Return the operands with their batch axes in front; an unmapped operand is broadcast."""
    return [bdim_at_front(x, d, axis.size) for x, d in zip(args, dims)]


def linear_call_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, callee: Jaxpr, transpose: Jaxpr, num_res: int
) -> Batch:
    """Batch both programs."""
    fixed_dims = dims[:num_res]
    outs = linear_call_p.bind(
        *args[:num_res],
        *in_front(axis, args[num_res:], dims[num_res:]),
        callee=batch_mapped(callee, axis, fixed_dims),
        transpose=batch_mapped(transpose, axis, fixed_dims),
        num_res=num_res,
    )
    return outs, [0] * len(outs)


linear_call_p.def_rule("axis_batch", linear_call_batch)


def linear_transpose_batch(axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, num_res: int) -> Batch:
    """Batch the program before its transposition."""
    cts = in_front(axis, args[num_res:], dims[num_res:])
    batched = batch_mapped(jaxpr, axis, dims[:num_res])
    outs = linear_transpose_p.bind(*args[:num_res], *cts, jaxpr=batched, num_res=num_res)
    return outs, [0] * len(outs)


linear_transpose_p.def_rule("axis_batch", linear_transpose_batch)
