"""Lowering of Fourier transforms: one operation each."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import FftType, fft_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering


@register_lowering(fft_p)
def fft_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> Sequence[IrValue]:
    return [hlo.fft(x, hlo.FftTypeAttr.get(fft_type.name), fft_lengths)]
