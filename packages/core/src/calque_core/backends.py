"""Backends: the devices that they offer, and the number of devices that the user asks for.

One idea: core knows no device.  A backend registers the class of its devices here, with the functions that core calls;
`config.default_device` takes an object of such a class, and only the backend says what it means.

Read next: `arrays/devices.py`, which puts arrays on devices; `config.py`, the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

Value = Any
Device = Any

HOST = "cpu"  # the device that NumPy's arrays name


class Backend(NamedTuple):
    """The functions of a backend: `put(x, device)` puts an array on a device, `devices()` lists the devices."""

    put: Callable[[Value, Device], Value]
    devices: Callable[[], Sequence[Device]]


_backends: dict[type, Backend] = {}


def register_devices(
    kind: type, put: Callable[[Value, Device], Value], devices: Callable[[], Sequence[Device]]
) -> None:
    """Let arrays be put on devices of the class `kind`: `put(x, device)` does it, `devices()` lists all of them.

    A second call for one class replaces the first.

    >>> from calque_core.extend import known_devices, register_devices
    >>> class Drum:
    ...     def __repr__(self):
    ...         return "Drum()"
    >>> register_devices(Drum, lambda x, drum: x, lambda: [Drum()])
    >>> known_devices()[-1]
    Drum()
    >>> register_devices(Drum, lambda x, drum: x, lambda: [])
    """
    _backends[kind] = Backend(put, devices)


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


def check_default_device(device: Device) -> None:
    """Check a value of the setting `default_device`.  Raises: ValueError that lists the devices."""
    if device is not None and backend_of(device) is None:
        devices = ", ".join(map(repr, known_devices()[1:]))
        advice = f"Use one of: {devices}; or None." if devices else "Use None; no backend with devices is loaded."
        raise ValueError(f"default_device was set to {device!r}, which is not a device of a backend. {advice}")


# The number of devices on the host's processor


class _CpuDevices:
    """The number of devices that the user asked for, and the number with which a backend has started."""

    __slots__ = ("requested", "started")

    def __init__(self) -> None:
        self.requested: int | None = None
        self.started: int | None = None


_cpu = _CpuDevices()


def request_cpu_devices(count: int) -> None:
    """Let a backend that starts later offer `count` devices on the host's processor.

    Raises: ValueError if `count` is not a positive integer; RuntimeError if a backend has started with another number.
    """
    if not _is_positive(count):
        raise ValueError(f"cpu_devices got {count!r}. Use an integer of at least 1.")
    if _cpu.started not in (None, count):
        raise RuntimeError(
            f"cpu_devices got {count}, but a backend has already started with {_cpu.started} "
            f"device{'s' * (_cpu.started != 1)}, for the life of the process. Call cpu_devices before the first use of "
            "jit, of device_put and of devices."
        )
    _cpu.requested = index(count)


def _is_positive(count: Any) -> bool:
    try:
        return not isinstance(count, bool) and index(count) >= 1
    except TypeError:
        return False


def requested_cpu_devices() -> int | None:
    """Return the number of devices that a backend shall offer on the host's processor; None if the user said nothing.

    >>> from calque_core.extend import requested_cpu_devices
    >>> requested_cpu_devices() is None
    True
    """
    return _cpu.requested


def fix_cpu_devices(count: int) -> None:
    """Note that a backend has started with `count` devices: from now on `config.cpu_devices` refuses another number."""
    _cpu.started = count
