"""The derivatives of reductions: a sum repeats its cotangent, a maximum shares it among the greatest elements."""

from __future__ import annotations

from math import prod
from typing import Any

from calque_autodiff.define import defjvp, deflinear, not_linear, zero_derivative
from calque_core import extend, typeof
from calque_core.extend import Shape, broadcast_reduced, extremes, zero_tangent
from calque_core.lax import (
    argmax_p,
    argmin_p,
    div,
    mul,
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
    is_extreme, count = extremes(x, out, axes)
    return div(reduce_sum(mul(x_dot, is_extreme), axes, keepdims=keepdims), count)


def reduce_prod_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape, **_: bool) -> Value:
    """Multiply each tangent by the product of the other elements."""
    shape = typeof(x).shape
    order = [*(d for d in range(len(shape)) if d not in axes), *axes]
    kept = [shape[d] for d in order[: len(shape) - len(axes)]]
    factors = reshape(x, (*kept, prod(shape[d] for d in axes)), order)
    # a late import: few programs multiply, and it brings loops
    others = extend.leave_one_out_products(factors, reshape(out, kept))
    changes = mul(reshape(x_dot, typeof(factors).shape, order), others)
    return reshape(reduce_sum(changes, len(kept)), typeof(out).shape)


deflinear(reduce_sum_p, lambda ct, x, *, axes, **_: [broadcast_reduced(ct, x.aval.shape, axes)])
defjvp(reduce_prod_p, reduce_prod_jvp)
defjvp(reduce_max_p, extreme_jvp)
defjvp(reduce_min_p, extreme_jvp)
not_linear(reduce_prod_p, reduce_max_p, reduce_min_p)
zero_derivative(reduce_and_p, reduce_or_p, reduce_xor_p, reason="the operands are bools or integers")

# Positions of extreme elements

zero_derivative(argmax_p, argmin_p, reason="the result is an integer")
