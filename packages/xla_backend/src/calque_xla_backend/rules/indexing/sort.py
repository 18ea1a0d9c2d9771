"""Lowering of sorting: a comparison of two rows of operands by their keys.

Keys are compared by their components, so that NaN comes last and equals itself, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import is_float
from calque_core.lax import sort_p
from calque_xla_backend.define import IrValue, compare
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type


@register_lowering(sort_p)
def sort_lowering(
    ctx: LoweringRuleContext, *operands: IrValue, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[IrValue]:
    types = [aval_to_ir_type(aval) for aval in ctx.avals_out]
    op = hlo.SortOp(types, operands, dimension=dimension, is_stable=is_stable)
    scalars = [aval_to_ir_type(aval.update(shape=())) for aval in ctx.avals_out]
    block = op.regions[0].blocks.append(*[scalar for scalar in scalars for _ in range(2)])
    with ir.InsertionPoint(block):
        keys, rows = ctx.avals_out[:num_keys], list(block.arguments)
        hlo.return_([_precedes(_components(keys, rows[0::2]), _components(keys, rows[1::2]))])
    return list(op.results)


def _components(avals: Sequence[ShapedArray], keys: Sequence[IrValue]) -> list[IrValue]:
    return [component for aval, key in zip(avals, keys) for component in _key_components(aval, key)]


def _key_components(aval: ShapedArray, key: IrValue) -> list[IrValue]:
    """Return the components of a key in the order of comparison: whether numbers are NaN, then the numbers."""
    if aval.kind == "c":
        numbers = [hlo.real(key), hlo.imag(key)]
    elif is_float(aval.dtype):
        numbers = [key]
    else:
        return [key]
    return [compare("NE", x, x) for x in numbers] + numbers


def _precedes(xs: Sequence[IrValue], ys: Sequence[IrValue]) -> IrValue:
    """Return whether `xs` comes before `ys` in lexicographic order."""
    out = compare("LT", xs[-1], ys[-1])
    for x, y in zip(xs[-2::-1], ys[-2::-1]):
        is_not_after = hlo.not_(compare("GT", x, y))
        out = hlo.or_(compare("LT", x, y), hlo.and_(is_not_after, out))
    return out
