"""Programs on shards, under a transformation with its own values: `shard_map`.

One idea: an array of a value has the axes of the value in front, so the spec of the value cuts it, too; the program of
one position becomes a program on the shards of these arrays.

Read next: `value_programs.py`, the other programs inside programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.meshes.mesh import AnyMesh
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.meshes.shards import full_shape, shard_shape
from calque_core.ops.meshes.shard_map import shard_map_p
from calque_core.ops.meshes.shard_specs import body_axes
from calque_core.traces.trace import run_under
from calque_core.values.value_layouts import Layout, flatten_values, unflatten_values

Value = Any
Specs = Sequence[PartitionSpec]


@shard_map_p.def_rule("value")
def shard_map_on_values(
    trace: Any, args: Sequence[Value], *, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **axes: Any
) -> list[Value]:
    """Bind the program on the shards of arrays, each cut as its value is; `axes` are the mesh and its manual axes.

    Raises: NotImplementedError if values have no arrays: positions could not exchange them.
    """
    if not trace.has_arrays:
        name = type(trace).__name__
        raise NotImplementedError(
            f"{name} cannot cut its values into shards for shard_map{where()}: they have no arrays. Give "
            f"{name}.to_arrays and {name}.from_arrays, or call shard_map outside of the transformation."
        )
    mesh = axes["mesh"]
    arrays, layouts = flatten_values(trace, args)
    cut = [
        _shard_layout(trace, layout, mesh, spec, aval) for layout, spec, aval in zip(layouts, in_specs, jaxpr.in_avals)
    ]
    with body_axes(**axes):
        program = run_under(trace.parent, trace._array_program, jaxpr, cut, [None] * len(out_specs))
    specs = {
        "in_specs": (*[PartitionSpec()] * len(program.consts), *_of_arrays(in_specs, layouts)),
        "out_specs": _of_arrays(out_specs, program.out_layouts),
    }
    operands = [*program.consts, *arrays]
    outs = run_under(trace.parent, shard_map_p.bind, *operands, jaxpr=program.jaxpr, **specs, **axes)
    whole = [_whole_layout(layout, mesh, spec) for layout, spec in zip(program.out_layouts, out_specs)]
    return unflatten_values(trace, whole, outs)


def _of_arrays(specs: Specs, layouts: Sequence[Layout]) -> tuple[PartitionSpec, ...]:
    """Return the spec of each array, from those of the values."""
    return tuple([spec for spec, layout in zip(specs, layouts) for _ in layout.avals])


def _shard_layout(trace: Any, layout: Layout, mesh: AnyMesh, spec: PartitionSpec, shard: Any) -> Layout:
    """Return the layout of a shard, `shard` being the type of the shards of the value."""
    ndim = len(layout.aval.shape)
    for aval in layout.avals:
        if aval.shape[:ndim] != layout.aval.shape:
            name = type(trace).__name__
            raise TypeError(
                f"shard_map{where()} divides a value of type {layout.aval}, but {name}.to_arrays returned an array of "
                f"type {aval}. Return arrays with the axes of the value in front, or process shard_map_p in "
                f"{name}.process_primitive."
            )
    avals = [aval.update(shape=shard_shape(aval.shape, mesh, spec)).varying(shard.vma) for aval in layout.avals]
    return layout._replace(avals=tuple(avals), aval=shard)


def _whole_layout(layout: Layout, mesh: AnyMesh, spec: PartitionSpec) -> Layout:
    return layout._replace(aval=layout.aval.update(shape=full_shape(layout.aval.shape, mesh, spec)).varying(()))
