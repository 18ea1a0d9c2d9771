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
from calque_core.lax import (
    DotAlgorithm,
    DotAlgorithmPreset,
    DotDimensionNumbers,
    Precision,
    Precisions,
    ProductPrecision,
    dot_general_p,
)
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, cached_in_context, dtype_to_ir_type
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
    precision: ProductPrecision | None,
    preferred_element_type: DType | None,
) -> Sequence[IrValue]:
    """Operands are widened before the sums, and sums narrowed after them, in the order of evaluation."""
    (lhs_aval, rhs_aval), (out_aval,) = ctx.avals_in, ctx.avals_out
    numbers = cached_in_context(("dot", dimension_numbers), lambda: _dimension_numbers(dimension_numbers))
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        algorithm = _algorithm(precision, lhs_aval.dtype)
        return [hlo.dot_general(aval_to_ir_type(out_aval), lhs, rhs, numbers, algorithm=algorithm)]
    wide = product_dtype(lhs_aval.dtype, out_aval.dtype)
    wide_aval = shaped_array(out_aval.shape, wide)
    out = hlo.dot_general(
        aval_to_ir_type(wide_aval),
        convert(lhs, lhs_aval, wide),
        convert(rhs, rhs_aval, wide),
        numbers,
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


def _algorithm(algorithm: DotAlgorithm | DotAlgorithmPreset, operand: DType) -> ir.Attribute:
    """Return an algorithm of products as an attribute; XLA's CPU multiplies what it reads exactly."""
    if isinstance(algorithm, DotAlgorithm):
        lhs, rhs, total = map(dtype_to_ir_type, algorithm[:3])
        return hlo.DotAlgorithm.get(lhs, rhs, total, *algorithm[3:])
    first, *_, last = algorithm.name.removesuffix("_FAST_ACCUM").split("_")
    if first == "ANY":
        one = dtype_to_ir_type(operand)
        return hlo.DotAlgorithm.get(one, one, _named("F32"), 1, 1, 1, algorithm.name == "ANY_F8_ANY_F8_F32_FAST_ACCUM")
    products, sums = (int(last[1:]), "F32") if last[0] == "X" else (1, last)
    return hlo.DotAlgorithm.get(_named(first), _named(first), _named(sums), 1, 1, products, False)


def _named(word: str) -> ir.Type:
    return ir.Type.parse(word.lower())


def _dimension_numbers(numbers: DotDimensionNumbers) -> ir.Attribute:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    return hlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=list(lhs_batch),
        rhs_batching_dimensions=list(rhs_batch),
        lhs_contracting_dimensions=list(lhs_contract),
        rhs_contracting_dimensions=list(rhs_contract),
    )
