"""The Taylor rule of `custom_root`: a linear equation for each coefficient.

One idea: coefficient k of f(c(t), x(t)) = 0 is df/dx xk = -rk, where rk is f of the coefficients of x
before k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr, dce_jaxpr
from calque_core.lax import custom_linear_solve_p, custom_root_p
from calque_jet.jaxprs import jet_jaxpr
from calque_jet.rules.calls.linear_solve import implicit_series
from calque_jet.series import Series

Value = Any


@custom_root_p.def_rule("jet")
def custom_root_jet(
    primals: Sequence[Value],
    series: Sequence[Series],
    *,
    f: Jaxpr,
    solve: Jaxpr,
    tangent_solve: Jaxpr,
    num_consts: int,
) -> tuple[list[Value], list[Series]]:
    """Solve the linearized equation for each coefficient; the first guess and auxiliary results have no series."""
    outs = custom_root_p.bind(*primals, f=f, solve=solve, tangent_solve=tangent_solve, num_consts=num_consts)
    consts, x, order = primals[:num_consts], outs[: len(primals) - num_consts], len(series[0])
    matvec = derivative_program(f, num_consts)

    def solved(rights: Sequence[Value]) -> list[Value]:
        xs: list[Value] = custom_linear_solve_p.bind(
            *consts,
            *x,
            *rights,
            matvec=matvec,
            vecmat=None,
            solve=tangent_solve,
            transpose_solve=None,
            num_consts=num_consts + len(x),
        )
        return xs

    zeros: list[Series] = [[None] * order for _ in x]
    xs = implicit_series(f, (consts, series[:num_consts]), x, zeros, solved)
    return outs, [*xs, *([None] * order for _ in outs[len(x) :])]


def derivative_program(f: Jaxpr, num_consts: int) -> Jaxpr:
    """Return the program, of constants, x and a direction, of the derivative of `f` in x: its first coefficient."""
    masks = [(i >= num_consts,) for i in range(len(f.invars))]
    expanded, _ = jet_jaxpr(f, masks, instantiate=[(True,)] * len(f.outvars))
    is_coefficient = [i >= len(f.outvars) for i in range(len(expanded.outvars))]
    return dce_jaxpr(expanded, is_coefficient, instantiate=True)[0]
