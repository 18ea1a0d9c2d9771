"""Derivatives of adjugates, of which the first exists for singular matrices, too."""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal, typeof
from calque_core.extend import check_known, defjvp, defleading, deftranspose, not_linear
from calque_core.lax import add, broadcast_in_dim, sub
from calque_linalg.ops.adjugates import adjugate_p, adjugate_slope, adjugate_slope_p
from calque_linalg.ops.diagonals import on_diagonal
from calque_linalg.ops.equations import solve
from calque_linalg.ops.matrices import matrix_product, transposed
from calque_linalg.rules.determinants import trace_of_product

Value = Any


def adjugate_slope_jvp(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Return (tr(d y) - d y - out dx) x^-1, for the change d of the adjugate along dx.

    The change of adj(x) x = det(x) along y is out x + adj(x) y = tr(adj(x) y); this is its change along dx.
    """
    ndim = typeof(x).ndim
    change = adjugate_slope(x, x_dot)
    trace = broadcast_in_dim(trace_of_product(change, y), typeof(x).shape, range(ndim - 2))
    products = add(matrix_product(change, y), matrix_product(out, x_dot))
    return transposed(solve(x, transposed(sub(on_diagonal(trace, 0), products)), transpose_a=True))


def adjugate_slope_transpose(ct: Value, x: Value, y: UndefinedPrimal) -> list[Value]:
    """Use the symmetry tr(z adj'(y)) = tr(adj'(z) y): both are the second derivative of det along y and z."""
    check_known(adjugate_slope_p, x)
    return [None, transposed(adjugate_slope(x, transposed(ct)))]


defjvp(adjugate_p, lambda x_dot, out, x: adjugate_slope(x, x_dot))
defjvp(adjugate_slope_p, adjugate_slope_jvp, lambda y_dot, out, x, y: adjugate_slope(x, y_dot))
deftranspose(adjugate_slope_p, adjugate_slope_transpose)
not_linear(adjugate_p)
defleading(adjugate_p, adjugate_slope_p)
