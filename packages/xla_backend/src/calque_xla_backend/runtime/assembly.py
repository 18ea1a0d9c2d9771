"""Arrays over several devices from their parts: a function of the index, or arrays on single devices.

One idea: a process gives the parts on its own devices, and the whole array need never be in one place.

Read next: `shards.py`, which takes an array apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import is_tracer, typeof
from calque_core.engine import check_spec, describe_value
from calque_core.extend import Shape, shaped_array, where
from calque_xla_backend.runtime.array import Array, array_from_numpy, wrap
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.placement import Placement, device_type, placement, placement_of_sharding
from calque_xla_backend.runtime.sharding import SHARDINGS, Index, NamedSharding, Sharding

Value = Any


def make_array_from_callback(
    shape: Sequence[int], sharding: Sharding, data_callback: Callable[[Index], Value], dtype: Any = None
) -> Array:
    """Return an array of `shape` whose elements at an index, a tuple of slices, are `data_callback(index)`.

    The callback is called once for each part that a device of this process holds.
    Dtype: `dtype`, or that of the first part.
    Raises: TypeError for a part that is no array; ValueError for a part of another shape; ShapeError, with the numbers,
    if the sharding does not divide the shape evenly.

    >>> import numpy as np
    >>> from calque_core import PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, make_array_from_callback, make_mesh
    >>> numbers = np.arange(4.0)
    >>> make_array_from_callback((4,), NamedSharding(make_mesh((1,), "x"), P("x")), lambda index: numbers[index])
    Array([0., 1., 2., 3.], dtype=float64)
    """
    caller, whole = "make_array_from_callback", tuple(map(int, shape))
    place, parts = _place(caller, whole, sharding), dict[Any, np.ndarray[Any, Any]]()
    part_shape, indices, pieces = place.shard_shape(whole), place.shards(whole), []
    for i in place.local:
        key = tuple([(part.start, part.stop) for part in indices[i]])
        if key not in parts:
            parts[key] = _part(caller, data_callback(indices[i]), indices[i], part_shape, dtype)
            dtype = parts[key].dtype
        pieces.append(array_from_numpy(parts[key], placement(place.devices[i])))
    return _joined(whole, place, pieces)


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding, arrays: Sequence[Array]) -> Array:
    """Return an array of `shape` whose parts are `arrays`, one on each device of this process; nothing is copied.

    Raises: TypeError for a value that is no array on one device; ValueError for a missing device or for a part of
    another type; ShapeError, with the numbers, if the sharding does not divide the shape evenly.

    >>> import numpy as np
    >>> from calque_core import PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, device_put, make_array_from_single_device_arrays, make_mesh
    >>> rows = NamedSharding(make_mesh((1,), "x"), P("x"))
    >>> make_array_from_single_device_arrays((2,), rows, [device_put(np.ones(2))])
    Array([1., 1.], dtype=float64)
    """
    caller, whole = "make_array_from_single_device_arrays", tuple(map(int, shape))
    place = _place(caller, whole, sharding)
    by_device: dict[Device, Array] = {}
    for i, x in enumerate(arrays):
        if type(x) is not Array or x._device_type.placement.is_divided:
            raise TypeError(
                f"{caller}{where()} got {describe_value(x)} as arrays[{i}]. Give arrays on one device each."
            )
        by_device[x.device] = x
    devices = [place.devices[i] for i in place.local]
    missing = [str(device) for device in devices if device not in by_device]
    if missing or len(arrays) != len(devices):
        raise ValueError(
            f"{caller}{where()} got {len(arrays)} arrays for {len(devices)} devices"
            f"{f', none on {missing[0]}' if missing else ''}. Give one array for each device of this process."
        )
    pieces = [by_device[device] for device in devices]
    aval = typeof(pieces[0]).update(shape=place.shard_shape(whole), weak_type=False)
    for x in pieces:
        if typeof(x).strip_weak_type() != aval:
            raise ValueError(
                f"{caller}{where()} got an array of type {typeof(x)} on {x.device}, but the shards have type {aval}. "
                "Give shards of one type."
            )
    return _joined(whole, place, pieces)


def _place(caller: str, shape: Shape, sharding: Sharding) -> Placement:
    if not isinstance(sharding, SHARDINGS):
        raise TypeError(f"{caller}{where()} got {describe_value(sharding)} as its sharding. Use a NamedSharding.")
    if isinstance(sharding, NamedSharding):
        check_spec(caller, shape, sharding.mesh, sharding.spec)
    return placement_of_sharding(sharding, len(shape))


def _part(caller: str, value: Value, index: Index, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
    """Return a part as a NumPy array.  Raises: TypeError or ValueError if it is no array or of another shape."""
    if is_tracer(value):
        raise TypeError(f"{caller}{where()}: data_callback returned a traced value for {index}. Return an array.")
    part = np.asarray(value, typeof(value).dtype if dtype is None else dtype)
    if part.shape != shape:
        raise ValueError(
            f"{caller}{where()}: data_callback returned an array of the shape {part.shape} for {index}, whose elements "
            f"have the shape {shape}. Return the elements at the index."
        )
    return part


def _joined(shape: Shape, place: Placement, pieces: Sequence[Array]) -> Array:
    target = device_type(shaped_array(shape, typeof(pieces[0]).dtype), place)
    if not place.is_divided:
        return pieces[0]
    return wrap([target.handler([x._buffer for x in pieces])], [target])[0]
