"""Lowering of reading and replacing a window at a traced position; XLA replaces in place in a loop."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.lax import dynamic_slice_p, dynamic_update_slice_p
from calque_xla_backend.define import inferred

inferred(dynamic_slice_p, lambda x, *starts, slice_sizes: hlo.dynamic_slice(x, starts, slice_sizes))
inferred(dynamic_update_slice_p, lambda x, update, *starts: hlo.dynamic_update_slice(x, update, starts))
