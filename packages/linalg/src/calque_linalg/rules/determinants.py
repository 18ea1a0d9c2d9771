"""Derivatives of determinants, by adjugates, and of their logarithms, by inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import Zero, typeof
from calque_core.extend import defjvp, defjvp_all, defleading, not_linear, where, zero_tangent
from calque_core.lax import complex, imag, mul, real, reduce_sum, zeros_like
from calque_linalg.ops.adjugates import adjugate
from calque_linalg.ops.determinants import det_p, slogdet_p
from calque_linalg.ops.equations import inv
from calque_linalg.ops.matrices import transposed

Value = Any
Results = tuple[list[Value], list[Value]]


def trace_of_product(x: Value, y: Value) -> Value:
    """Return tr(x y)."""
    ndim = typeof(x).ndim
    return reduce_sum(mul(transposed(x), y), (ndim - 2, ndim - 1))


def slogdet_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> Results:
    """Return the parts of tr(x^-1 dx): its real part changes the logarithm, its imaginary part turns the sign.

    Raises: LinAlgError, in evaluation, for a singular matrix, whose logarithm has no derivative.
    """
    (x,), (x_dot,) = primals, tangents
    sign, logarithm = slogdet_p.bind(x)
    if type(x_dot) is Zero:
        return [sign, logarithm], [zero_tangent(sign), zero_tangent(logarithm)]
    try:
        inverse = inv(x)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            f"the derivative of slogdet of {typeof(x)}{where()}: the matrix is singular, so its logarithm is -inf and "
            "has no derivative. Use numpy.linalg.det, or add a multiple of the identity, such as 1e-10 * numpy.eye(n)."
        ) from None
    trace = trace_of_product(inverse, x_dot)
    if typeof(x).kind != "c":
        return [sign, logarithm], [zero_tangent(sign), trace]
    turn = imag(trace)
    return [sign, logarithm], [mul(sign, complex(zeros_like(turn), turn)), real(trace)]


# Jacobi's formula.  Source: Magnus & Neudecker (1988), Matrix differential calculus, section 8.3.
defjvp(det_p, lambda x_dot, out, x: trace_of_product(adjugate(x), x_dot))
defjvp_all(slogdet_p, slogdet_jvp)
not_linear(det_p, slogdet_p)
defleading(det_p, slogdet_p)
