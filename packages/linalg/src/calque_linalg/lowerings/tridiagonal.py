"""Lowering of tridiagonal systems to LAPACK's solver (gtsv), and on NVIDIA's GPUs to cuSPARSE's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.lax import pad, slice_in_dim
from calque_linalg.ops.tridiagonal import tridiagonal_solve_p
from calque_xla_backend.kernels import (
    IrValue,
    LoweringRuleContext,
    info_aval,
    lapack_call,
    matrix_call,
    nan_where,
    register_lowering,
)

Value = Any


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
    if out_aval.shape[-2] < _FEWEST_ROWS:
        return ctx.lower(solve_with_more_rows, *values)
    return matrix_call("cusparse_gtsv2_ffi", list(zip(values, ctx.avals_in)), [out_aval], aliases={3: 0})


_FEWEST_ROWS = 3  # that cuSPARSE takes


def solve_with_more_rows(dl: Value, d: Value, du: Value, b: Value) -> Value:
    """Return the solution of a system to which equations x = 0 are added."""
    n, count = d.shape[-1], _FEWEST_ROWS - d.shape[-1]
    rows = [(0, 0, 0)] * (d.ndim - 1) + [(0, count, 0)]
    zero, one = (np.asarray(value, d.dtype)[()] for value in (0, 1))
    diagonals = pad(dl, zero, rows), pad(d, one, rows), pad(du, zero, rows)
    x = tridiagonal_solve_p.bind(*diagonals, pad(b, zero, [*rows, (0, 0, 0)]))
    return slice_in_dim(x, 0, n, axis=-2)
