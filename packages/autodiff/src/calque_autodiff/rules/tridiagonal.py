"""Derivatives of solutions of tridiagonal systems: t x = b gives t dx = db - dt x."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import Rule, check_known, defjvp, deftranspose
from calque_core import UndefinedPrimal, typeof
from calque_core.extend import shifted_rows, tridiagonal_product
from calque_core.lax import neg
from calque_core.lax.linalg import tridiagonal_solve, tridiagonal_solve_p

Value = Any


def _through(position: int) -> Rule:
    """Return the rule of one of the three diagonals."""

    def rule(tangent: Value, out: Value, dl: Value, d: Value, du: Value, b: Value) -> Value:
        tangents = [tangent if k == position else None for k in range(3)]
        return tridiagonal_solve(dl, d, du, neg(tridiagonal_product(tangents, out)))

    return rule


def tridiagonal_solve_transpose(ct: Value, dl: Value, d: Value, du: Value, b: UndefinedPrimal) -> list[Value]:
    """Exchange the outer diagonals, which are stored beside the rows that they belong to."""
    check_known(tridiagonal_solve_p, dl, d, du)
    axis = typeof(d).ndim - 1
    return [None, None, None, tridiagonal_solve(shifted_rows(du, 1, axis), d, shifted_rows(dl, -1, axis), ct)]


defjvp(
    tridiagonal_solve_p,
    _through(0),
    _through(1),
    _through(2),
    lambda b_dot, out, dl, d, du, b: tridiagonal_solve(dl, d, du, b_dot),
)
deftranspose(tridiagonal_solve_p, tridiagonal_solve_transpose)
