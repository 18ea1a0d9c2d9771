"""Lowering of Hessenberg, tridiagonal and Schur forms to LAPACK's (gehrd, sytrd and hetrd, gees).

A program for a GPU calls the host.
"""

from __future__ import annotations

from collections.abc import Sequence

from calque_linalg.ops.similarity import hessenberg_p, schur_p, tridiagonal_p
from calque_xla_backend.kernels import (
    IrValue,
    LoweringRuleContext,
    evaluate_on_host,
    info_aval,
    lapack_call,
    nan_where,
    register_lowering,
    splat,
)


@register_lowering(hessenberg_p, platform="cpu")
def hessenberg_lowering(ctx: LoweringRuleContext, a: IrValue) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    whole = {"low": 1, "high": aval.shape[-1]}
    *outs, info = lapack_call("gehrd", [(a, aval)], [*ctx.avals_out, info_type], aliases={0: 0}, **whole)
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


@register_lowering(tridiagonal_p, platform="cpu")
def tridiagonal_lowering(ctx: LoweringRuleContext, a: IrValue, *, lower: bool) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    name = "hetrd" if aval.kind == "c" else "sytrd"
    uplo = "L" if lower else "U"
    *outs, info = lapack_call(name, [(a, aval)], [*ctx.avals_out, info_type], aliases={0: 0}, uplo=uplo)
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


@register_lowering(schur_p, platform="cpu")
def schur_lowering(ctx: LoweringRuleContext, x: IrValue, *, compute_schur_vectors: bool) -> Sequence[IrValue]:
    """LAPACK returns the eigenvalues and the number of sorted ones too; of a real matrix, values in two parts."""
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    values = [aval.update(shape=aval.shape[:-1])] * (1 if aval.kind == "c" else 2)
    out_avals = [aval, aval, *values, info_type, info_type]
    mode = "V" if compute_schur_vectors else "N"
    *outs, info = lapack_call("gees", [(x, aval)], out_avals, aliases={0: 0}, mode=mode, sort="N")
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


for _primitive in (hessenberg_p, tridiagonal_p, schur_p):
    register_lowering(_primitive, evaluate_on_host, platform="cuda")
