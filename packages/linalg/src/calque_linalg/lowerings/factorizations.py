"""Lowering of factorisations of matrices to LAPACK's, and on NVIDIA's GPUs to cuSOLVER's, not tested on a GPU yet.

LAPACK counts rows and columns from 1.  Its status is 0 where it succeeded; a positive status of `getrf` says that U is
singular, which is no failure of the factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import typeof
from calque_core.extend import shaped_array
from calque_core.lax import pad, slice_in_dim, zeros_like
from calque_linalg.lowerings.reflections import product_of_reflections, product_of_reflections_cuda
from calque_linalg.ops.factorizations import cholesky_p, lu_p, lu_pivots_to_permutation, qr_p
from calque_linalg.ops.matrices import identity_like, lower_triangle, upper_triangle
from calque_xla_backend.kernels import (
    IrValue,
    LoweringRuleContext,
    MatrixCall,
    aval_to_ir_type,
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


@register_lowering(cholesky_p, platform="cpu")
def cholesky_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    return _cholesky(ctx, x, partial(lapack_call, "potrf", uplo="L"))


@register_lowering(cholesky_p, platform="cuda")
def cholesky_cuda_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    return _cholesky(ctx, x, partial(matrix_call, "cusolver_potrf_ffi", lower=True))


def _cholesky(ctx: LoweringRuleContext, x: IrValue, factorize: MatrixCall) -> Sequence[IrValue]:
    (aval,), info_type = ctx.avals_in, info_aval(ctx.avals_in[0])
    if not aval.size:
        return [x]
    out, info = factorize([(x, aval)], [aval, info_type], aliases={0: 0})
    return ctx.lower(lower_triangle, nan_where("NE", info, info_type, out, aval))


@register_lowering(lu_p, platform="cpu")
def lu_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    return _lu(ctx, x, partial(lapack_call, "getrf"))


@register_lowering(lu_p, platform="cuda")
def lu_cuda_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    return _lu(ctx, x, partial(matrix_call, "cusolver_getrf_ffi"))


def _lu(ctx: LoweringRuleContext, x: IrValue, factorize: MatrixCall) -> Sequence[IrValue]:
    (aval,), (_, pivots_aval, order_aval), info_type = ctx.avals_in, ctx.avals_out, info_aval(ctx.avals_in[0])
    if not aval.size:
        order = hlo.iota(aval_to_ir_type(order_aval), order_aval.ndim - 1)
        return [x, splat(0, pivots_aval), order]
    factors, from_one, info = factorize([(x, aval)], [aval, pivots_aval, info_type], aliases={0: 0})
    pivots = hlo.subtract(from_one, splat(1, pivots_aval))
    size = order_aval.shape[-1]
    orders = ctx.lower(lu_pivots_to_permutation, pivots, avals_in=[pivots_aval], permutation_size=size)
    return [nan_where("LT", info, info_type, factors, aval), pivots, *orders]


@register_lowering(qr_p, platform="cpu")
def qr_lowering(ctx: LoweringRuleContext, x: IrValue, *, pivoting: bool, full_matrices: bool) -> Sequence[IrValue]:
    return _qr(ctx, x, pivoting, partial(lapack_call, "geqrf"), product_of_reflections)


@register_lowering(qr_p, platform="cuda")
def qr_cuda_lowering(ctx: LoweringRuleContext, x: IrValue, *, pivoting: bool, full_matrices: bool) -> Sequence[IrValue]:
    """Call cuSOLVER, which has no pivoting: the host computes with it."""
    if pivoting:
        return evaluate_on_host(ctx, x, pivoting=pivoting, full_matrices=full_matrices)
    return _qr(ctx, x, pivoting, partial(matrix_call, "cusolver_geqrf_ffi"), product_of_reflections_cuda)


def _qr(
    ctx: LoweringRuleContext, x: IrValue, pivoting: bool, factorize: MatrixCall, product: Callable[..., IrValue]
) -> Sequence[IrValue]:
    """Get R and the reflections from one call, and Q from a second one."""
    (aval,), (q_aval, r_aval, *orders) = ctx.avals_in, ctx.avals_out
    if not aval.size:
        (q,) = ctx.lower(identity_like, x, sizes=q_aval.shape[-2:])
        return [q, splat(0, r_aval), *(hlo.iota(aval_to_ir_type(o), o.ndim - 1) for o in orders)]
    taus_aval = shaped_array((*aval.shape[:-2], min(aval.shape[-2:])), aval.dtype)
    if pivoting:
        (order_aval,) = orders
        free = splat(0, order_aval), order_aval  # no column is forced to the front
        packed, from_one, taus = lapack_call(
            "geqp3", [(x, aval), free], [aval, order_aval, taus_aval], aliases={0: 0, 1: 1}
        )
        order = [hlo.subtract(from_one, splat(1, order_aval))]
    else:
        packed, taus = factorize([(x, aval)], [aval, taus_aval], aliases={0: 0})
        order = []
    (columns,) = ctx.lower(_with_columns, packed, size=q_aval.shape[-1])
    q = product((columns, q_aval), (taus, taus_aval))
    return [q, *ctx.lower(_upper_rows, packed, size=r_aval.shape[-2]), *order]


def _with_columns(packed: Value, *, size: int) -> Value:
    """Return the first `size` columns; missing ones are zeros."""
    *leading, _, n = typeof(packed).shape
    if n >= size:
        return slice_in_dim(packed, 0, size, axis=-1)
    return pad(packed, zeros_like(packed, shape=()), [*[(0, 0, 0)] * (len(leading) + 1), (0, size - n, 0)])


def _upper_rows(packed: Value, *, size: int) -> Value:
    return upper_triangle(slice_in_dim(packed, 0, size, axis=-2))
