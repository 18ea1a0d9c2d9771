"""Lowering of factorisations of matrices to LAPACK's."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core.extend import lower_triangle
from calque_core.lax.linalg import cholesky_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lapack import info_aval, lapack_call, nan_where
from calque_xla_backend.modules.lowering import LoweringRuleContext, lower_fun, register_lowering


@register_lowering(cholesky_p, platform="cpu")
def cholesky_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [x]
    out, info = lapack_call("potrf", [(x, aval)], [aval, info_type], aliases={0: 0}, uplo="L")
    return triangle(ctx, nan_where("NE", info, info_type, out, aval))


triangle = lower_fun(lower_triangle, multiple_results=False)
