"""Programs for one shard: the axes over which a program divides its arrays by hand, and the devices along them.

One idea: inside a `shard_map`, the types are those of shards, and a collective combines the devices that differ along
the named axes only.  A rule may emit other operations for an equal equation under another mesh, so each choice of mesh
and axes has its own templates and functions.

Read next: `rules/meshes/shard_map.py`, which enters such a program; `rules/meshes/collective.py`, the operations
inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import PartitionSpec
from calque_core.engine import AnyMesh, entered, here
from calque_core.extend import where
from calque_xla_backend.modules.lowering import LoweringRuleContext, ModuleContext
from calque_xla_backend.modules.meshes import Numbers, device_numbers, mesh_axes, sharding_attribute
from calque_xla_backend.modules.recording import Recorded, Templates
from calque_xla_backend.modules.types import IrValue, cached_in_context

AxisName = Any

_DEVICE_TO_DEVICE = 1  # the kind of channel between devices of one program


@dataclass(frozen=True, slots=True)
class Manual:
    """A mesh, and its axes over which the program at the insertion point is divided by hand, in the mesh's order."""

    mesh: AnyMesh
    axes: tuple[AxisName, ...]

    @property
    def remaining(self) -> tuple[AxisName, ...]:
        """The axes over which XLA divides the arrays."""
        return tuple([name for name in self.mesh.axis_names if name not in self.axes])


@contextmanager
def inside(module_context: ModuleContext, mesh: AnyMesh, axes: Sequence[AxisName]) -> Iterator[Manual]:
    """Lower the program in the block for one shard along `axes`, in addition to the axes of outer programs."""
    outer = module_context.manual
    if outer is not None and outer.mesh.abstract_mesh != mesh.abstract_mesh:
        raise ValueError(
            f"a shard_map over {mesh!r} is called inside one over {outer.mesh!r}{where()}. Use one mesh for both, and "
            "choose the axes of each with axis_names."
        )
    held = {*axes, *(() if outer is None else outer.axes)}
    manual = Manual(mesh, tuple([name for name in mesh.axis_names if name in held]))
    caches = module_context.templates, module_context.functions, module_context.traced
    module_context.templates, module_context.functions, module_context.traced = module_context.caches.setdefault(
        manual, (Templates(Recorded()), {}, {})
    )
    module_context.manual, steps, module_context.steps = manual, module_context.steps, ()
    try:
        with entered(axis_env=(*here().axis_env, *[(name, mesh.shape[name]) for name in axes])):
            yield manual
    finally:
        module_context.manual, module_context.steps = outer, steps
        module_context.templates, module_context.functions, module_context.traced = caches


def manual_computation(
    module_context: ModuleContext,
    manual: Manual,
    axes: Sequence[AxisName],
    operands: Sequence[tuple[IrValue, PartitionSpec]],
    results: Sequence[tuple[ir.Type, PartitionSpec]],
) -> Any:
    """Return an operation that divides its operands, each with its spec, along `axes` of the mesh of `manual`.

    The caller emits its region, whose program sees shards, and whose results are joined to results of the given types.
    """

    def attributes(types: Sequence[ir.Type], specs: Sequence[PartitionSpec]) -> sdy.TensorShardingPerValueAttr:
        pairs = zip(types, specs)
        ranks = [(ir.RankedTensorType(each).rank, spec) for each, spec in pairs]
        is_open = bool(manual.remaining)
        return sdy.TensorShardingPerValueAttr.get(
            [sharding_attribute(module_context, manual.mesh, spec, ndim, is_open=is_open) for ndim, spec in ranks]
        )

    names = mesh_axes(manual.mesh)
    return sdy.ManualComputationOp(
        [each for each, _ in results],
        [x for x, _ in operands],
        attributes([x.type for x, _ in operands], [spec for _, spec in operands]),
        attributes([each for each, _ in results], [spec for _, spec in results]),
        sdy.ManualAxesAttr.get([ir.StringAttr.get(names[name]) for name in axes]),
    )


def manual_axes(ctx: LoweringRuleContext, axes: Sequence[AxisName]) -> Manual:
    """Return the mesh and the axes of the program of `ctx`.

    Raises: NameError if one of `axes` is not among them.
    """
    manual: Manual | None = ctx.module_context.manual
    for axis in axes:
        if manual is None or axis not in manual.axes:
            bound = ", ".join(map(repr, () if manual is None else manual.axes)) or "none"
            raise NameError(
                f"unbound axis name: {axis}. {ctx.primitive.name} needs a mapped axis of that name, and the compiled "
                f"program has: {bound}. Call it in a function under vmap(..., axis_name={axis!r}), pmap or shard_map."
            )
    assert manual is not None, ctx.primitive
    return manual


def devices_along(ctx: LoweringRuleContext, axes: Sequence[AxisName]) -> int:
    """Return the number of devices in a group along `axes`: with one, a collective is no operation."""
    sizes = manual_axes(ctx, axes).mesh.shape
    return prod(sizes[axis] for axis in axes)


def groups_along(ctx: LoweringRuleContext, axes: Sequence[AxisName]) -> Numbers:
    """Return the numbers of the devices that differ along `axes` only, one group a row, the last axis fastest."""
    manual = manual_axes(ctx, axes)
    numbers = device_numbers(ctx.module_context, manual.mesh)
    places = [manual.mesh.axis_names.index(axis) for axis in axes]
    last = np.moveaxis(numbers, places, range(numbers.ndim - len(places), numbers.ndim))
    return last.reshape(-1, devices_along(ctx, axes))


def replica_groups(ctx: LoweringRuleContext, axes: Sequence[AxisName]) -> ir.DenseElementsAttr:
    """Return the attribute of a collective for the groups of devices along `axes`."""
    return pairs_attribute(groups_along(ctx, axes))


def pairs_attribute(numbers: Numbers) -> ir.DenseElementsAttr:
    """Return rows of numbers of devices as an attribute."""
    rows: Any = np.ascontiguousarray(numbers, np.int64)
    key = ("numbers of devices", rows.shape, rows.tobytes())
    attribute: ir.DenseElementsAttr = cached_in_context(key, lambda: ir.DenseElementsAttr.get(rows))
    return attribute


def channel() -> Any:
    """Return the attribute of a collective among the devices of one program."""
    return hlo.ChannelHandle.get(1, _DEVICE_TO_DEVICE)
