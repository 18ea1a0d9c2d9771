"""Shards of NumPy arrays: cut for each position of a mesh, and joined.

Read next: `lockstep.py`, which runs the program of the positions; `shard_map.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.meshes.mesh import AbstractMesh
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.meshes.shards import full_shape, shard_slices
from calque_core.ops.meshes.lockstep import Column, Positions, positions_of, run_in_lockstep
from calque_core.ops.meshes.shard_specs import body_axes
from calque_core.types.avals import ShapedArray, typeof

Value = Any


def run_shards(
    outer: Positions,
    columns: Sequence[Column],
    manual: AbstractMesh,
    *,
    jaxpr: Jaxpr,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    check_vma: bool,
) -> list[Column]:
    """Return a value for each outer position; `columns` have the whole operands for each position of both meshes."""
    count = len(outer.places)
    shards = [_cut(column, manual, spec, count) for column, spec in zip(columns, in_specs)]
    with body_axes(mesh=manual, axis_names=manual.axis_names, check_vma=False):  # values have no types that name axes
        outs = run_in_lockstep(jaxpr, outer.times(positions_of(manual.shape)), shards)
    starts = range(0, count * manual.size, manual.size)
    return [
        [_joined(column[start : start + manual.size], aval, manual, spec) for start in starts]
        for column, aval, spec in zip(outs, jaxpr.out_avals, out_specs)
    ]


def _cut(column: Column, manual: AbstractMesh, spec: PartitionSpec, count: int) -> Column:
    if not spec.names:
        return column
    slices = shard_slices(typeof(column[0]).shape, manual, spec) * count
    return [x[index] for x, index in zip(column, slices)]


def _joined(shards: Column, aval: ShapedArray, manual: AbstractMesh, spec: PartitionSpec) -> Value:
    """Return the array that has these shards; of positions with the same section, the first one counts."""
    shape = full_shape(aval.shape, manual, spec)
    out = np.empty(shape, aval.dtype)
    for shard, index in reversed(list(zip(shards, shard_slices(shape, manual, spec)))):
        out[index] = shard
    return out if shape else out[()]
