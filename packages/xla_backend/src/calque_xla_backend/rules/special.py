"""Lowering of the special functions that XLA has; other functions are lowered by their decompositions."""

from __future__ import annotations

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import erf_inv_p, logistic_p
from calque_xla_backend.modules.lowering import register_lowering
from calque_xla_backend.rules.convert import in_single

register_lowering(logistic_p, in_single(lambda ctx, x: [hlo.logistic(x)]))
register_lowering(erf_inv_p, in_single(lambda ctx, x: [chlo.erf_inv(x)]))
