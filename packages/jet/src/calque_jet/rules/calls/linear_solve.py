"""The Taylor rule of `custom_linear_solve`: one more equation with the same operator for each coefficient.

One idea: coefficient k of A(t) x(t) = b(t) is A0 xk = bk - rk, where rk is the left-hand side of
the coefficients of x before k.  No rule differentiates a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.engine import without_aux
from calque_core.lax import custom_linear_solve_p
from calque_jet.jaxprs import run_jet
from calque_jet.series import Coefficient, Series, instantiate, minus

Value = Any


def implicit_series(
    jaxpr: Jaxpr,
    consts: tuple[Sequence[Value], Sequence[Series]],
    solution: Sequence[Value],
    rights: Sequence[Series],
    solve: Callable[[Sequence[Value]], Sequence[Value]],
) -> list[Series]:
    """Return the series of the x for which `jaxpr`, of constants and x, has the series `rights`.

    `consts` are values and their series.  `solve` solves the equation linearized at the constants and the
    solution.
    """
    xs: list[Series] = [[] for _ in solution]
    for k in range(len(rights[0])):
        known = [[*s, None] for s in xs]
        _, lefts = run_jet(jaxpr, [*consts[0], *solution], [*(s[: k + 1] for s in consts[1]), *known])
        remainders = [minus(right[k], left[k]) for right, left in zip(rights, lefts)]
        is_zero = all(c is None for c in remainders)
        newest: Sequence[Coefficient] = remainders if is_zero else solve([*map(instantiate, solution, remainders)])
        for s, c in zip(xs, newest):
            s.append(c)
    return xs


@custom_linear_solve_p.def_rule("jet")
def custom_linear_solve_jet(
    primals: Sequence[Value], series: Sequence[Series], *, matvec: Jaxpr, solve: Jaxpr, num_consts: int, **params: Any
) -> tuple[list[Value], list[Series]]:
    """Solve for each coefficient; auxiliary results have no series."""
    params |= {"matvec": matvec, "num_consts": num_consts}
    outs = custom_linear_solve_p.bind(*primals, solve=solve, **params)
    consts, rights = primals[:num_consts], series[num_consts:]
    size = len(rights)

    def solved(rights: Sequence[Value]) -> list[Value]:
        xs: list[Value] = custom_linear_solve_p.bind(*consts, *rights, solve=without_aux(solve, size), **params)
        return xs

    xs = implicit_series(matvec, (consts, series[:num_consts]), outs[:size], rights, solved)
    return outs, [*xs, *([None] * len(series[0]) for _ in outs[size:])]
