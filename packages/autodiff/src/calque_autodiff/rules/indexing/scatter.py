"""The derivatives of writing windows at positions that are values.

Several updates of one element: of a replaced element, the last has the derivative; of a product, each has the product
of the other updates; of an extreme, equal updates share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_autodiff.rules.shapes.shape import typeof_operand
from calque_core import Primitive, Zero, instantiate_zeros, is_undefined_primal, typeof
from calque_core.engine import extreme_shares, product_of_others, read_windows
from calque_core.extend import Shape, check_known, defjvp, defjvp_all, deftranspose, not_linear, zero_tangent
from calque_core.lax import (
    eq,
    iota,
    mul,
    reshape,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    select,
    zeros_like,
)

Value = Any
Params = Any


def def_linear_but_indices(primitive: Primitive) -> None:
    """Say that a scatter is linear in operand and updates together."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Value], **params: Params) -> tuple[Value, Value]:
        out, (x_dot, _, u_dot) = primitive.bind(*primals, **params), tangents
        if type(x_dot) is Zero and type(u_dot) is Zero:
            return out, zero_tangent(out)
        return out, primitive.bind(instantiate_zeros(x_dot), primals[1], instantiate_zeros(u_dot), **params)

    defjvp_all(primitive, jvp)


# The last update, and the sum of updates

def_linear_but_indices(scatter_p)
def_linear_but_indices(scatter_add_p)


def is_last(x: Value, indices: Value, update_shape: Shape, params: dict[str, Any]) -> Value:
    """Tell which elements of the updates a `scatter` into `x` keeps: the last update, if several go to one place."""
    numbers = reshape(iota(np.int32, prod(update_shape)), update_shape)
    kept = scatter(zeros_like(x, np.int32), indices, numbers, **params)
    return eq(read_windows(kept, indices, update_shape, params, unread=-1), numbers)


def scatter_transpose(ct: Value, x: Value, indices: Value, updates: Value, **params: Params) -> list[Value]:
    """Return the cotangent with zeros in the windows, and the windows for the updates that were kept."""
    check_known(scatter_p, indices)
    shape = typeof_operand(updates).shape
    x_bar = u_bar = None
    if is_undefined_primal(x):
        x_bar = scatter(ct, indices, zeros_like(ct, shape=shape), **params)
    if is_undefined_primal(updates):
        u_bar = read_windows(ct, indices, shape, params)
        if not params["unique_indices"]:
            u_bar = select(is_last(ct, indices, shape, params), u_bar, zeros_like(u_bar))
    return [x_bar, None, u_bar]


def scatter_add_transpose(ct: Value, x: Value, indices: Value, updates: Value, **params: Params) -> list[Value]:
    """Return the cotangent, and its windows for the updates."""
    check_known(scatter_add_p, indices)
    u_bar = read_windows(ct, indices, typeof_operand(updates).shape, params) if is_undefined_primal(updates) else None
    return [ct if is_undefined_primal(x) else None, None, u_bar]


deftranspose(scatter_p, scatter_transpose)
deftranspose(scatter_add_p, scatter_add_transpose)

# Products


def scatter_mul_updates(u_dot: Value, out: Value, x: Value, indices: Value, updates: Value, **params: Params) -> Value:
    """Add to each element, for each of its updates, the tangent times all other factors."""
    others = mul(
        product_of_others(x, indices, updates, params), read_windows(x, indices, typeof(updates).shape, params)
    )
    return scatter_add(zeros_like(x), indices, mul(u_dot, others), **params)


def scatter_mul_transpose(ct: Value, x: Value, indices: Value, updates: Value, **params: Params) -> list[Value]:
    """Multiply the cotangent by the same updates: a product is linear in the old elements."""
    check_known(scatter_mul_p, indices, updates)
    return [scatter_mul(ct, indices, updates, **params), None, None]


defjvp(
    scatter_mul_p,
    lambda x_dot, out, x, indices, updates, **params: scatter_mul(x_dot, indices, updates, **params),
    None,
    scatter_mul_updates,
)
deftranspose(scatter_mul_p, scatter_mul_transpose)

# Extremes


def def_extreme(primitive: Primitive) -> None:
    """Give the derivative of a minimum or maximum with updates."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Value], **params: Params) -> tuple[Value, Value]:
        out, (x_dot, _, u_dot) = primitive.bind(*primals, **params), tangents
        if type(x_dot) is Zero and type(u_dot) is Zero:
            return out, zero_tangent(out)
        x_share, u_share = extreme_shares(primals, out, params)
        x_part = zeros_like(out) if type(x_dot) is Zero else mul(x_dot, x_share)
        if type(u_dot) is Zero:
            return out, x_part
        return out, scatter_add(x_part, primals[1], mul(u_dot, u_share), **params)

    defjvp_all(primitive, jvp)
    not_linear(primitive)


def_extreme(scatter_min_p)
def_extreme(scatter_max_p)
