"""Reductions and products: unions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import lax
from calque_sparse.detection import Operand, Products, no_pairs
from calque_sparse.rules.elementwise import cut, is_zero
from calque_sparse.sets import Ids, Sets

PRODUCTS_AT_ONCE = 1 << 21  # elements of a product of matrices before its sum

for primitive in (lax.reduce_max_p, lax.reduce_min_p, lax.cummax_p, lax.cummin_p):
    primitive.def_rule("sparsity_pairs", no_pairs)


def reduce_sparsity(sets: Sets, x: Operand, *, axes: Any, keepdims: bool = False, **params: Any) -> Ids:
    return sets.union_over(x.ids, axes, keepdims=keepdims)


for primitive in (lax.reduce_sum_p, lax.reduce_prod_p, lax.reduce_max_p, lax.reduce_min_p):
    primitive.def_rule("sparsity", reduce_sparsity)


def cumulative_sparsity(sets: Sets, x: Operand, *, axis: int, reverse: bool, **params: Any) -> Ids:
    """Return the union with all elements before.  Each pass doubles how far back a set reaches."""
    ids = np.moveaxis(x.ids, axis, 0)[:: -1 if reverse else 1]
    reach = 1
    while reach < len(ids):
        ids = np.concatenate([ids[:reach], sets.union(ids[reach:], ids[:-reach])])
        reach *= 2
    return np.moveaxis(ids[:: -1 if reverse else 1], 0, axis)


for primitive in (lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p, lax.cumlogsumexp_p):
    primitive.def_rule("sparsity", cumulative_sparsity)


# Products of matrices


def as_factors(x: Operand, y: Operand, dimension_numbers: Any) -> tuple[Operand, Operand, tuple[int, ...]]:
    """Return the operands with axes [batch, rows, 1, contracted] and [batch, 1, columns, contracted].

    The third result is the shape of the product.
    """
    (x_sum, y_sum), (x_batch, y_batch) = dimension_numbers
    x_free = [axis for axis in range(x.aval.ndim) if axis not in (*x_sum, *x_batch)]
    y_free = [axis for axis in range(y.aval.ndim) if axis not in (*y_sum, *y_batch)]
    shape = [x.aval.shape[axis] for axis in (*x_batch, *x_free)] + [y.aval.shape[axis] for axis in y_free]
    return laid(x, x_batch, x_free, (), x_sum), laid(y, y_batch, (), y_free, y_sum), tuple(shape)


def laid(x: Operand, *groups: Sequence[int]) -> Operand:
    """Return the operand with one axis for each group of axes."""
    order = [axis for group in groups for axis in group]
    shape = [int(np.prod([x.aval.shape[axis] for axis in group], dtype=int)) for group in groups]
    ids = np.transpose(x.ids, order).reshape(shape)
    return x._replace(layers=(ids,), value=np.transpose(x.value, order).reshape(shape) if x.is_known else x.value)


def side_sparsity(sets: Sets, x: Operand, other: Operand) -> Ids:
    """Return what a product depends on through one factor, less where the other factor is known to be zero."""
    zeros = is_zero(other)
    if zeros.any() and np.broadcast(x.ids, other.ids).size <= PRODUCTS_AT_ONCE:
        return sets.union_over(cut(x, zeros), [3])
    return sets.union_over(x.ids, [3])


@lax.dot_general_p.def_rule("sparsity")
def dot_general_sparsity(sets: Sets, x: Operand, y: Operand, *, dimension_numbers: Any, **params: Any) -> Ids:
    x, y, shape = as_factors(x, y, dimension_numbers)
    full = np.broadcast_shapes(x.ids.shape, y.ids.shape)[:3]
    return np.broadcast_to(sets.union(side_sparsity(sets, x, y), side_sparsity(sets, y, x)), full).reshape(shape)


@lax.dot_general_p.def_rule("sparsity_pairs")
def dot_general_pairs(products: Products, x: Operand, y: Operand, *, dimension_numbers: Any, **params: Any) -> Ids:
    """Return the products of elements that are multiplied; of large matrices, those of a row and a column."""
    x, y, shape = as_factors(x, y, dimension_numbers)
    if np.broadcast(x.ids, y.ids).size <= PRODUCTS_AT_ONCE:
        return products.as_sets.union_over(products.of(x.ids, y.ids), [3]).reshape(shape)
    return products.of(products.sets.union_over(x.ids, [3]), products.sets.union_over(y.ids, [3])).reshape(shape)
