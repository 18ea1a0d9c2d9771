"""The derivative of `custom_root`, by the implicit function theorem.

One idea: f(c, x) = 0 for all c near, so df/dx dx = - df/dc dc, a linear equation for dx.  It becomes a
`custom_linear_solve` of the values and of x, so derivatives of any order follow from the two equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.rules.calls.linear_call import tangent_jaxpr, tangents_along
from calque_autodiff.rules.calls.linear_solve import minus
from calque_autodiff.traces.tangent_trace import record_whole
from calque_core import Jaxpr, instantiate_zeros
from calque_core.extend import is_nonzero, not_linear, zero_tangent
from calque_core.lax import custom_linear_solve_p, custom_root_p

Value = Any


@custom_root_p.def_rule("jvp")
def custom_root_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    f: Jaxpr,
    solve: Jaxpr,
    tangent_solve: Jaxpr,
    num_consts: int,
) -> tuple[list[Value], list[Value]]:
    """Solve the linearized equation; it does not contain the first guess and the auxiliary results."""
    outs = custom_root_p.bind(*primals, f=f, solve=solve, tangent_solve=tangent_solve, num_consts=num_consts)
    consts, x = primals[:num_consts], outs[: len(primals) - num_consts]
    f_dots = tangents_along(f, [*consts, *x], [*tangents[:num_consts], *map(zero_tangent, x)])
    if not any(is_nonzero(f_dots)):
        return outs, [zero_tangent(x) for x in outs]
    in_x = [i >= num_consts for i in range(len(f.invars))]
    x_dots = custom_linear_solve_p.bind(
        *consts,
        *x,
        *(instantiate_zeros(minus(t)) for t in f_dots),
        matvec=tangent_jaxpr(f, in_x, instantiate=True)[0],
        vecmat=None,
        solve=tangent_solve,
        transpose_solve=None,
        num_consts=num_consts + len(x),
    )
    return outs, [*x_dots, *(zero_tangent(x) for x in outs[len(x) :])]


record_whole(custom_root_p)  # each component of the root depends on all operands
not_linear(custom_root_p)
