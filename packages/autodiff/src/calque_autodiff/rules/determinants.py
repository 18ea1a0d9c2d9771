"""Derivatives of determinants, by adjugates, and of adjugates."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, not_linear
from calque_core import typeof
from calque_core.extend import matrix_product, on_diagonal, transposed
from calque_core.lax import broadcast_in_dim, mul, reduce_sum, sub
from calque_core.lax.linalg import adjugate, adjugate_p, det_p, solve

Value = Any


def _trace_of_product(x: Value, y: Value) -> Value:
    """Return tr(x y)."""
    ndim = typeof(x).ndim
    return reduce_sum(mul(transposed(x), y), (ndim - 2, ndim - 1))


def adjugate_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Return (tr(out dx) - out dx) x^-1, which follows from out x = det(x) for matrices that are not singular."""
    product = matrix_product(out, x_dot)
    ndim = typeof(x).ndim
    trace = broadcast_in_dim(_trace_of_product(out, x_dot), typeof(x).shape, range(ndim - 2))
    right = sub(on_diagonal(trace, 0), product)
    return transposed(solve(x, transposed(right), transpose_a=True))


# Jacobi's formula.  Source: Magnus & Neudecker (1988), Matrix differential calculus, section 8.3.
defjvp(det_p, lambda x_dot, out, x: _trace_of_product(adjugate(x), x_dot))
defjvp(adjugate_p, adjugate_jvp)
not_linear(det_p, adjugate_p)
