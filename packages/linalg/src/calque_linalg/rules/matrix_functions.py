"""Derivatives of the polar form and the square root, from the equations that define them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Zero, typeof
from calque_core.extend import defjvp, defjvp_all, defleading, not_linear, zero_tangent
from calque_core.lax import convert_element_type
from calque_linalg.ops.factor_slopes import polar_slope
from calque_linalg.ops.matrix_functions import polar_p, sqrtm_p
from calque_linalg.ops.sylvester import sylvester_solve

Value = Any
Results = tuple[list[Value], list[Value]]


def polar_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> Results:
    u, p = polar_p.bind(*primals)
    is_zero = type(tangents[0]) is Zero
    return [u, p], [zero_tangent(u), zero_tangent(p)] if is_zero else [*polar_slope(u, p, tangents[0])]


def sqrtm_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Solve r dr + dr r = dx."""
    return sylvester_solve(out, out, convert_element_type(x_dot, typeof(out).dtype))


defjvp_all(polar_p, polar_jvp)
defjvp(sqrtm_p, sqrtm_jvp)
not_linear(polar_p, sqrtm_p)
defleading(polar_p, sqrtm_p)
