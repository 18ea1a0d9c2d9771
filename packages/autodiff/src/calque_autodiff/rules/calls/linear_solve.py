"""The derivatives of `custom_linear_solve`: solutions of linear equations again.

One idea: differentiating A x = b gives A dx = db - dA x, an equation with the same operator; and the transpose of
solving with A is solving with the transpose of A.  No rule looks into a solver, except to transpose it where the
user gave no solver for the transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.transpose import transpose_jaxpr
from calque_autodiff.rules.calls.linear_call import only_linear, tangents_along
from calque_autodiff.traces.tangent_trace import record_whole
from calque_core import Jaxpr, MissingRuleError, Zero, add_tangents, instantiate_zeros
from calque_core.engine import without_aux
from calque_core.extend import check_known, is_nonzero, where, zero_tangent
from calque_core.lax import custom_linear_solve_p, neg

Value = Any


@custom_linear_solve_p.def_rule("jvp")
def custom_linear_solve_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, matvec: Jaxpr, solve: Jaxpr, num_consts: int, **params: Any
) -> tuple[list[Value], list[Value]]:
    """Solve A dx = db - dA x; auxiliary results have no derivative."""
    params |= {"matvec": matvec, "num_consts": num_consts}
    outs = custom_linear_solve_p.bind(*primals, solve=solve, **params)
    consts, const_dots = primals[:num_consts], tangents[:num_consts]
    b_dots = tangents[num_consts:]
    x = outs[: len(b_dots)]
    operator_dots = tangents_along(matvec, [*consts, *x], [*const_dots, *map(zero_tangent, x)])
    rhs = [add_tangents(b_dot, minus(t)) for b_dot, t in zip(b_dots, operator_dots)]
    if not any(is_nonzero(rhs)):
        return outs, [zero_tangent(x) for x in outs]
    x_dots = custom_linear_solve_p.bind(
        *consts, *map(instantiate_zeros, rhs), solve=without_aux(solve, len(x)), **params
    )
    return outs, [*x_dots, *(zero_tangent(x) for x in outs[len(x) :])]


def minus(tangent: Value) -> Value:
    """Return the negative of a tangent, which may be a `Zero`."""
    return tangent if type(tangent) is Zero else neg(tangent)


record_whole(custom_linear_solve_p)  # each component of the solution depends on all operands


@custom_linear_solve_p.def_rule("transpose")
def custom_linear_solve_transpose(
    cts: Sequence[Value],
    *operands: Value,
    matvec: Jaxpr,
    vecmat: Jaxpr | None,
    solve: Jaxpr,
    transpose_solve: Jaxpr | None,
    num_consts: int,
) -> list[Value]:
    """Solve the transposed equation; transpose the operator or the solver where the user gave none for it."""
    consts, b = operands[:num_consts], operands[num_consts:]
    check_known(custom_linear_solve_p, *consts)
    check_solution_only(cts[len(b) :])
    solve = without_aux(solve, len(b))
    b_bars = custom_linear_solve_p.bind(
        *consts,
        *map(instantiate_zeros, cts[: len(b)]),
        matvec=vecmat or transpose_program(matvec, num_consts),
        vecmat=matvec,
        solve=transpose_solve or transposed_solver(solve, num_consts),
        transpose_solve=solve,
        num_consts=num_consts,
    )
    return [*[None] * num_consts, *only_linear(b_bars, b)]


def transpose_program(jaxpr: Jaxpr, num_consts: int) -> Jaxpr:
    """Return the transpose of a program that is linear in all but its first `num_consts` arguments."""
    return transpose_jaxpr(jaxpr, [i >= num_consts for i in range(len(jaxpr.invars))], instantiate=True)[0]


def transposed_solver(solve: Jaxpr, num_consts: int) -> Jaxpr:
    """Return the transpose of a solver.

    Raises: MissingRuleError if its operations have no transpose, as in an iteration that stops by itself.
    """
    try:
        return transpose_program(solve, num_consts)
    except MissingRuleError as error:
        raise MissingRuleError(
            f"The linear solve{where()} cannot be differentiated in reverse mode: it has no transpose_solve, and the "
            f"operations of its solver cannot be transposed: {error.summary.rstrip('.')}. "
            "Give custom_linear_solve a transpose_solve, or symmetric=True for a symmetric operator; for custom_root, "
            "call custom_linear_solve in tangent_solve.",
            primitive="custom_linear_solve",
            kind="transpose",
            package="calque_autodiff",
        ) from error


def check_solution_only(aux_cts: Sequence[Value]) -> None:
    """Check that no cotangent flows into an auxiliary result.

    Raises: MissingRuleError.
    """
    if any(is_nonzero(aux_cts)):
        raise MissingRuleError(
            f"custom_linear_solve{where()} cannot be transposed in an auxiliary result, which need not be linear. "
            "Transpose a function of the solution alone.",
            primitive="custom_linear_solve",
            kind="transpose",
            package="calque_autodiff",
        )
