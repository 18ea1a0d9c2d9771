"""Rules of systems of equations.

Derivatives: a x = b gives a dx = db - da x, one more system with the same matrix.  Batches: one matrix for all elements
gets the right-hand sides of all side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from calque_core import Primitive, UndefinedPrimal, Zero, add_tangents, moveaxis, typeof
from calque_core.extend import (
    align_batch_axes,
    check_known,
    defbatch,
    defjvp,
    defjvp_all,
    defleading,
    deftranspose,
    not_linear,
    zero_tangent,
)
from calque_core.lax import neg, reshape
from calque_linalg.ops.equations import inv_p, solve, solve_p
from calque_linalg.ops.matrices import matrix_product, transposed

Value = Any
Dims = Sequence[int | None]


def defsolution(primitive: Primitive, product: Callable[..., Value]) -> None:
    """Give the jvp rule of a system of equations, whose last operand is its right-hand side.

    `product(tangents, x, **params)` is the product of the operator's tangent with the solution; of the tangents of the
    operands before the last one, a tangent of zero is None.
    """

    def rule(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[Value, Value]:
        out = primitive.bind(*primals, **params)
        *operator_tangents, right = tangents
        known = [None if type(t) is Zero else t for t in operator_tangents]
        if any(t is not None for t in known):
            change = product(known, neg(out), **params)
            right = change if type(right) is Zero else add_tangents(right, change)
        is_zero = type(right) is Zero
        return out, zero_tangent(out) if is_zero else primitive.bind(*primals[:-1], right, **params)

    defjvp_all(primitive, rule)


def solve_product(tangents: Sequence[Value], out: Value, *, transpose_a: bool) -> Value:
    return matrix_product(transposed(tangents[0]) if transpose_a else tangents[0], out)


def solve_transpose(ct: Value, a: Value, b: UndefinedPrimal, *, transpose_a: bool) -> list[Value]:
    check_known(solve_p, a)
    return [None, solve(a, ct, transpose_a=not transpose_a)]


defsolution(solve_p, solve_product)
deftranspose(solve_p, solve_transpose)

defjvp(inv_p, lambda x_dot, out, x: matrix_product(neg(out), matrix_product(x_dot, out)))
not_linear(inv_p)


# Batches


def batched_solution(
    args: Sequence[Value], dims: Dims, solve_for: Callable[[Value, Value], Value], *, left_side: bool
) -> tuple[Value, int]:
    """Put the batch axis beside the free axis of b if a is one matrix, otherwise before the leading axes of both."""
    (a, b), (a_bdim, b_bdim) = args, dims
    if a_bdim is not None or b_bdim is None or typeof(a).ndim > 2:
        operands, _ = align_batch_axes(args, dims, 0)
        return solve_for(*operands), 0
    bdim = 1 if left_side else 0
    b = moveaxis(b, b_bdim, bdim)
    n, count = typeof(a).shape[0], prod(typeof(b).shape[bdim : bdim + 2])
    out = solve_for(a, reshape(b, (n, count) if left_side else (count, n)))
    return reshape(out, typeof(b).shape), bdim


def solve_batch(args: Sequence[Value], dims: Dims, *, transpose_a: bool) -> tuple[Value, int]:
    return batched_solution(args, dims, lambda a, b: solve(a, b, transpose_a=transpose_a), left_side=True)


defbatch(solve_p, solve_batch)
defleading(inv_p)
