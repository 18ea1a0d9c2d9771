"""Arrays over the devices of several processes, from the elements that each process has.

Read next: `runtime/assembly.py`, arrays from one part for each device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import typeof
from calque_core.engine import check_spec, describe_value, is_array_like
from calque_core.extend import Shape, where
from calque_xla_backend.runtime.array import Array, array_from_numpy
from calque_xla_backend.runtime.assembly import make_array_from_single_device_arrays
from calque_xla_backend.runtime.placement import Placement, placement, placement_of_sharding
from calque_xla_backend.runtime.sharding import NamedSharding, parts_of

_CALLER = "make_array_from_process_local_data"


def make_array_from_process_local_data(
    sharding: NamedSharding, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """Return an array divided by `sharding` over the devices of all processes; each gives the elements of its own.

    Along each axis, `local_data` has the parts that the devices of this process hold, in their order; or the whole
    axis, if `global_shape` says so.  Without `global_shape`, the parts have one size in all processes.
    Shapes: local_data [*s] -> `global_shape`, or each axis times the number of parts over the number of local parts.
    Raises: TypeError if `sharding` is no NamedSharding or `local_data` no array; ValueError for a shape that does not
    fit.

    >>> import numpy as np
    >>> from calque_core import PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, make_array_from_process_local_data, make_mesh
    >>> make_array_from_process_local_data(NamedSharding(make_mesh((1,), "batch"), P("batch")), np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    if type(sharding) is not NamedSharding:
        raise TypeError(f"{_CALLER}{where()} got {describe_value(sharding)} as its sharding. Use a NamedSharding.")
    if not is_array_like(local_data):
        raise TypeError(f"{_CALLER}{where()} got {describe_value(local_data)} as local_data. Use a NumPy array.")
    data = np.asarray(local_data, typeof(local_data).dtype)
    check_spec(_CALLER, (0,) * data.ndim, sharding.mesh, sharding.spec)
    place = placement_of_sharding(sharding, data.ndim)
    held = _parts_held(place, parts_of(sharding, data.ndim))
    shape = _global_shape(sharding, held, data.shape, global_shape)
    check_spec(_CALLER, shape, sharding.mesh, sharding.spec)
    part_shape = place.shard_shape(shape)
    pieces = []
    for i, numbers in zip(place.local, held, strict=True):
        index = []
        for axis, number in enumerate(numbers):
            is_whole = data.shape[axis] == shape[axis]
            start = part_shape[axis] * (number if is_whole else _axis_parts(held, axis).index(number))
            index.append(slice(start, start + part_shape[axis]))
        pieces.append(array_from_numpy(data[tuple(index)], placement(place.devices[i])))
    return make_array_from_single_device_arrays(shape, sharding, pieces)


def _parts_held(place: Placement, parts: Shape) -> list[tuple[int, ...]]:
    """Return, for each device of this process, the number of its part along each axis."""
    indices = place.shards(parts)  # of an array whose parts have one element
    return [tuple([part.start or 0 for part in indices[i]]) for i in place.local]


def _axis_parts(held: Sequence[tuple[int, ...]], axis: int) -> list[int]:
    """Return the numbers of the parts along an axis that some device of this process holds, in order."""
    return sorted({numbers[axis] for numbers in held})


def _global_shape(
    sharding: NamedSharding, held: Sequence[tuple[int, ...]], local: Shape, global_shape: Sequence[int] | None
) -> Shape:
    """Return the shape of the whole array.  Raises: ValueError if the local shape does not fit."""
    parts = parts_of(sharding, len(local))
    counts = [len(_axis_parts(held, axis)) for axis in range(len(local))]
    shape = tuple([size * n // count for size, n, count in zip(local, parts, counts)])
    if global_shape is None:
        fits = all(size % count == 0 for size, count in zip(local, counts))
    else:
        whole = tuple(map(int, global_shape))
        fits = len(whole) == len(local) and all(a in (b, c) for a, b, c in zip(whole, shape, local))
        shape = whole
    if not fits:
        text = "" if global_shape is None else f" for the global_shape {shape}"
        raise ValueError(
            f"{_CALLER}{where()} got local_data of the shape {local}{text}, but the devices of this process hold "
            f"{tuple(counts)} of {parts} parts of its axes. Give their elements, or a global_shape that fits."
        )
    return shape
