"""Calls from a compiled program to Python functions.

One idea: a function of the host has a number in its module, and a custom call names the number.  jaxlib hands the
elements to the function by rows, and copies the bytes of its results, so the layouts are stated.

Read next: `runtime/callbacks.py`, which makes the functions that jaxlib calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Primitive, ShapedArray, eval_context, evaluation, hand_down
from calque_core.engine import HostCall
from calque_xla_backend.modules.lowering import LoweringRuleContext
from calque_xla_backend.modules.meshes import on_each_device, on_first_device, whole
from calque_xla_backend.modules.tokens import current_token, needs_token
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, cached_in_context
from calque_xla_backend.runtime.clients import GPUS

_TARGET = "xla_ffi_python_cpu_callback"
_GPU_TARGET = "xla_ffi_python_gpu_callback"  # of the package of kernels
_TARGETS = (_TARGET, _GPU_TARGET)
_REGIONS = frozenset(("stablehlo.case", "stablehlo.while", "sdy.manual_computation"))
_TYPED_ATTRIBUTES = 4  # the version of custom calls whose attributes have types


def call_host(ctx: LoweringRuleContext, function: HostCall, values: Sequence[IrValue]) -> list[IrValue]:
    """Return the results of a call of `function`, which has the effects of the equation."""
    callbacks, is_ordered = ctx.module_context.callbacks, needs_token(ctx)
    types = [aval_to_ir_type(aval) for aval in function.result_avals]
    layouts = [_by_rows(aval.ndim) for aval in ctx.avals_in], [_by_rows(aval.ndim) for aval in function.result_avals]
    if is_ordered:
        values, types = [current_token(ctx.module_context), *values], [hlo.TokenType.get(), *types]
        layouts = [_by_rows(0), *layouts[0]], [_by_rows(0), *layouts[1]]
    if ctx.module_context.manual is None and len(ctx.module_context.devices) > 1:
        values = [whole(ctx.module_context, x) for x in values]
    call: Any = hlo.CustomCallOp(
        types,
        values,
        _GPU_TARGET if ctx.platform in GPUS else _TARGET,
        has_side_effect=bool(ctx.eqn.effects),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), _TYPED_ATTRIBUTES),
        backend_config=ir.DictAttr.get({"index": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), len(callbacks))}),
        operand_layouts=ir.ArrayAttr.get(layouts[0]),
        result_layouts=ir.ArrayAttr.get(layouts[1]),
    )
    outs = _place(ctx, function, call)
    callbacks.append(function)
    if is_ordered:
        ctx.module_context.token = outs.pop(0)
    return outs


def _place(ctx: LoweringRuleContext, function: HostCall, call: Any) -> list[IrValue]:
    """Let the first device of several call the function on whole arrays, or each device on its shards; return results.

    Raises: TypeError inside a shard_map over some axes of its mesh: XLA divides the operands along the other axes.
    """
    module_context, manual = ctx.module_context, ctx.module_context.manual
    outs = list(call.results)
    if manual is None:
        if len(module_context.devices) > 1:
            call.attributes["sdy.sharding"] = on_first_device(module_context, len(outs))
            outs = [whole(module_context, x) for x in outs]
    elif manual.remaining and manual.mesh.size > 1:
        raise TypeError(
            f"{function!r} is called in a shard_map over {', '.join(map(repr, manual.axes))} of {manual.mesh!r}, where "
            "XLA divides its arrays further. Leave axis_names out of the shard_map, or call the function outside."
        )
    elif manual.mesh.size > 1:
        call.attributes["sdy.sharding"] = on_each_device(module_context, [aval.ndim for aval in function.result_avals])
    return outs


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class HostEvaluation:
    """The evaluation of a primitive on the host, for the programs of a platform that has no kernel for it."""

    primitive: Primitive
    params: Mapping[str, Any]
    result_avals: tuple[ShapedArray, ...]

    def __call__(self, *operands: Any) -> list[Any]:
        """Return the results, in their dtypes and by rows."""
        arrays = [np.asarray(x) for x in operands]
        with eval_context():
            outs = hand_down(evaluation, self.primitive, arrays, dict(self.params))
        return [np.asarray(out, aval.dtype, "C") for out, aval in zip(outs, self.result_avals, strict=True)]

    def __repr__(self) -> str:
        return f"the evaluation of {self.primitive.name} on the host"


def evaluate_on_host(ctx: LoweringRuleContext, *values: IrValue, **params: Any) -> list[IrValue]:
    """Lower an equation to its evaluation by NumPy on the host: a rule for platforms that have no kernel."""
    return call_host(ctx, HostEvaluation(ctx.primitive, params, tuple(ctx.avals_out)), values)


def check_regions(module: ir.Module, callbacks: Sequence[HostCall]) -> None:
    """Check that the calls are in regions of loops and branches alone: XLA ends the process for any other.

    Raises: TypeError that names the function.
    """

    def check(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call" and operation.attributes["call_target_name"].value in _TARGETS:
            holder = operation.parent.operation
            while holder.name in _REGIONS:
                holder = holder.parent.operation
            if holder.name != "func.func":
                numbers.append(operation.attributes["backend_config"]["index"].value)
        return ir.WalkResult.ADVANCE

    numbers: list[int] = []
    module.operation.walk(check)
    if numbers:
        raise TypeError(
            f"{callbacks[numbers[0]]!r} is called in the function of a reduction, where XLA allows no calls to Python. "
            "Use lax.scan or lax.associative_scan in place of the reduction."
        )


def _by_rows(ndim: int) -> ir.Attribute:
    """Return the layout whose last axis has its elements side by side."""
    axes: Any = np.arange(ndim - 1, -1, -1, dtype=np.int64)
    layout: ir.Attribute = cached_in_context(
        ("layout", *axes.tolist()), lambda: ir.DenseElementsAttr.get(axes, type=ir.IndexType.get(), shape=[ndim])
    )
    return layout
