"""Devices, and transfers of arrays to and from them.

Read next: `array.py`, the class of device arrays; `runtime.py`, the source of devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import PartitionSpec, ShapeDtypeStruct, is_tracer, typeof
from calque_core.engine import (
    UNCONSTRAINED,
    arg_names,
    check_spec,
    is_array_like,
    lowered,
    own_types,
    raised,
    register_devices,
)
from calque_core.extend import check_arrays, where
from calque_pytree import PyTreeDef, flatten_axes, tree_flatten, tree_leaves, tree_map
from calque_xla_backend.runtime.array import Array, array_from_numpy, wrap
from calque_xla_backend.runtime.clients import GPUS, Device, DeviceClass, all_devices, devices_of, local_devices
from calque_xla_backend.runtime.mesh import resolve
from calque_xla_backend.runtime.placement import (
    CONVERT,
    Placement,
    device_type,
    is_unknown,
    placement,
    placement_of_sharding,
)
from calque_xla_backend.runtime.runtime import XlaRuntimeError, live_buffers, wait_for_all
from calque_xla_backend.runtime.sharding import SHARDINGS, NamedSharding, SingleDeviceSharding

Tree = Any


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices that programs can run on: of the default platform, or of the platform `backend`.

    In a program of several processes these are the devices of all of them; `local_devices` gives those of this one.
    Raises: RuntimeError that lists the available platforms, if `backend` is not one of them.

    >>> from calque_xla_backend import devices
    >>> [device.platform for device in devices()]
    ['cpu']
    """
    return all_devices() if backend is None else list(devices_of(backend, "devices")[0].client.devices())


def device_count() -> int:
    """Return the number of devices of the default platform, in all processes of the program.

    >>> from calque_xla_backend import device_count
    >>> device_count()
    1
    """
    return len(all_devices())


def default_backend() -> str:
    """Return the platform on which programs run by default: "cpu", "gpu" for any kind of GPU, or a plugin's name.

    >>> from calque_xla_backend import default_backend
    >>> default_backend()
    'cpu'
    """
    platform = placement().platform
    return "gpu" if platform in GPUS else platform


def device_put(x: Tree, device: Tree = None) -> Tree:
    """Return a pytree of arrays and scalars as arrays on a device, or divided over several.

    `device` is a device, a sharding, or a spec over the mesh of `config.set_mesh`; or a pytree of these that is a
    prefix of `x`.  None means the device of the setting `default_device`, or else the first one.  Arrays that are there
    are returned unchanged, with None all arrays on devices; so are tracers: a program is placed as a whole.
    Raises: TypeError if a leaf is not an array, or has a dtype that XLA lacks; ValueError if `device` holds anything
    else, or is no prefix of `x`; ShapeError, with the path and the numbers, for a leaf that a sharding does not divide
    evenly.

    >>> from calque_xla_backend import device_put, devices
    >>> device_put({"w": 2.0})
    {'w': Array(2., dtype=float64)}
    >>> device_put({"w": 2.0, "b": 3.0}, {"w": devices()[0], "b": None})["w"].device
    CpuDevice(id=0)
    """
    leaves, tree = tree_flatten(x)
    targets = _targets(device, tree)
    if not all(map(is_array_like, leaves)):  # to look for the place takes 30 us
        check_arrays(leaves, lambda: arg_names(device_put, (x,), {}), f"device_put{where()}")
    for i, (leaf, target) in enumerate(zip(leaves, targets)):
        if type(leaf) in own_types:
            continue
        if isinstance(leaf, ShapeDtypeStruct):
            name = arg_names(device_put, (x,), {})[i]
            raise TypeError(f"device_put{where()}: {name} is {leaf!r}, a type instead of an array. Pass an array.")
        if is_unknown(dtype := typeof(leaf).dtype):
            name = arg_names(device_put, (x,), {})[i]
            raise TypeError(f"device_put{where()}: {name} has the dtype {dtype}, which XLA lacks. {CONVERT}.")
        if isinstance(target, NamedSharding):
            name = arg_names(device_put, (x,), {})[i]
            aval = typeof(leaves[i])
            check_spec(f"device_put of {name}, {aval},", aval.shape, target.mesh, target.spec)
    return tree.unflatten([_put_leaf(leaf, target) for leaf, target in zip(leaves, targets, strict=True)])


def _targets(device: Tree, tree: PyTreeDef) -> list[Any]:
    """Return the device or the sharding of each leaf, None where the arrays decide."""
    if device is None or isinstance(device, (DeviceClass, *SHARDINGS, PartitionSpec)):  # 1 us less than as a prefix
        return [resolve(device, "device_put")] * tree.num_leaves
    prefix = flatten_axes("the argument device of device_put", tree, device)
    return [resolve(target, "device_put") for target in prefix]


def place_of(device: Any, ndim: int, caller: str) -> Placement | None:
    """Return the placement of an array of `ndim` axes on a device or with a sharding, None for None.

    Raises: ValueError in the name of `caller`.
    """
    if device is None:
        return None
    if isinstance(device, NamedSharding):
        if UNCONSTRAINED in device.spec.entries:
            raise ValueError(f"{caller}{where()} got {device!r}, which leaves an axis open. Use None or a name for it.")
        return placement_of_sharding(device, ndim)
    if isinstance(device, SingleDeviceSharding):
        device = device.device
    if not isinstance(device, DeviceClass):
        known = ", ".join(map(repr, local_devices()))
        raise ValueError(
            f"{caller}{where()} got {device!r}, which is not a device. Use one of: {known}; or a sharding."
        )
    return placement(device)


def _put_leaf(x: Any, target: Any) -> Any:
    if is_tracer(x):
        return x
    if type(x) in own_types:
        return raised([_put_leaf(array, target) for array in lowered(x)], typeof(x))
    if type(x) is not Array:
        return array_from_numpy(x, place_of(target, np.ndim(x), "device_put"))
    place = place_of(target, len(x.shape), "device_put")
    if place is None or place is x._device_type.placement:
        return x
    aval = x._device_type.aval
    if place.canonical is x._device_type.placement.canonical:
        return wrap([x._buffer], [device_type(aval, place)])[0]
    if not (x.is_fully_addressable or x.is_fully_replicated):
        raise ValueError(
            f"device_put{where()} got an array of type {aval} with elements on devices of other processes, which only "
            "programs move. Use jit(lambda x: x, out_shardings=sharding) in all processes."
        )
    return array_from_numpy(x.__array__(), place, aval.weak_type)


def device_get(x: Tree) -> Tree:
    """Return a pytree with its device arrays as read-only NumPy arrays, which share memory if they can.

    >>> from calque_xla_backend import device_get, device_put
    >>> device_get([device_put(2.0), 3.0])
    [array(2.), 3.0]
    """
    return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    if type(leaf) in own_types:
        return raised([*map(_on_host, lowered(leaf))], typeof(leaf))
    return np.asarray(leaf) if type(leaf) is Array else leaf


def block_until_ready(x: Tree) -> Tree:
    """Wait until the device arrays of a pytree are computed; return the pytree.

    Raises: RuntimeError for an array that was deleted, donated or not computed.

    >>> from calque_xla_backend import block_until_ready, device_put
    >>> block_until_ready([device_put(2.0)])
    [Array(2., dtype=float64)]
    """
    arrays = [array for leaf in tree_leaves(x) for array in lowered(leaf) if type(array) is Array]
    try:
        wait_for_all([array._buffer for array in arrays])  # 0.05 us an array; one by one they take 0.35
    except XlaRuntimeError:
        for array in arrays:
            array.block_until_ready()  # names the one that failed
        raise
    return x


def live_arrays() -> list[Array]:
    """Return every array that is in the memory of a device, as new objects on the same memory.

    Arrays that compiled programs hold, such as their constants, are among them.

    >>> import numpy as np
    >>> from calque_xla_backend import device_put, live_arrays
    >>> x = device_put(np.arange(3))
    >>> x.unsafe_buffer_pointer() in [y.unsafe_buffer_pointer() for y in live_arrays()]
    True
    """
    buffers = live_buffers()
    return wrap([buffer for buffer, _ in buffers], [kind for _, kind in buffers])


register_devices(DeviceClass, device_put, devices, SHARDINGS)
