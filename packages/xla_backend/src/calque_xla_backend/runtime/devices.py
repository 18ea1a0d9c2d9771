"""Devices, and transfers of arrays to and from them.

Read next: `array.py`, the class of device arrays; `runtime.py`, the source of devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import is_tracer
from calque_core.extend import arg_names, check_arrays, register_devices, where
from calque_pytree import tree_flatten, tree_leaves, tree_map
from calque_xla_backend.runtime.array import Array, array_from_numpy
from calque_xla_backend.runtime.runtime import Device, DeviceClass, local_devices, placement

Tree = Any


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices that programs can run on: all, or the devices of the platform `backend`.

    Raises: ValueError that lists the available platforms, if `backend` is not one of them.

    >>> from calque_xla_backend import devices
    >>> [device.platform for device in devices()]
    ['cpu']
    """
    all_devices = local_devices()
    if backend is None:
        return all_devices
    chosen = [device for device in all_devices if device.platform == backend]
    if not chosen:
        platforms = ", ".join(sorted({device.platform for device in all_devices}))
        raise ValueError(
            f"devices{where()} got backend={backend!r}, but there is no such device. Use one of: {platforms}. calque "
            "runs on the host's processor only for now."
        )
    return chosen


def device_count() -> int:
    """Return the number of devices.

    >>> from calque_xla_backend import device_count
    >>> device_count()
    1
    """
    return len(local_devices())


def default_backend() -> str:
    """Return the platform on which programs run by default.

    >>> from calque_xla_backend import default_backend
    >>> default_backend()
    'cpu'
    """
    return placement().platform


def device_put(x: Tree, device: Device | None = None) -> Tree:
    """Return a pytree of arrays and scalars as arrays on a device, by default the first device.

    Arrays that are already on the device, and tracers, are returned unchanged.
    Raises: TypeError if a leaf is not an array.

    >>> from calque_xla_backend import device_put
    >>> device_put({"w": 2.0})
    {'w': Array(2., dtype=float64)}
    """
    place = None if device is None else placement(device)
    leaves, tree = tree_flatten(x)
    check_arrays(leaves, lambda: arg_names(device_put, (x,), {}), f"device_put{where()}")
    return tree.unflatten([_put_leaf(leaf, place) for leaf in leaves])


def _put_leaf(x: Any, place: Any) -> Any:
    if is_tracer(x) or (type(x) is Array and place in (None, x._device_type.placement)):
        return x
    return array_from_numpy(np.asarray(x) if type(x) is Array else x, place)


def device_get(x: Tree) -> Tree:
    """Return a pytree with its device arrays as read-only NumPy arrays, which share memory if they can.

    >>> from calque_xla_backend import device_get, device_put
    >>> device_get([device_put(2.0), 3.0])
    [array(2.), 3.0]
    """
    return tree_map(lambda leaf: np.asarray(leaf) if type(leaf) is Array else leaf, x)


def block_until_ready(x: Tree) -> Tree:
    """Wait until the device arrays of a pytree are computed; return the pytree.

    >>> from calque_xla_backend import block_until_ready, device_put
    >>> block_until_ready([device_put(2.0)])
    [Array(2., dtype=float64)]
    """
    for leaf in tree_leaves(x):
        if type(leaf) is Array:
            leaf.block_until_ready()
    return x


register_devices(DeviceClass, device_put, devices)
