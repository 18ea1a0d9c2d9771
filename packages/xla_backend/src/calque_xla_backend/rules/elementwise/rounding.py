"""Lowering of rounding and of the test for finite numbers."""

from __future__ import annotations

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import RoundingMethod, ceil_p, floor_p, is_finite_p, nextafter_p, reduce_precision_p, round_p
from calque_xla_backend.define import IrValue, elementwise, inferred

elementwise(floor_p, hlo.floor)
elementwise(ceil_p, hlo.ceil)


def round_build(x: IrValue, *, rounding_method: RoundingMethod) -> IrValue:
    to_even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
    return hlo.round_nearest_even(x) if to_even else hlo.round_nearest_afz(x)


inferred(round_p, round_build)
elementwise(nextafter_p, chlo.next_after)
elementwise(is_finite_p, hlo.is_finite)
inferred(reduce_precision_p, hlo.reduce_precision)
