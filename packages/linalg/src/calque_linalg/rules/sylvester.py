"""Derivatives of solutions of a x + x b = c, as of all systems of equations."""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import check_known, defleading, deftranspose
from calque_linalg.ops.matrices import transposed
from calque_linalg.ops.sylvester import sylvester_product, sylvester_solve, sylvester_solve_p
from calque_linalg.rules.equations import defsolution

Value = Any


def sylvester_solve_transpose(ct: Value, a: Value, b: Value, c: UndefinedPrimal, *, hermitian: bool) -> list[Value]:
    check_known(sylvester_solve_p, a, b)
    first = transposed(a)
    second = first if b is a else transposed(b)
    return [None, None, sylvester_solve(first, second, ct, hermitian=hermitian)]


defsolution(sylvester_solve_p, sylvester_product)
deftranspose(sylvester_solve_p, sylvester_solve_transpose)
defleading(sylvester_solve_p)
