"""Lowering of triangular systems to LAPACK's solvers (trsm), and on other platforms to XLA's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_linalg.ops.triangular import triangular_solve_p
from calque_xla_backend.kernels import IrValue, LoweringRuleContext, hlo, lapack_call, register_lowering, splat


@register_lowering(triangular_solve_p, platform="cpu")
def triangular_solve_lowering(  # noqa: PLR0913 -- JAX's parameters
    ctx: LoweringRuleContext,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Sequence[IrValue]:
    (a_aval, b_aval), (out_aval,) = ctx.avals_in, ctx.avals_out
    if not out_aval.size:
        return [splat(0, out_aval)]
    return lapack_call(
        "trsm",
        [(a, a_aval), (b, b_aval)],
        [out_aval],
        aliases={1: 0},
        side="L" if left_side else "R",
        uplo="L" if lower else "U",
        trans_x=("C" if conjugate_a else "T") if transpose_a else "N",
        diag="U" if unit_diagonal else "N",
    )


@register_lowering(triangular_solve_p)
def triangular_solve_xla_lowering(  # noqa: PLR0913 -- JAX's parameters
    ctx: LoweringRuleContext,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Sequence[IrValue]:
    transpose = ("ADJOINT" if conjugate_a else "TRANSPOSE") if transpose_a else "NO_TRANSPOSE"
    solve: Any = hlo.triangular_solve
    return [solve(a, b, left_side, lower, unit_diagonal, hlo.TransposeAttr.get(transpose))]
