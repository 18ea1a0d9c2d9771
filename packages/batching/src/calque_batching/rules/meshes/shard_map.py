"""Batching `shard_map`: one `shard_map` of the body for the whole batch, whose batch axis is not divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr, PartitionSpec
from calque_core.engine import body_axes, with_entry
from calque_core.lax import shard_map_p

Value = Any
Specs = Sequence[PartitionSpec]
Dims = Sequence[int | None]


def shard_map_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **how: Any
) -> tuple[list[Value], list[int | None]]:
    """Keep unmapped each result that depends on no mapped operand."""
    if axis.name in how["axis_names"]:  # in the body the name means the axis of the mesh
        axis = axis._replace(name=None)
    with body_axes(**how):
        batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
    specs = {"in_specs": batched_specs(in_specs, dims), "out_specs": batched_specs(out_specs, out_dims)}
    return shard_map_p.bind(*args, jaxpr=batched, **specs, **how), out_dims


def batched_specs(specs: Specs, dims: Dims) -> tuple[PartitionSpec, ...]:
    """Return the specs of whole batches, in which the batch axis has no mesh axis."""
    return tuple(spec if d is None else batched_spec(spec, d, None) for spec, d in zip(specs, dims))


def batched_spec(spec: PartitionSpec, bdim: int, entry: Any) -> PartitionSpec:
    """Return the spec of a whole batch, with `entry` for the batch axis at `bdim`.

    >>> from calque_core import PartitionSpec as P
    >>> batched_spec(P("i"), 2, None)
    PartitionSpec('i', None, None)
    """
    entries = (*spec, *[None] * (bdim - len(spec)))
    return PartitionSpec(*with_entry(entries, bdim, entry))


shard_map_p.def_rule("axis_batch", shard_map_batch)
