"""Backends: the devices that they offer.

One idea: core knows no device.  A backend registers the class of its devices here, with the functions that core calls;
`config.default_device` takes an object of such a class, whose meaning only the backend knows.

Read next: `start_requests.py`, the requests of users before a backend starts; `arrays/devices.py`, which puts arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.record import Record
from calque_pytree import tree_leaves, tree_map

Value = Any
Device = Any

HOST = "cpu"  # the device that NumPy's arrays name


class Backend(Record):
    """The functions of a backend: `put(x, device)` puts an array on a device, `devices()` lists the devices."""

    put: Callable[[Value, Device], Value]
    devices: Callable[[], Sequence[Device]]


_backends: dict[type, Backend] = {}
_of_shardings: dict[type, Backend] = {}


def register_devices(
    kind: type,
    put: Callable[[Value, Device], Value],
    devices: Callable[[], Sequence[Device]],
    shardings: Sequence[type] = (),
) -> None:
    """Let arrays be put on devices of the class `kind`: `put(x, device)` does it, `devices()` lists all of them.

    `put` also takes objects of the classes `shardings`, which divide an array over several devices, and None, the
    backend's default device.  A second call for one class replaces the first.

    >>> from calque_core.engine import known_devices, register_devices
    >>> class Drum:
    ...     def __repr__(self):
    ...         return "Drum()"
    >>> register_devices(Drum, lambda x, drum: x, lambda: [Drum()])
    >>> known_devices()[-1]
    Drum()
    >>> register_devices(Drum, lambda x, drum: x, lambda: [])
    """
    backend = _backends[kind] = Backend(put, devices)
    _of_shardings.update(dict.fromkeys(shardings, backend))


def known_devices() -> list[Device]:
    """Return "cpu", the device of NumPy's arrays, and the devices of the backends that are loaded.

    >>> from calque_core.engine import known_devices
    >>> known_devices()[0]
    'cpu'
    """
    return [HOST, *(device for backend in _backends.values() for device in backend.devices())]


def backend_of(device: Device) -> Backend | None:
    """Return the backend that has registered the class of `device`, or None."""
    return _backends.get(type(device))


def backend_of_sharding(sharding: Any) -> Backend | None:
    """Return the backend that has registered the class of `sharding`, or None."""
    return _of_shardings.get(type(sharding))


def has_backends() -> bool:
    """Tell whether a backend is loaded."""
    return bool(_backends)


def on_device_of(args: Any, out: Value) -> Value:
    """Return the results of a function, NumPy's arrays on the device of the first array among `args` that has one.

    A result of constants alone, such as zeros or no elements, then has the class of all other results.

    >>> import numpy as np
    >>> from calque_core.engine import on_device_of
    >>> on_device_of((np.ones(2),), np.zeros(2))
    array([0., 0.])
    """
    if not any(isinstance(x, (np.ndarray, np.generic)) for x in tree_leaves(out)):
        return out
    for device in (getattr(x, "device", None) for x in tree_leaves(args)):
        backend = _backends.get(type(device)) or _of_shardings.get(type(device))
        if backend is not None:
            place = device if type(device) in _backends else None  # a sharding fits the shape of its array
            return tree_map(partial(_put, backend, place), out)
    return out


def _put(backend: Backend, place: Device, x: Value) -> Value:
    return backend.put(x, place) if isinstance(x, (np.ndarray, np.generic)) else x


def check_default_device(device: Device) -> None:
    """Check a value of the setting `default_device`.  Raises: ValueError that lists the devices."""
    if device is not None and backend_of(device) is None:
        devices = ", ".join(map(repr, known_devices()[1:]))
        advice = f"Use one of: {devices}; or None." if devices else "Use None; no backend with devices is loaded."
        raise ValueError(f"default_device was set to {device!r}, which is not a device of a backend. {advice}")
