"""The derivatives of reductions: a sum repeats its cotangent, a maximum shares it among the greatest elements."""

from __future__ import annotations

from math import prod
from typing import Any

from calque_autodiff.define import defjvp, deflinear, not_linear, zero_derivative
from calque_core import extend, lax, typeof
from calque_core.extend import Shape, broadcast_reduced, zero_tangent
from calque_core.lax import (
    argmax_p,
    argmin_p,
    div,
    mul,
    pad,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum,
    reduce_sum_p,
    reduce_xor_p,
    reshape,
)

Value = Any


def extreme_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape, keepdims: bool = False) -> Value:
    """Average the tangents of the elements that equal the result; an extreme of nothing is constant."""
    if not typeof(x).size:
        return zero_tangent(out)
    is_extreme, count = extend.extremes(x, out, axes)  # a late import: most reductions are sums
    return div(reduce_sum(mul(x_dot, is_extreme), axes, keepdims=keepdims), count)


def reduce_prod_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape, **_: bool) -> Value:
    """Multiply each tangent by the other elements, which the elements before and after it give without a division."""
    shape = typeof(x).shape
    order = [*(d for d in range(len(shape)) if d not in axes), *axes]
    kept = [shape[d] for d in order[: len(shape) - len(axes)]]
    factors = reshape(x, (*kept, prod(shape[d] for d in axes)), order)
    others = mul(product_before(factors), product_after(factors))
    changes = mul(reshape(x_dot, typeof(factors).shape, order), others)
    return reshape(reduce_sum(changes, len(kept)), typeof(out).shape)


def product_before(x: Value) -> Value:
    """Return, for each element, the product of the elements before it along the last axis."""
    return lax.cumprod(moved(x, 1), typeof(x).ndim - 1)  # a late import: few programs multiply, and it brings loops


def product_after(x: Value) -> Value:
    """Return, for each element, the product of the elements after it along the last axis."""
    return lax.cumprod(moved(x, -1), typeof(x).ndim - 1, reverse=True)


def moved(x: Value, places: int) -> Value:
    """Return the elements moved along the last axis, with ones in the places that become free."""
    no_axis = [(0, 0, 0)] * (typeof(x).ndim - 1)
    return pad(x, typeof(x).dtype.type(1), [*no_axis, (places, -places, 0)])


deflinear(reduce_sum_p, lambda ct, x, *, axes, **_: [broadcast_reduced(ct, x.aval.shape, axes)])
defjvp(reduce_prod_p, reduce_prod_jvp)
defjvp(reduce_max_p, extreme_jvp)
defjvp(reduce_min_p, extreme_jvp)
not_linear(reduce_prod_p, reduce_max_p, reduce_min_p)
zero_derivative(reduce_and_p, reduce_or_p, reduce_xor_p, reason="the operands are bools or integers")

# Positions of extreme elements

zero_derivative(argmax_p, argmin_p, reason="the result is an integer")
