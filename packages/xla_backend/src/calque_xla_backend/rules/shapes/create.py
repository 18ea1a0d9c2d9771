"""Lowering of iota, the one primitive without operands."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import iota_p
from calque_xla_backend.define import typed

typed(iota_p, lambda out, *, dtype, shape, dimension: hlo.iota(out, dimension))
