"""`smap`: a `shard_map` over one axis of the mesh, with axes of arrays in place of specs.

Read next: `shard_map.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from calque_core.calls.api_util import check_callable
from calque_core.frames.source import describe_function, where
from calque_core.frames.tracebacks import api_boundary
from calque_core.meshes.mesh import AxisName
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.ops.meshes.shard_map import shard_map
from calque_core.types.avals import short_repr
from calque_pytree import tree_map

Axes = Any  # a pytree of integers and None


@api_boundary
def smap(
    f: Callable[..., Any] | None = None, /, *, in_axes: Axes, out_axes: Axes, axis_name: AxisName
) -> Callable[..., Any]:
    """Return `f` as a function of shards along one axis of the mesh of `config.set_mesh`.

    `in_axes` and `out_axes` are pytree prefixes of the arguments and of the result: an integer is the axis of an array
    that is divided, None says that each position has the whole array.  Without `f`, the result is a decorator.
    Shapes and refusals: as for `shard_map`.
    Raises: ValueError for an axis that is no integer of zero or more.

    >>> import numpy as np
    >>> from calque_core import AbstractMesh, config, lax, smap
    >>> total = smap(lambda x: lax.psum(x, "i"), in_axes=1, out_axes=None, axis_name="i")
    >>> with config.set_mesh(AbstractMesh((2,), ("i",))):
    ...     total(np.arange(8.0).reshape(2, 4))
    array([[ 2.,  4.],
           [10., 12.]])
    """
    if f is None:
        return partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    check_callable(f, "smap")
    caller = f"smap of {describe_function(f)}{where()}"
    in_specs, out_specs = (
        tree_map(partial(_spec, f"{caller}: {name}", axis_name), axes, is_leaf=lambda x: x is None)
        for name, axes in (("in_axes", in_axes), ("out_axes", out_axes))
    )
    return shard_map(f, in_specs=in_specs, out_specs=out_specs, axis_names={axis_name})


def _spec(place: str, name: AxisName, axis: Any) -> PartitionSpec:
    """Return the spec of an array that is divided along an axis."""
    if axis is None:
        return PartitionSpec()
    if not isinstance(axis, int) or isinstance(axis, bool) or axis < 0:
        raise ValueError(f"{place} has {short_repr(axis)}. Give an axis of zero or more, or None.")
    return PartitionSpec(*[None] * axis, name)
