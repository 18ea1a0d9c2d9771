"""Batching `custom_linear_solve`: one equation for the whole batch, with every vector mapped.

One idea: operator and solvers map vectors to vectors, so all vectors have their batch axis in front; a captured value
has a batch axis only if it is mapped.  The factorisation of an operator that is the same for all elements is computed
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_batching.rules.calls.linear_call import batch_mapped, in_front
from calque_core import Jaxpr, Primitive
from calque_core.lax import custom_linear_solve_p

Value = Any
Dims = Sequence[int | None]


def equation_batch(
    primitive: Primitive,
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    solve: Jaxpr,
    num_consts: int,
    **programs: Jaxpr | None,
) -> tuple[list[Value], list[int | None]]:
    """Batch all programs of an equation; an auxiliary result that depends on no mapped operand stays unmapped."""
    consts, const_dims, size = args[:num_consts], dims[:num_consts], len(args) - num_consts
    is_vector = [i < size for i in range(len(solve.outvars))]
    batched_solve, out_dims = batch_jaxpr_axes(solve, axis, [*const_dims, *[0] * size], is_vector)
    batched = {name: program and batch_mapped(program, axis, const_dims) for name, program in programs.items()}
    vectors = in_front(axis, args[num_consts:], dims[num_consts:])
    return primitive.bind(*consts, *vectors, solve=batched_solve, num_consts=num_consts, **batched), out_dims


custom_linear_solve_p.def_rule("axis_batch", partial(equation_batch, custom_linear_solve_p))
