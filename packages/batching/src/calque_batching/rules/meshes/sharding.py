"""Batching `sharding_constraint`: the mesh axes of the `vmap` divide the batch axis, else the compiler as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.rules.meshes.shard_map import batched_spec, check_unused
from calque_core import PartitionSpec
from calque_core.lax import sharding_constraint_p

Value = Any


def sharding_constraint_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int], *, mesh: Any, spec: PartitionSpec
) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    check_unused("sharding_constraint", axis.mesh_axes, spec)
    batched = batched_spec(spec, x_bdim, axis.mesh_axes or PartitionSpec.UNCONSTRAINED)
    return sharding_constraint_p.bind(x, mesh=mesh, spec=batched), x_bdim


sharding_constraint_p.def_rule("axis_batch", sharding_constraint_batch)
