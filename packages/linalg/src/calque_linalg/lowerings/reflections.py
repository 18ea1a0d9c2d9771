"""Lowering of Householder reflections to LAPACK's (geqrf, orgqr, and ungqr for complex numbers) and cuSOLVER's."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core import ShapedArray
from calque_linalg.ops.reflections import geqrf_p, householder_product_p
from calque_xla_backend.kernels import IrValue, LoweringRuleContext, lapack_call, matrix_call, register_lowering, splat


@register_lowering(geqrf_p, platform="cpu")
def geqrf_lowering(ctx: LoweringRuleContext, a: IrValue) -> Sequence[IrValue]:
    (aval,), (_, taus_aval) = ctx.avals_in, ctx.avals_out
    return (
        lapack_call("geqrf", [(a, aval)], [aval, taus_aval], aliases={0: 0}) if aval.size else [a, splat(0, taus_aval)]
    )


@register_lowering(geqrf_p, platform="cuda")
def geqrf_cuda_lowering(ctx: LoweringRuleContext, a: IrValue) -> Sequence[IrValue]:
    (aval,), (_, taus_aval) = ctx.avals_in, ctx.avals_out
    if not aval.size:
        return [a, splat(0, taus_aval)]
    return matrix_call("cusolver_geqrf_ffi", [(a, aval)], [aval, taus_aval], aliases={0: 0})


@register_lowering(householder_product_p, platform="cpu")
def householder_product_lowering(ctx: LoweringRuleContext, a: IrValue, taus: IrValue) -> Sequence[IrValue]:
    (aval, taus_aval) = ctx.avals_in
    return [product_of_reflections((a, aval), (taus, taus_aval))] if aval.size else [a]


@register_lowering(householder_product_p, platform="cuda")
def householder_product_cuda_lowering(ctx: LoweringRuleContext, a: IrValue, taus: IrValue) -> Sequence[IrValue]:
    (aval, taus_aval) = ctx.avals_in
    return [product_of_reflections_cuda((a, aval), (taus, taus_aval))] if aval.size else [a]


def product_of_reflections_cuda(a: tuple[IrValue, ShapedArray], taus: tuple[IrValue, ShapedArray]) -> IrValue:
    """Return the orthogonal matrix that cuSOLVER has stored in `a` and `taus`, which are not empty."""
    return matrix_call("cusolver_orgqr_ffi", [a, taus], [a[1]], aliases={0: 0})[0]


def product_of_reflections(a: tuple[IrValue, ShapedArray], taus: tuple[IrValue, ShapedArray]) -> IrValue:
    """Return the orthogonal matrix that LAPACK has stored in `a` and `taus`, which are not empty."""
    name = "ungqr" if a[1].dtype.kind == "c" else "orgqr"
    return lapack_call(name, [a, taus], [a[1]], aliases={0: 0})[0]
