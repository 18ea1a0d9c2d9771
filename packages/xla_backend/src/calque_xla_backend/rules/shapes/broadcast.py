"""Lowering of broadcasts."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import broadcast_in_dim_p
from calque_xla_backend.define import typed

typed(
    broadcast_in_dim_p,
    lambda out, x, *, shape, broadcast_dimensions: hlo.broadcast_in_dim(out, x, broadcast_dimensions),
)
