"""Lowering of sums of products.

Without a stated precision it is the highest: with XLA's default some accelerators multiply float32 by fewer bits, and
results would differ from evaluation in the third digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import canonicalize_dtype
from calque_core.engine import sum_dtype
from calque_core.extend import shaped_array
from calque_core.lax import DotDimensionNumbers, Precision, Precisions, dot_general_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, cached_in_context
from calque_xla_backend.rules.elementwise.convert import convert

DType = np.dtype[Any]
_HIGHEST = (Precision.HIGHEST, Precision.HIGHEST)


@register_lowering(dot_general_p)
def dot_general_lowering(
    ctx: LoweringRuleContext,
    lhs: IrValue,
    rhs: IrValue,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Precisions | None,
    preferred_element_type: DType | None,
) -> Sequence[IrValue]:
    """Operands are widened before the sums, and sums narrowed after them, in the order of evaluation."""
    (lhs_aval, rhs_aval), (out_aval,) = ctx.avals_in, ctx.avals_out
    wide = product_dtype(lhs_aval.dtype, out_aval.dtype)
    wide_aval = shaped_array(out_aval.shape, wide)
    out = hlo.dot_general(
        aval_to_ir_type(wide_aval),
        convert(lhs, lhs_aval, wide),
        convert(rhs, rhs_aval, wide),
        cached_in_context(("dot", dimension_numbers), lambda: _dimension_numbers(dimension_numbers)),
        precision_config=precision_attribute(precision),
    )
    return [convert(out, wide_aval, out_aval.dtype)]


def product_dtype(operand: DType, result: DType) -> DType:
    """Return the dtype in which XLA multiplies and sums: that of the operands, or that of evaluation if it is wider."""
    return operand if operand == result else canonicalize_dtype(sum_dtype(operand, result))


def precision_attribute(precision: Precisions | None) -> ir.Attribute:
    """Return the precisions of both operands of a product as an attribute; None is the highest."""
    both = precision or _HIGHEST
    make = lambda: ir.ArrayAttr.get([hlo.PrecisionAttr.get(one.name) for one in both])
    attribute: ir.Attribute = cached_in_context(both, make)
    return attribute


def _dimension_numbers(numbers: DotDimensionNumbers) -> ir.Attribute:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    return hlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=list(lhs_batch),
        rhs_batching_dimensions=list(rhs_batch),
        lhs_contracting_dimensions=list(lhs_contract),
        rhs_contracting_dimensions=list(rhs_contract),
    )
