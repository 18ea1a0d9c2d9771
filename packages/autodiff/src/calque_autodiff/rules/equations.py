"""Derivatives of solutions: a x = b gives a dx = db - da x, one more system with the same matrix."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import check_known, defjvp, deftranspose
from calque_core import UndefinedPrimal
from calque_core.extend import matrix_product, transposed
from calque_core.lax import neg
from calque_core.lax.linalg import solve, solve_p

Value = Any


def solve_jvp_a(a_dot: Value, out: Value, a: Value, b: Value, *, transpose_a: bool) -> Value:
    product = matrix_product(transposed(a_dot) if transpose_a else a_dot, out)
    return solve(a, neg(product), transpose_a=transpose_a)


def solve_transpose(ct: Value, a: Value, b: UndefinedPrimal, *, transpose_a: bool) -> list[Value]:
    check_known(solve_p, a)
    return [None, solve(a, ct, transpose_a=not transpose_a)]


defjvp(solve_p, solve_jvp_a, lambda b_dot, out, a, b, *, transpose_a: solve(a, b_dot, transpose_a=transpose_a))
deftranspose(solve_p, solve_transpose)
