"""Lowering of eigenvalues and singular values to LAPACK's, and on NVIDIA's GPUs to cuSOLVER's; failures are NaN.

A program for a GPU calls the host for `eig`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core import ShapedArray, typeof
from calque_core.extend import shaped_array
from calque_core.lax import full
from calque_linalg.ops.eigen import eig_p, eigh_p, svd_p
from calque_linalg.ops.matrices import adjoint, identity_like
from calque_xla_backend.kernels import (
    IrValue,
    LoweringRuleContext,
    MatrixCall,
    evaluate_on_host,
    hlo,
    info_aval,
    lapack_call,
    matrix_call,
    nan_where,
    register_lowering,
    splat,
)

Value = Any


@register_lowering(eigh_p, platform="cpu")
def eigh_lowering(ctx: LoweringRuleContext, x: IrValue, *, lower: bool) -> Sequence[IrValue]:
    name = "heevd" if ctx.avals_in[0].kind == "c" else "syevd"
    return _eigh(ctx, x, partial(lapack_call, name, mode="V", uplo="L" if lower else "U"))


@register_lowering(eigh_p, platform="cuda")
def eigh_cuda_lowering(ctx: LoweringRuleContext, x: IrValue, *, lower: bool) -> Sequence[IrValue]:
    own_choice = np.uint8(0)  # cuSOLVER chooses the algorithm
    return _eigh(ctx, x, partial(matrix_call, "cusolver_syevd_ffi", algorithm=own_choice, lower=lower))


def _eigh(ctx: LoweringRuleContext, x: IrValue, factorize: MatrixCall) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [splat(0, out) for out in ctx.avals_out]
    *outs, info = factorize([(x, aval)], [*ctx.avals_out, info_type], aliases={0: 0})
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


register_lowering(eig_p, evaluate_on_host, platform="cuda")


@register_lowering(svd_p, platform="cpu")
def svd_lowering(ctx: LoweringRuleContext, x: IrValue, *, full_matrices: bool, compute_uv: bool) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    if not aval.size:
        return ctx.lower(svd_of_no_elements, x, full_matrices=full_matrices, compute_uv=compute_uv)
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    return _svd(ctx, x, _vectors_of_svd(aval, full_matrices), partial(lapack_call, "gesdd", mode=mode))


@register_lowering(svd_p, platform="cuda")
def svd_cuda_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, full_matrices: bool, compute_uv: bool
) -> Sequence[IrValue]:
    """Call cuSOLVER, which needs as many rows as columns, or more: it gets the conjugate transpose otherwise."""
    (aval,) = ctx.avals_in
    params: dict[str, Any] = {"full_matrices": full_matrices, "compute_uv": compute_uv}
    if not aval.size:
        return ctx.lower(svd_of_no_elements, x, **params)
    if aval.shape[-2] < aval.shape[-1]:
        return ctx.lower(svd_of_adjoint, x, **params)
    vectors = _vectors_of_svd(aval, full_matrices) if compute_uv else [shaped_array((), aval.dtype)] * 2
    return _svd(ctx, x, vectors, partial(matrix_call, "cusolver_gesvd_ffi", transposed=False, **params))


def _vectors_of_svd(aval: ShapedArray, full_matrices: bool) -> list[ShapedArray]:
    *batch, m, n = aval.shape
    rank = min(m, n)
    shapes = (*batch, m, m if full_matrices else rank), (*batch, n if full_matrices else rank, n)
    return [shaped_array(shape, aval.dtype) for shape in shapes]


def _svd(
    ctx: LoweringRuleContext, x: IrValue, vectors: Sequence[ShapedArray], factorize: MatrixCall
) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    _, *outs, info = factorize([(x, aval)], [aval, ctx.avals_out[0], *vectors, info_type], aliases={0: 0})
    return [nan_where("NE", info, info_type, out, out_aval) for out, out_aval in zip(outs, ctx.avals_out)]


def svd_of_no_elements(x: Value, *, full_matrices: bool, compute_uv: bool) -> list[Value]:
    """Return the results for a matrix without elements: full matrices are identities."""
    values, *vectors = svd_p.abstract(typeof(x), full_matrices=full_matrices, compute_uv=compute_uv)
    return [full(values.shape, 0, values.dtype), *(identity_like(x, aval.shape[-2:]) for aval in vectors)]


def svd_of_adjoint(x: Value, **params: Any) -> list[Value]:
    """Return the results for a matrix, computed from those for its conjugate transpose."""
    values, *vectors = svd_p.bind(adjoint(x), **params)
    return [values, *(adjoint(vector) for vector in reversed(vectors))]
