"""Lowering of tridiagonal systems to LAPACK's solver (gtsv), and on NVIDIA's GPUs to cuSPARSE's."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core.lax.linalg import tridiagonal_solve_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lapack import lapack_call
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.matrix_calls import info_aval, matrix_call, nan_where


@register_lowering(tridiagonal_solve_p, platform="cpu")
def tridiagonal_solve_lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    avals, (out_aval,) = ctx.avals_in, ctx.avals_out
    if not out_aval.size:
        return [values[-1]]
    info_type = info_aval(out_aval)
    aliases = {0: 0, 1: 1, 2: 2, 3: 3}
    *_, out, info = lapack_call("gtsv", list(zip(values, avals)), [*avals[:3], out_aval, info_type], aliases)
    return [nan_where("NE", info, info_type, out, out_aval)]


@register_lowering(tridiagonal_solve_p, platform="cuda")
def tridiagonal_solve_cuda_lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    (out_aval,) = ctx.avals_out
    if not out_aval.size:
        return [values[-1]]
    return matrix_call("cusparse_gtsv2_ffi", list(zip(values, ctx.avals_in)), [out_aval], aliases={3: 0})
