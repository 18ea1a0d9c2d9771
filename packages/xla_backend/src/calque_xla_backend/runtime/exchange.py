"""Arrays of other libraries as arrays on a device: `from_dlpack`.

One idea: an array on a device never changes, but the other library may write to its own memory.  So the elements are
copied, unless the caller promises that nobody will write to them.

Read next: `dlpack.py`, which reads the memory; `array.py`, whose `__dlpack__` gives it to other libraries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapedArray, is_tracer, typeof
from calque_core.engine import ML_DTYPES, describe_value
from calque_core.extend import where
from calque_xla_backend.runtime.array import Array, array_from_numpy, wrap
from calque_xla_backend.runtime.clients import Device, local_devices, platforms
from calque_xla_backend.runtime.devices import device_put, place_of
from calque_xla_backend.runtime.dlpack import (
    HOST,
    address_of,
    dtype_of,
    host_view,
    is_by_rows,
    platform_of_memory,
    tensor_of,
)
from calque_xla_backend.runtime.placement import DeviceType, Placement, device_type, placement
from calque_xla_backend.runtime.runtime import Buffer, copied, from_dlpack_capsule, share, to_dlpack
from calque_xla_backend.runtime.sharding import SingleDeviceSharding

Value = Any


def from_dlpack(x: Value, /, *, device: Device | SingleDeviceSharding | None = None, copy: bool | None = None) -> Array:
    """Return an array of another library, which has `__dlpack__`, as an array on a device.

    It is on `device`; by default on the GPU that holds the memory, and for memory of the host on the default device.
    The elements are copied.  With `copy=False` the array shares the memory: nobody may write to it while the array, or
    anything that was computed from it, is in use.  An array of our own is returned as it is, or as a copy.
    Dtype: kept, short dtypes too; 64 bits become 32 while `enable_x64` is off.
    Raises: TypeError for a traced value, or a value without `__dlpack__`; BufferError for memory that no device of ours
    has, for an unknown dtype, for elements on a GPU that are not in C order, and with `copy=False` for memory that a
    device cannot share.

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
        kind, number = map(int, x.__dlpack_device__())
    except AttributeError:
        raise TypeError(
            f"{caller}: {describe_value(x)} has no method __dlpack_device__. Use device_put, which takes numbers and "
            "arrays of NumPy."
        ) from None
    if kind != HOST[0]:
        return _from_device(caller, x, (kind, number), device, copy)
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


def _from_device(caller: str, x: Value, memory: tuple[int, int], device: Any, copy: bool | None) -> Array:
    """Return an array in the memory of a GPU, by DLPack's name of that memory, as an array on the same GPU."""
    holder = _holder_of(memory)
    if holder is None:
        known = ", ".join(map(repr, local_devices()))
        raise BufferError(
            f"{caller}: the array is in the memory of a device of DLPack's type {memory[0]}, number {memory[1]}, which "
            f"is none of {known}. Move it to the host first."
        )
    stream = holder.get_stream_for_external_ready_events()
    array = wrap(*_capsule_on(caller, x.__dlpack__(stream=stream), holder, stream, is_copied=copy is not False))[0]
    return array if device is None else device_put(array, device)


def _holder_of(memory: tuple[int, int]) -> Device | None:
    """Return the device of this process that holds a memory."""
    kind, number = memory
    platform = platform_of_memory(kind)
    if platform not in platforms():
        return None
    return next((device for device in local_devices(platform) if device.local_hardware_id == number), None)


def _capsule_on(
    caller: str, capsule: Any, holder: Device, stream: int | None, *, is_copied: bool
) -> tuple[list[Buffer], list[DeviceType]]:
    """Return a buffer with the elements of a capsule, and its type.  Raises: BufferError if there is none."""
    tensor = tensor_of(capsule)
    dtype, shape = dtype_of(tensor), tuple(tensor.shape[: tensor.ndim])
    if dtype is None:
        raise BufferError(
            f"{caller}: the array has a dtype of {tensor.bits} bits, of DLPack's code {tensor.code}, which neither "
            f"NumPy nor {ML_DTYPES} has. Convert it first."
        )
    if not is_by_rows(tensor):
        raise BufferError(
            f"{caller}: the array of shape {shape} is not in C order in the memory of the GPU. Copy it in C order "
            "first, such as by x.contiguous()."
        )
    target = device_type(ShapedArray(shape, dtype), placement(holder))
    buffer = from_dlpack_capsule(capsule, target, stream)
    if is_copied:
        buffer = copied(buffer, target)
        buffer.block_until_ready()  # the other library may write to its memory from now on
    return [buffer], [target]
