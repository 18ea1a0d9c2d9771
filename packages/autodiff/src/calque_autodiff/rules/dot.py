"""The derivative of a contraction: it is linear in each operand, and its transposes are contractions again."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defbilinear
from calque_autodiff.rules.shape import inverse
from calque_core import UndefinedPrimal, typeof
from calque_core.extend import Shape
from calque_core.lax import DotDimensionNumbers, Precisions, convert_element_type, dot_general, dot_general_p, transpose

Value = Any
Sides = tuple[Shape, Shape]


def operand_cotangent(
    ct: Value,
    x: UndefinedPrimal,
    y: Value,
    contract: Sides,
    batch: Sides,
    ct_axes: tuple[list[int], list[int]],
    precision: Precisions | None,
) -> Value:
    """Return the cotangent of `x`, from the contracted and batched axes of x and of y.

    `ct_axes` are the batch axes of `ct`, and its axes that came from y.  Contracting the axes from y leaves the batch
    axes, the free axes of x, and the contracted axes in the order of y.
    """
    (x_contract, y_contract), (x_batch, y_batch) = contract, batch
    x_free = free_axes(x.aval.ndim, x_contract, x_batch)
    y_free = free_axes(typeof(y).ndim, y_contract, y_batch)
    ct_batch, ct_free = ct_axes
    if typeof(ct).dtype.itemsize > typeof(y).dtype.itemsize:  # sums in a wider dtype, which 8 bits do not promote to
        y = convert_element_type(y, typeof(ct).dtype)
    product = dot_general(ct, y, ((ct_free, y_free), (ct_batch, y_batch)), precision)
    axes_of_x = [*x_batch, *x_free, *(axis for _, axis in sorted(zip(y_contract, x_contract)))]
    return convert_element_type(transpose(product, inverse(tuple(axes_of_x))), x.aval.dtype)


def free_axes(ndim: int, contract: Shape, batch: Shape) -> list[int]:
    """Return the axes that are neither contracted nor batched."""
    return [axis for axis in range(ndim) if axis not in contract and axis not in batch]


def dot_general_transpose_lhs(
    ct: Value,
    lhs: UndefinedPrimal,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Precisions | None,
    **params: Any,
) -> Value:
    """Contract the free axes of rhs away; `ct` has the batch axes, the free axes of lhs, the free axes of rhs."""
    contract, batch = dimension_numbers
    ndim, n_batch = typeof(ct).ndim, len(batch[0])
    n_lhs = n_batch + len(free_axes(lhs.aval.ndim, contract[0], batch[0]))
    ct_axes = (list(range(n_batch)), list(range(n_lhs, ndim)))
    return operand_cotangent(ct, lhs, rhs, contract, batch, ct_axes, precision)


def dot_general_transpose_rhs(
    ct: Value,
    lhs: Value,
    rhs: UndefinedPrimal,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Precisions | None,
    **params: Any,
) -> Value:
    """Contract the free axes of lhs away: as for lhs, with the operands exchanged."""
    contract, batch = dimension_numbers
    n_batch = len(batch[0])
    n_lhs = n_batch + len(free_axes(typeof(lhs).ndim, contract[0], batch[0]))
    sides = ((contract[1], contract[0]), (batch[1], batch[0]))
    ct_axes = (list(range(n_batch)), list(range(n_batch, n_lhs)))
    return operand_cotangent(ct, rhs, lhs, *sides, ct_axes, precision and precision[::-1])


defbilinear(dot_general_p, dot_general_transpose_lhs, dot_general_transpose_rhs)
