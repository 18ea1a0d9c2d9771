"""Arrays of other libraries as arrays on a device: `from_dlpack`.

One idea: an array on a device never changes, but the other library may write to its own memory.  So the elements are
copied, unless the caller promises that nobody will write to them.

Read next: `dlpack.py`, which reads the memory; `array.py`, whose `__dlpack__` gives it to other libraries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import is_tracer, typeof
from calque_core.extend import describe_value, where
from calque_xla_backend.runtime.array import Array, array_from_numpy, wrap
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.devices import device_put, place_of
from calque_xla_backend.runtime.dlpack import HOST, address_of, host_view
from calque_xla_backend.runtime.placement import Placement, device_type, placement
from calque_xla_backend.runtime.runtime import share, to_dlpack
from calque_xla_backend.runtime.sharding import SingleDeviceSharding

Value = Any


def from_dlpack(x: Value, /, *, device: Device | SingleDeviceSharding | None = None, copy: bool | None = None) -> Array:
    """Return an array of another library, which has `__dlpack__`, as an array on a device of the host's processor.

    The elements are copied.  With `copy=False` the array shares the memory: nobody may write to it while the array, or
    anything that was computed from it, is in use.  An array of our own is returned as it is, or as a copy.
    Dtype: kept, those of ml_dtypes too; 64 bits become 32 while `enable_x64` is off.
    Raises: TypeError for a traced value, or a value without `__dlpack__`; BufferError for memory of another processor,
    for a dtype that NumPy and ml_dtypes lack, and with `copy=False` for memory that a device cannot share.

    >>> import numpy as np
    >>> from calque_xla_backend import from_dlpack
    >>> from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    caller = f"from_dlpack{where()}"
    if is_tracer(x):
        raise TypeError(f"{caller}: a traced value of type {typeof(x)} has no memory to share. Use it as it is.")
    if type(x) is Array:
        put: Array = device_put(x, device)
        return put.__copy__() if copy and put is x else put
    try:
        kind = x.__dlpack_device__()[0]
    except AttributeError:
        raise TypeError(
            f"{caller}: {describe_value(x)} has no method __dlpack_device__. Use device_put, which takes numbers and "
            "arrays of NumPy."
        ) from None
    if int(kind) != HOST[0]:
        raise BufferError(
            f"{caller}: the array is in the memory of a device of DLPack's type {int(kind)}, not of the host. Move it "
            "to the host first."
        )
    host = host_view(x)
    place = place_of(device, host.ndim, "from_dlpack") or placement()
    return array_from_numpy(host, place) if copy is not False else _shared(caller, host, place)


def _shared(caller: str, host: np.ndarray[Any, Any], place: Placement) -> Array:
    """Return an array that shares memory with a NumPy array.  Raises: BufferError if it cannot."""
    target = device_type(typeof(host), place)
    buffer = share(host, target) if target.dtype == host.dtype else None
    if buffer is None or (host.size and address_of(to_dlpack(buffer)) != host.ctypes.data):
        raise BufferError(
            f"{caller}: the array of type {typeof(host)} cannot be shared, because a device takes elements in C order "
            "from an address that is a multiple of 64, and 64 bits only while enable_x64 is on. Use copy=None."
        )
    return wrap([buffer], [target])[0]
