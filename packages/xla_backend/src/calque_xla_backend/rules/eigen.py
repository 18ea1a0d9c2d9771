"""Lowering of eigenvalues and singular values to LAPACK's; what LAPACK does not find is NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import typeof
from calque_core.extend import identity_like, shaped_array
from calque_core.lax import full
from calque_core.lax.linalg import eig_p, eigh_p, svd_p
from calque_xla_backend.define import IrValue, splat
from calque_xla_backend.modules.lapack import info_aval, lapack_call, nan_where
from calque_xla_backend.modules.lowering import LoweringRuleContext, lower_fun, register_lowering

Value = Any


@register_lowering(eigh_p, platform="cpu")
def eigh_lowering(ctx: LoweringRuleContext, x: IrValue, *, lower: bool) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    *outs, info = lapack_call(
        "heevd" if aval.kind == "c" else "syevd",
        [(x, aval)],
        [*ctx.avals_out, info_type],
        aliases={0: 0},
        mode="V",
        uplo="L" if lower else "U",
    )
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


@register_lowering(eig_p, platform="cpu")
def eig_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool
) -> Sequence[IrValue]:
    """Of a real matrix, LAPACK returns the real and the imaginary parts of the values."""
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    values_aval = ctx.avals_out[0]
    vectors_aval = shaped_array(aval.shape, values_aval.dtype)
    parts = [values_aval] if aval.kind == "c" else [values_aval.update(dtype=aval.dtype)] * 2
    *values, left, right, info = lapack_call(
        "geev",
        [(x, aval)],
        [*parts, vectors_aval, vectors_aval, info_type],
        compute_left="V" if compute_left_eigenvectors else "N",
        compute_right="V" if compute_right_eigenvectors else "N",
    )
    outs = [values[0] if len(values) == 1 else hlo.complex(*values)]
    outs += [left] if compute_left_eigenvectors else []
    outs += [right] if compute_right_eigenvectors else []
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


@register_lowering(svd_p, platform="cpu")
def svd_lowering(ctx: LoweringRuleContext, x: IrValue, *, full_matrices: bool, compute_uv: bool) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return empty_svd(ctx, x, full_matrices=full_matrices, compute_uv=compute_uv)
    *batch, m, n = aval.shape
    rank = min(m, n)
    shapes = (*batch, m, m if full_matrices else rank), (*batch, n if full_matrices else rank, n)
    vectors = [shaped_array(shape, aval.dtype) for shape in shapes]
    _, *outs, info = lapack_call(
        "gesdd",
        [(x, aval)],
        [aval, ctx.avals_out[0], *vectors, info_type],
        aliases={0: 0},
        mode=("A" if full_matrices else "S") if compute_uv else "N",
    )
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


def _svd_of_no_elements(x: Value, *, full_matrices: bool, compute_uv: bool) -> list[Value]:
    """Return the results for a matrix without elements: full matrices are identities."""
    values, *vectors = svd_p.abstract(typeof(x), full_matrices=full_matrices, compute_uv=compute_uv)
    return [full(values.shape, 0, values.dtype), *(identity_like(x, aval.shape[-2:]) for aval in vectors)]


empty_svd = lower_fun(_svd_of_no_elements)
