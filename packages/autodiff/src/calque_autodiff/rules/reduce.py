"""The derivatives of reductions: a sum repeats its cotangent, a maximum shares it among the greatest elements."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, deflinear, not_linear, zero_derivative
from calque_core.extend import Shape, broadcast_reduced, extreme_weights
from calque_core.lax import (
    argmax_p,
    argmin_p,
    mul,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_sum,
    reduce_sum_p,
)

Value = Any


def extreme_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape) -> Value:
    """Average the tangents of the elements that equal the result."""
    return reduce_sum(mul(x_dot, extreme_weights(x, out, axes)), axes)


deflinear(reduce_sum_p, lambda ct, x, *, axes: [broadcast_reduced(ct, x.aval.shape, axes)])
defjvp(reduce_max_p, extreme_jvp)
defjvp(reduce_min_p, extreme_jvp)
not_linear(reduce_max_p, reduce_min_p)
zero_derivative(reduce_and_p, reduce_or_p, reason="the operands are bools or integers")

# Positions of extreme elements

zero_derivative(argmax_p, argmin_p, reason="the result is an integer")
