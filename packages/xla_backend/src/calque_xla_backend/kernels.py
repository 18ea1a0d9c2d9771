"""The names that lowering rules of another package are written with: a family of primitives imports them, late.

`hlo` builds operations; `ctx.lower(fun, x)` lowers a function of arrays, `evaluate_on_host(ctx, x)` calls the
primitive's evaluation by NumPy, `lapack_call` and `matrix_call` call libraries on batches of matrices.
They may change in any release, as `calque_core.engine` may.

Read next: `define.py`, the short forms; `modules/lowering.py`, which calls the rules.
"""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_xla_backend.define import IrValue, compare, elementwise, splat
from calque_xla_backend.modules.host_calls import evaluate_on_host
from calque_xla_backend.modules.lapack import lapack_call
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.matrix_calls import MatrixCall, info_aval, matrix_call, nan_where
from calque_xla_backend.modules.meshes import undivided_along
from calque_xla_backend.modules.types import (
    aval_to_ir_type,
    cached_in_context,
    dense_attribute,
    ir_constant,
    scalar_constant,
)
from calque_xla_backend.rules.convert import convert, in_single
from calque_xla_backend.rules.dot import precision_attribute, product_dtype

__all__ = [
    "IrValue", "LoweringRuleContext", "MatrixCall", "aval_to_ir_type", "cached_in_context", "compare", "convert",
    "dense_attribute", "elementwise", "evaluate_on_host", "hlo", "in_single", "info_aval", "ir_constant", "lapack_call",
    "matrix_call", "nan_where", "precision_attribute", "product_dtype", "register_lowering", "scalar_constant", "splat",
    "undivided_along",
]  # fmt: skip
