"""Taylor rules of the polar form and the square root, from the equations that define them.

One idea: without the products of coefficients below k, coefficient k of the product is linear in coefficient k of the
factors, by the same equation as the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.lax import convert_element_type
from calque_jet.series import Result, Series, instantiate, minus
from calque_linalg.ops.factor_slopes import polar_slope
from calque_linalg.ops.matrices import adjoint
from calque_linalg.ops.matrix_functions import polar_p, sqrtm_p
from calque_linalg.ops.sylvester import sylvester_solve
from calque_linalg.series.factorizations import inner_products

Value = Any
Results = tuple[list[Value], list[Series]]


@polar_p.def_rule("jet")
def polar_jet(primals: Sequence[Value], series: Sequence[Series]) -> Results:
    """Solve Uk P0 + U0 Pk = xk - U1 P[k-1] - ... and U0^H Uk + Uk^H U0 = -U1^H U[k-1] - ..."""
    (x,), (xs,) = primals, series
    u, p = polar_p.bind(x)
    us: Series = [u]
    ps: Series = [p]
    for k, c in enumerate(xs, 1):
        change = minus(c, inner_products(us, ps, k))
        excess = inner_products([None if f is None else adjoint(f) for f in us], us, k)
        is_zero = change is None and excess is None
        slopes = (None, None) if is_zero else polar_slope(u, p, instantiate(x, change), excess)
        us.append(slopes[0])
        ps.append(slopes[1])
    return [u, p], [us[1:], ps[1:]]


@sqrtm_p.def_rule("jet")
def sqrtm_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve R0 Rk + Rk R0 = xk - R1 R[k-1] - ..."""
    (x,), (xs,) = primals, series
    out = sqrtm_p.bind(x)
    roots: Series = [out]
    for k, c in enumerate(xs, 1):
        x_k = None if c is None else convert_element_type(c, typeof(out).dtype)
        change = minus(x_k, inner_products(roots, roots, k))
        roots.append(None if change is None else sylvester_solve(out, out, change))
    return out, roots[1:]
