"""The derivatives of the reductions over named axes.

A sum over the elements is linear.  If types say that its result is the same for all elements, so is its cotangent, and
each element takes it: `psum` and `pvary` are transposes of each other.  Without such types, as under `vmap`, each
element has a result and a cotangent of its own, and contributes to all results: the cotangents of all are summed for
each.  The tangent of a maximum is the mean over the elements that reach it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from calque_core import UndefinedPrimal, typeof
from calque_core.extend import defjvp, deflinear, not_linear
from calque_core.lax import (
    axis_index_p,
    convert_element_type,
    div,
    eq,
    mul,
    pmax_p,
    pmin_p,
    psum,
    psum_p,
    pvary,
    pvary_p,
)

Value = Any
Axes = tuple[Hashable, ...]


def psum_transpose(ct: Value, x: UndefinedPrimal, *, axes: Axes) -> list[Value]:
    """Sum the cotangents along axes that the type of the operand lacks; along axes that it has, all are equal."""
    typed = tuple(axis for axis in axes if axis in x.aval.vma)
    untyped = tuple(axis for axis in axes if axis not in typed)
    return [pvary(psum(ct, untyped) if untyped else ct, typed)]


def extreme_jvp(x_dot: Value, out: Value, x: Value, *, axes: Axes) -> Value:
    """Return the mean of the tangents of the elements whose value is the result."""
    is_extreme = convert_element_type(eq(x, out), typeof(x).dtype)
    return psum(mul(x_dot, div(is_extreme, psum(is_extreme, axes))), axes)


deflinear(psum_p, psum_transpose)
defjvp(pmax_p, extreme_jvp)
defjvp(pmin_p, extreme_jvp)
not_linear(pmax_p, pmin_p)

deflinear(pvary_p, lambda ct, x, *, axes: [psum(ct, axes)])

axis_index_p.def_hole("jvp", "it has no operands")
axis_index_p.def_hole("transpose", "it has no operands")
