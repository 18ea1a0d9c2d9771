"""Derivatives of determinants, by adjugates, and of their logarithms, by inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.define import defjvp, defjvp_all, not_linear
from calque_core import Zero, typeof
from calque_core.extend import transposed, zero_tangent
from calque_core.lax import complex, imag, mul, real, reduce_sum, zeros_like
from calque_core.lax.linalg import adjugate, det_p, inv, slogdet_p

Value = Any
Results = tuple[list[Value], list[Value]]


def trace_of_product(x: Value, y: Value) -> Value:
    """Return tr(x y)."""
    ndim = typeof(x).ndim
    return reduce_sum(mul(transposed(x), y), (ndim - 2, ndim - 1))


def slogdet_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> Results:
    """Return the parts of tr(x^-1 dx): its real part changes the logarithm, its imaginary part turns the sign."""
    (x,), (x_dot,) = primals, tangents
    sign, logarithm = slogdet_p.bind(x)
    if type(x_dot) is Zero:
        return [sign, logarithm], [zero_tangent(sign), zero_tangent(logarithm)]
    trace = trace_of_product(inv(x), x_dot)
    if typeof(x).kind != "c":
        return [sign, logarithm], [zero_tangent(sign), trace]
    turn = imag(trace)
    return [sign, logarithm], [mul(sign, complex(zeros_like(turn), turn)), real(trace)]


# Jacobi's formula.  Source: Magnus & Neudecker (1988), Matrix differential calculus, section 8.3.
defjvp(det_p, lambda x_dot, out, x: trace_of_product(adjugate(x), x_dot))
defjvp_all(slogdet_p, slogdet_jvp)
not_linear(det_p, slogdet_p)
