"""Devices in the array API: `x.device`, `x.to_device(device)`, and `device=` of functions that make arrays.

One idea: "cpu" is the device of NumPy's own arrays, and `backends.py` knows the other devices, and the shardings that
divide an array over several; so a front knows no backend.  A traced array has no device: the program is placed as a
whole when it runs.

Read next: `backends.py`; `array_namespace.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.backends import HOST, backend_of, backend_of_sharding, known_devices
from calque_core.frames.source import where
from calque_core.traces.tracer import is_tracer
from calque_core.types.array_methods import array_method, array_property
from calque_core.types.avals import typeof

Value = Any
Device = Any


def on_device(caller: str, x: Value, device: Device) -> Value:
    """Return `x` on a device or divided by a sharding: unchanged for None or if traced, a NumPy array for "cpu".

    Raises: ValueError, in the name of `caller`, for a device that no backend knows; ShapeError if a sharding does not
    divide `x` evenly.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import on_device
    >>> on_device("asarray", np.ones(2), "cpu")
    array([1., 1.])
    """
    if device is None:
        return x
    backend = backend_of(device) or backend_of_sharding(device)
    if backend is None and not (isinstance(device, str) and device == HOST):
        devices = ", ".join(map(repr, known_devices()))
        raise ValueError(
            f"{caller}{where()} got device={device!r}, which is not a device. Use one of: {devices}; or a sharding."
        )
    if is_tracer(x):
        return x
    return np.asarray(x) if backend is None else backend.put(x, device)


def placed_like(caller: str, x: Value, a: Value) -> Value:
    """Return `x` on the device of `a`; if `a` is divided over several, divided alike if the shapes are equal.

    With another shape, `x` is then on the default device of the backend; it is unchanged if `a` has no device.

    >>> import numpy as np
    >>> from calque_core.engine.numpy_functions import placed_like
    >>> placed_like("ones_like", np.ones(2), np.zeros(2))
    array([1., 1.])
    """
    device = getattr(a, "device", None)  # a number and a stand-in have none
    backend = backend_of_sharding(device)
    if backend is None or typeof(x).shape == typeof(a).shape:
        return on_device(caller, x, device)
    return x if is_tracer(x) else backend.put(x, None)


@array_property
def device(a: Value) -> None:
    """Return None: a traced array is placed when the program runs.  `device=None` means the same to every function."""


@array_method
def to_device(self: Value, device: Device, /, *, stream: Any = None) -> Value:
    """Return the array on a device or divided by a sharding: a NumPy array for "cpu"; a traced array unchanged.

    Raises: ValueError for an unknown device; ShapeError if a sharding does not divide the array evenly; TypeError for a
    `stream`.
    """
    if stream is not None:
        raise TypeError(f"to_device{where()} got stream={stream!r}, but calque has no streams. Remove stream=.")
    return on_device("to_device", self, device)
