"""The derivatives of the reductions over named axes.

A sum over the elements is linear, and its own transpose: each element contributes to the result of all elements, so the
cotangents of all of them are summed for each.  The tangent of a maximum is the mean over the elements that reach it.  A
value that is the same for all elements has one cotangent: the sum of the cotangents of the elements' own values.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from calque_autodiff.define import defjvp, deflinear, not_linear
from calque_core import typeof
from calque_core.lax import axis_index_p, convert_element_type, div, eq, mul, pmax_p, pmin_p, psum, psum_p, pvary_p

Value = Any


def extreme_jvp(x_dot: Value, out: Value, x: Value, *, axes: tuple[Hashable, ...]) -> Value:
    """Return the mean of the tangents of the elements whose value is the result."""
    is_extreme = convert_element_type(eq(x, out), typeof(x).dtype)
    return psum(mul(x_dot, div(is_extreme, psum(is_extreme, axes))), axes)


deflinear(psum_p, lambda ct, x, *, axes: [psum(ct, axes)])
defjvp(pmax_p, extreme_jvp)
defjvp(pmin_p, extreme_jvp)
not_linear(pmax_p, pmin_p)

deflinear(pvary_p, lambda ct, x, *, axes: [psum(ct, axes)])

axis_index_p.def_hole("jvp", "it has no operands")
axis_index_p.def_hole("transpose", "it has no operands")
