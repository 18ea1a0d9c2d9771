"""The derivative of an updated factor, which is that of the factor of the updated matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Zero, add_tangents
from calque_core.extend import defjvp_all, defleading, not_linear, zero_tangent
from calque_core.lax import add, expand_dims
from calque_linalg.ops.factor_slopes import cholesky_slope
from calque_linalg.ops.factor_updates import cholesky_update_p, factor_triangle
from calque_linalg.ops.matrices import adjoint, matrix_product

Value = Any


def cholesky_update_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
    """Let s^H s change by r^H dr + dr^H r + w dw^H + dw w^H."""
    (r, w), (r_dot, w_dot) = primals, tangents
    out = cholesky_update_p.bind(r, w)
    terms = []
    if type(r_dot) is not Zero:
        terms.append(matrix_product(adjoint(factor_triangle(r)), factor_triangle(r_dot)))
    if type(w_dot) is not Zero:
        terms.append(matrix_product(expand_dims(w, (-1,)), adjoint(expand_dims(w_dot, (-1,)))))
    if not terms:
        return out, zero_tangent(out)
    half = terms[0] if len(terms) == 1 else add_tangents(*terms)
    return out, adjoint(cholesky_slope(adjoint(out), add(half, adjoint(half))))


defjvp_all(cholesky_update_p, cholesky_update_jvp)
not_linear(cholesky_update_p)
defleading(cholesky_update_p)
