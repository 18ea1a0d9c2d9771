"""Batching `sharding_constraint`: the compiler may divide the batch axis as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.rules.meshes.shard_map import batched_spec
from calque_core import PartitionSpec
from calque_core.extend import defbatch
from calque_core.lax import sharding_constraint_p

Value = Any


def sharding_constraint_batch(
    args: Sequence[Value], dims: Sequence[int], *, mesh: Any, spec: PartitionSpec
) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    batched = batched_spec(spec, x_bdim, PartitionSpec.UNCONSTRAINED)
    return sharding_constraint_p.bind(x, mesh=mesh, spec=batched), x_bdim


defbatch(sharding_constraint_p, sharding_constraint_batch)
