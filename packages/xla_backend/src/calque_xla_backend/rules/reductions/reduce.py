"""Lowering of reductions: an identity, and a region that combines two elements.

Half precision is summed in single precision, as in evaluation.

Where XLA divides the operands over devices, it combines the results of the devices by a collective, which drops the NaN
of an extreme, and which exists for few operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Primitive, ShapedArray
from calque_core.engine import highest, lowest, reduced_shape
from calque_core.extend import Shape, is_float, shaped_array, wide_dtype
from calque_core.lax import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from calque_xla_backend.define import (
    Builder,
    IrValue,
    compare,
    compare_by_order,
    floats_of_integers,
    maximum,
    minimum,
    ordered_dtype,
    ordered_integers,
)
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.meshes import undivided_along
from calque_xla_backend.modules.types import aval_to_ir_type, scalar_constant
from calque_xla_backend.rules.elementwise.convert import convert

DType = np.dtype[Any]
Combine = Callable[..., Sequence[IrValue]]


def reduce(
    values: Sequence[IrValue],
    inits: Sequence[IrValue],
    out_avals: Sequence[ShapedArray],
    axes: Shape,
    combine: Combine,
) -> Sequence[IrValue]:
    """Return `values` reduced together along `axes`; `combine` takes two elements, one scalar per value each."""
    types = [aval_to_ir_type(aval) for aval in out_avals]
    scalars = [aval_to_ir_type(shaped_array((), aval.dtype)) for aval in out_avals]
    op = hlo.ReduceOp(types, values, inits, axes)
    block = op.regions[0].blocks.append(*scalars, *scalars)
    with ir.InsertionPoint(block):
        hlo.return_(combine(*block.arguments))
    return list(op.results)


def reduction(primitive: Primitive, build: Builder, identity: Callable[[DType], Any]) -> None:
    """Lower a reduction to an operation of two elements, which has an identity in each dtype."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, x: IrValue, *, axes: Shape, **_: bool) -> Sequence[IrValue]:
        (x_aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
        init = scalar_constant(identity(out_aval.dtype), out_aval.dtype)
        dropped = shaped_array(reduced_shape(x_aval.shape, axes), out_aval.dtype)
        if not ctx.is_divided:
            out = _reduced(build, x, init, dropped, axes)
        elif build in (maximum, minimum) and x_aval.kind == "f":
            out = _extreme_of_floats(build, x, init, dropped, axes, x_aval)
        else:
            is_combined = x_aval.kind in "iu" if build in (maximum, minimum) else x_aval.kind == "b"
            whole = x if is_combined else undivided_along(ctx.module_context, x, axes)
            out = _reduced(build, whole, init, dropped, axes)
        return [with_axes(out, dropped, out_aval)]


def _reduced(build: Builder, x: IrValue, init: IrValue, aval: ShapedArray, axes: Shape) -> IrValue:
    return reduce([x], [init], [aval], axes, lambda a, b: [build(a, b)])[0]


def _extreme_of_floats(
    build: Builder, x: IrValue, init: IrValue, aval: ShapedArray, axes: Shape, x_aval: ShapedArray
) -> IrValue:
    integers = ordered_integers(build, x, x_aval)
    start = ordered_integers(build, init, aval.update(shape=()))
    integers_aval = aval.update(dtype=ordered_dtype(aval.dtype))
    return floats_of_integers(_reduced(build, integers, start, integers_aval, axes), aval)


def wide_reduction(primitive: Primitive, build: Builder, identity: int) -> None:
    """Lower a reduction that combines half precision in single precision."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, x: IrValue, *, axes: Shape, **_: bool) -> Sequence[IrValue]:
        (x_aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
        wide_aval = shaped_array(reduced_shape(x_aval.shape, axes), wide_dtype(x_aval.dtype))
        wide_x = convert(x, x_aval, wide_aval.dtype)
        init = scalar_constant(identity, wide_aval.dtype)
        (out,) = reduce([wide_x], [init], [wide_aval], axes, lambda a, b: [build(a, b)])
        return [with_axes(convert(out, wide_aval, out_aval.dtype), wide_aval, out_aval)]


def with_axes(out: IrValue, dropped: ShapedArray, out_aval: ShapedArray) -> IrValue:
    """Return the result of a reduction, which drops its axes, in the shape of the equation, which may keep them."""
    return out if dropped.shape == out_aval.shape else hlo.reshape(aval_to_ir_type(out_aval), out)


wide_reduction(reduce_sum_p, hlo.add, 0)
wide_reduction(reduce_prod_p, hlo.multiply, 1)
reduction(reduce_max_p, maximum, lowest)
reduction(reduce_min_p, minimum, highest)
reduction(reduce_and_p, hlo.and_, lambda dtype: np.invert(dtype.type(0)))
reduction(reduce_or_p, hlo.or_, lambda dtype: 0)
reduction(reduce_xor_p, hlo.xor, lambda dtype: 0)

# Positions of extreme elements


def arg_reduction(primitive: Primitive, direction: str, identity: Callable[[DType], Any]) -> None:
    """Lower the position of the element that compares `direction` to every other element; NaN comes before numbers."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, x: IrValue, *, axes: Shape, index_dtype: DType) -> Sequence[IrValue]:
        (x_aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
        positions = hlo.iota(aval_to_ir_type(x_aval.update(dtype=index_dtype)), axes[0])
        avals = [out_aval.update(dtype=x_aval.dtype), out_aval]
        beats = partial(_beats, direction, is_float(x_aval.dtype))
        inits = [scalar_constant(identity(x_aval.dtype), x_aval.dtype), scalar_constant(0, index_dtype)]
        return reduce([x, positions], inits, avals, axes, partial(_first_best, beats))[1:]


def _beats(direction: str, has_nan: bool, a: IrValue, b: IrValue) -> IrValue:
    is_better = compare_by_order(direction, a, b)
    if not has_nan:
        return is_better
    return hlo.or_(is_better, hlo.and_(compare("NE", a, a), compare("EQ", b, b)))


def _first_best(
    beats: Callable[[IrValue, IrValue], IrValue], a: IrValue, a_position: IrValue, b: IrValue, b_position: IrValue
) -> Sequence[IrValue]:
    """Return the better of two elements, or the first of equal elements, in any order of combination."""
    is_tie_won = hlo.and_(hlo.not_(beats(b, a)), compare("LT", a_position, b_position))
    is_a = hlo.or_(beats(a, b), is_tie_won)
    return [hlo.select(is_a, a, b), hlo.select(is_a, a_position, b_position)]


arg_reduction(argmax_p, "GT", lowest)
arg_reduction(argmin_p, "LT", highest)
