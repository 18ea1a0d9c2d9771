"""The derivative of a contraction: it is linear in each operand, and its transposes are contractions again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from calque_core import UndefinedPrimal, typeof
from calque_core.engine import swapped_precision
from calque_core.extend import Shape, defbilinear
from calque_core.lax import (
    DotDimensionNumbers,
    ProductPrecision,
    convert_element_type,
    dot_general,
    dot_general_p,
    transpose,
)

Value = Any
Pair = tuple[Shape, Shape]


CotangentPlan = tuple[DotDimensionNumbers, bool, Shape]
"""How the cotangent of an operand comes of the result's cotangent and the other operand.

They are contracted with the dimension numbers, the result's cotangent on the left unless the flag says that the other
operand is; then the axes of the product are permuted.
"""


@lru_cache(maxsize=4096)
def cotangent_plan(x_ndim: int, y_ndim: int, contract: Pair, batch: Pair, x_is_left: bool) -> CotangentPlan:
    """Return the plan for the operand x beside y, from the contracted and batched axes of x and of y.

    The cotangent `ct` has the batch axes, the free axes of the left operand, then of the right one.  Contracting the
    axes from y leaves the batch axes, the free axes of x, and the contracted axes in the order of y; with y on the
    left, the free axes of x come last.

    >>> cotangent_plan(2, 2, ((0,), (1,)), ((), ()), False)  # of y, in dot(x, y)
    ((((0,), (0,)), ((), ())), True, (0, 1))
    """
    (x_contract, y_contract), (x_batch, y_batch) = contract, batch
    x_free, y_free = free_axes(x_ndim, x_contract, x_batch), free_axes(y_ndim, y_contract, y_batch)
    before_y = len(batch[0]) + len(x_free) * x_is_left
    ct_batch, ct_free = tuple(range(len(batch[0]))), tuple(range(before_y, before_y + len(y_free)))
    contracted = tuple(axis for _, axis in sorted(zip(y_contract, x_contract)))
    y_first = (*x_batch, *contracted, *x_free)
    if y_first == tuple(range(x_ndim)):  # as for the weights of a dense layer: no permutation is left
        return ((y_free, ct_free), (y_batch, ct_batch)), True, y_first
    order = (*x_batch, *x_free, *contracted)
    permutation = tuple(sorted(range(x_ndim), key=order.__getitem__))  # undoes the order
    return ((ct_free, y_free), (ct_batch, y_batch)), False, permutation


def free_axes(ndim: int, contract: Shape, batch: Shape) -> Shape:
    """Return the axes that are neither contracted nor batched."""
    return tuple(axis for axis in range(ndim) if axis not in contract and axis not in batch)


def operand_cotangent(
    ct: Value, x: UndefinedPrimal, y: Value, plan: CotangentPlan, precisions: ProductPrecision | None
) -> Value:
    """Return the cotangent of `x`; `precisions` are those of x, in whose place `ct` is, and of y."""
    if typeof(ct).dtype.itemsize > typeof(y).dtype.itemsize:  # sums in a wider dtype, which 8 bits do not promote to
        y = convert_element_type(y, typeof(ct).dtype)
    numbers, other_is_left, permutation = plan
    if other_is_left:
        product = dot_general(y, ct, numbers, swapped_precision(precisions))
    else:
        product = dot_general(ct, y, numbers, precisions)
    return convert_element_type(transpose(product, permutation), x.aval.dtype)


def dot_general_transpose_lhs(
    ct: Value,
    lhs: UndefinedPrimal,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: ProductPrecision | None,
    **params: Any,
) -> Value:
    """Contract the free axes of rhs away."""
    contract, batch = dimension_numbers
    plan = cotangent_plan(lhs.aval.ndim, typeof(rhs).ndim, contract, batch, True)
    return operand_cotangent(ct, lhs, rhs, plan, precision)


def dot_general_transpose_rhs(
    ct: Value,
    lhs: Value,
    rhs: UndefinedPrimal,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: ProductPrecision | None,
    **params: Any,
) -> Value:
    """Contract the free axes of lhs away: as for lhs, with the operands exchanged."""
    contract, batch = dimension_numbers
    plan = cotangent_plan(rhs.aval.ndim, typeof(lhs).ndim, contract[::-1], batch[::-1], False)
    return operand_cotangent(ct, rhs, lhs, plan, swapped_precision(precision))


defbilinear(dot_general_p, dot_general_transpose_lhs, dot_general_transpose_rhs)
