"""Rules of triangular systems, as of all systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import check_known, defbatch, deftranspose
from calque_linalg.ops.matrices import conjugated, matrix_product
from calque_linalg.ops.triangular import operator_tangent, triangular_solve, triangular_solve_p
from calque_linalg.rules.equations import batched_solution, defsolution

Value = Any


def triangular_solve_product(tangents: Sequence[Value], out: Value, *, left_side: bool, **params: Any) -> Value:
    operator = operator_tangent(tangents[0], **params)
    return matrix_product(operator, out) if left_side else matrix_product(out, operator)


def triangular_solve_transpose(
    ct: Value, a: Value, b: UndefinedPrimal, *, transpose_a: bool, conjugate_a: bool, **params: Any
) -> list[Value]:
    """Solve with the transpose of op(a); that of the adjoint is the conjugate."""
    check_known(triangular_solve_p, a)
    a = conjugated(a) if conjugate_a else a
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


defsolution(triangular_solve_p, triangular_solve_product)
deftranspose(triangular_solve_p, triangular_solve_transpose)


def triangular_solve_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, left_side: bool, **params: Any
) -> tuple[Value, int]:
    solve_for = partial(triangular_solve_p.bind, left_side=left_side, **params)
    return batched_solution(args, dims, solve_for, left_side=left_side)


defbatch(triangular_solve_p, triangular_solve_batch)
