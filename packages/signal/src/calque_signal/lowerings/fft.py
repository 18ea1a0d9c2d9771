"""Lowering of Fourier transforms: one operation each.

Where XLA divides arrays over devices, the transformed axes are gathered: XLA ends the process for some divisions.
"""

from __future__ import annotations

from collections.abc import Sequence

from calque_signal.ops.fft import FftType, fft_p
from calque_xla_backend.kernels import IrValue, LoweringRuleContext, hlo, register_lowering, undivided_along


@register_lowering(fft_p)
def fft_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> Sequence[IrValue]:
    ndim = len(ctx.avals_in[0].shape)
    axes = range(ndim - len(fft_lengths), ndim)
    if ctx.is_divided:
        x = undivided_along(ctx.module_context, x, axes)
    out = hlo.fft(x, hlo.FftTypeAttr.get(fft_type.name), fft_lengths)
    return [undivided_along(ctx.module_context, out, axes) if ctx.is_divided else out]
