"""Devices in the array API: `x.device`, `x.to_device(device)`, and `device=` of functions that make arrays.

One idea: "cpu" is the device of NumPy's own arrays, and `backends.py` knows the other devices; so a front knows no
backend.  A traced array has no device: the program is placed as a whole when it runs.

Read next: `backends.py`; `array_namespace.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.backends import HOST, backend_of, known_devices
from calque_core.frames.source import where
from calque_core.traces.tracer import is_tracer
from calque_core.types.array_methods import array_method, array_property

Value = Any
Device = Any


def on_device(caller: str, x: Value, device: Device) -> Value:
    """Return `x` on a device: unchanged for None or if `x` is traced, a NumPy array for "cpu".

    Raises: ValueError, in the name of `caller`, for a device that no backend knows.

    >>> import numpy as np
    >>> from calque_core.extend.numpy_functions import on_device
    >>> on_device("asarray", np.ones(2), "cpu")
    array([1., 1.])
    """
    if device is None:
        return x
    backend = backend_of(device)
    if backend is None and not (isinstance(device, str) and device == HOST):
        devices = ", ".join(map(repr, known_devices()))
        raise ValueError(f"{caller}{where()} got device={device!r}, which is not a device. Use one of: {devices}.")
    if is_tracer(x):
        return x
    return np.asarray(x) if backend is None else backend.put(x, device)


@array_property
def device(a: Value) -> None:
    """Return None: a traced array is placed when the program runs.  `device=None` means the same to every function."""


@array_method
def to_device(self: Value, device: Device, /, *, stream: Any = None) -> Value:
    """Return the array on a device: a NumPy array for "cpu"; a traced array is returned unchanged.

    Raises: ValueError for an unknown device; TypeError for a `stream`.
    """
    if stream is not None:
        raise TypeError(f"to_device{where()} got stream={stream!r}, but calque has no streams. Remove stream=.")
    return on_device("to_device", self, device)
