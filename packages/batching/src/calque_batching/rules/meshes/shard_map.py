"""Batching `shard_map`: one `shard_map` of the body for the whole batch.

One idea: no position divides the batch axis, except along the mesh axes that `vmap` gives for it.  The body does not
communicate along these, so each position of them runs the body for a part of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr, PartitionSpec, ShapeError
from calque_core.engine import body_axes, named_axes, widened, with_entry
from calque_core.extend import where
from calque_core.lax import shard_map_p

Value = Any
Specs = Sequence[PartitionSpec]
Dims = Sequence[int | None]


def shard_map_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **how: Any
) -> tuple[list[Value], list[int | None]]:
    """Keep unmapped each result that depends on no mapped operand."""
    divided = tuple(name for name in axis.mesh_axes if name in how["axis_names"])
    with body_axes(**how):
        if divided:
            check_unused("shard_map", divided, *in_specs, *out_specs)
            jaxpr, axis = _part(axis, jaxpr, dims, divided, **how)
        if axis.name in how["axis_names"]:  # in the body the name means the axis of the mesh
            axis = axis._replace(name=None)
        batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
    specs = {
        "in_specs": batched_specs(in_specs, dims, divided),
        "out_specs": batched_specs(out_specs, out_dims, divided),
    }
    return shard_map_p.bind(*args, jaxpr=batched, **specs, **how), out_dims


def _part(
    axis: AxisData, jaxpr: Jaxpr, dims: Dims, divided: tuple[Any, ...], *, mesh: Any, check_vma: bool, **_: Any
) -> tuple[Jaxpr, AxisData]:
    """Return the body for operands that vary along the mesh axes `divided`, and the axis of a part of the batch.

    Raises: ShapeError if the parts would differ in size; ValueError for a body that needs the whole batch.
    """
    named = named_axes({"jaxpr": jaxpr}).intersection([*divided, axis.name])
    if named:
        raise ValueError(
            f"vmap{where()} divides its axis by spmd_axis_name={divided}, but the function of a shard_map in it names "
            f"the axis {min(named, key=repr)!r}. Use other mesh axes in it, and no collective over the mapped axis."
        )
    count = prod(mesh.shape[name] for name in divided)
    if axis.size % count:
        raise ShapeError(
            f"vmap{where()} divides its axis of size {axis.size} by spmd_axis_name={divided} into {count} parts of one "
            "size. Pad the batch, or leave spmd_axis_name out."
        )
    vma = frozenset(divided if check_vma else ())
    varying = widened(jaxpr, [frozenset() if d is None else vma for d in dims])
    return varying, axis._replace(size=axis.size // count, mesh_axes=())


def check_unused(caller: str, mesh_axes: Sequence[Any], *specs: PartitionSpec) -> None:
    """Check that no spec in a mapped function names the mesh axes that divide the mapped axis."""
    for spec in specs:
        for name in mesh_axes:
            if name in spec.names:
                raise ValueError(
                    f"vmap{where()} divides its axis by spmd_axis_name={name!r}, but a {caller} in it has {spec!r}. "
                    "Use another mesh axis for one of them."
                )


def batched_specs(specs: Specs, dims: Dims, entry: tuple[Any, ...]) -> tuple[PartitionSpec, ...]:
    """Return the specs of whole batches, in which the batch axis is divided by the mesh axes `entry`."""
    return tuple(spec if d is None else batched_spec(spec, d, entry) for spec, d in zip(specs, dims))


def batched_spec(spec: PartitionSpec, bdim: int, entry: Any) -> PartitionSpec:
    """Return the spec of a whole batch, with `entry` for the batch axis at `bdim`.

    >>> from calque_core import PartitionSpec as P
    >>> batched_spec(P("i"), 2, None)
    PartitionSpec('i', None, None)
    """
    entries = (*spec, *[None] * (bdim - len(spec)))
    return PartitionSpec(*with_entry(entries, bdim, entry))


shard_map_p.def_rule("axis_batch", shard_map_batch)
