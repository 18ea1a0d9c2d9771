"""Backends: the devices that they offer.

One idea: core knows no device.  A backend registers the class of its devices here, with the functions that core calls;
`config.default_device` takes an object of such a class, whose meaning only the backend knows.

Read next: `start_requests.py`, the requests of users before a backend starts; `arrays/devices.py`, which puts arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.record import Record

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

    >>> from calque_core.extend import known_devices, register_devices
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

    >>> from calque_core.extend import known_devices
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


def check_default_device(device: Device) -> None:
    """Check a value of the setting `default_device`.  Raises: ValueError that lists the devices."""
    if device is not None and backend_of(device) is None:
        devices = ", ".join(map(repr, known_devices()[1:]))
        advice = f"Use one of: {devices}; or None." if devices else "Use None; no backend with devices is loaded."
        raise ValueError(f"default_device was set to {device!r}, which is not a device of a backend. {advice}")
