"""Batching a reduction by any function: the batch axis is not reduced.

A function with a mapped constant, or a mapped initial value, has no scalar program for all elements: then the
operations of the tree are batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import call_batched
from calque_core import Jaxpr, Primitive
from calque_core.extend import Shape, align_batch_axes, axes_in_batch, named_axes, split_reduction
from calque_core.lax import reduce_p

Value = Any
Dims = Sequence[int | None]
Params = dict[str, Any]


def def_by_function(primitive: Primitive, move: Callable[[int, Params], tuple[Params, int]]) -> None:
    """Define the rule of a reduction by a function of scalars.

    `move(bdim, params)` returns the parameters for operands with a batch axis at `bdim`, and its place in the results.
    """

    @primitive.def_rule("axis_batch")
    def batch(
        axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, num_consts: int, **params: Any
    ) -> tuple[list[Value], list[int | None]]:
        program: Params = {"jaxpr": jaxpr, "num_consts": num_consts}
        consts, operands, inits = split_reduction(args, num_consts)
        const_dims, operand_dims, init_dims = split_reduction(dims, num_consts)
        is_mapped = any(d is not None for d in (*const_dims, *init_dims))
        if is_mapped or axis.name in named_axes(program):
            tree = primitive.rules["decomposition"]
            return call_batched(lambda *values: tree(*values, **program, **params), axis, args, dims)
        operands, bdim = align_batch_axes(operands, operand_dims)
        moved, out_bdim = move(bdim, params)
        return primitive.bind(*consts, *operands, *inits, **program, **moved), [out_bdim] * len(operands)


def reduce_moved(bdim: int, params: Params) -> tuple[Params, int]:
    dimensions: Shape = axes_in_batch(params["dimensions"], bdim)
    return {"dimensions": dimensions}, bdim - sum(axis < bdim for axis in dimensions)


def_by_function(reduce_p, reduce_moved)
