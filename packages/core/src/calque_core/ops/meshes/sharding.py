"""The division of an array over a mesh, as a request to the compiler: the primitive `sharding_constraint`.

One idea: it changes no value, so evaluation returns the operand; a compiler divides the array as the spec says.

Read next: `shard_map.py`, which divides arrays itself.
"""

from __future__ import annotations

from typing import Any

from calque_core.meshes.mesh import AnyMesh
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.meshes.shards import check_spec
from calque_core.ops.elementwise.declare import as_result
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, typeof

Value = Any

sharding_constraint_p = Primitive("sharding_constraint", linearity="linear")


@sharding_constraint_p.def_abstract_eval
def sharding_constraint_abstract_eval(x_aval: ShapedArray, *, mesh: AnyMesh, spec: PartitionSpec) -> ShapedArray:
    check_spec(f"sharding_constraint of {x_aval}", x_aval.shape, mesh, spec)
    return x_aval.strip_weak_type()


def sharding_constraint_impl(x: Value, *, mesh: AnyMesh, spec: PartitionSpec) -> Value:
    aval = typeof(x)
    check_spec(f"sharding_constraint of {aval}", aval.shape, mesh, spec)
    return as_result(x)


sharding_constraint_p.def_impl(sharding_constraint_impl)
