"""Arrays on a device.

One idea: an `Array` is a slotted pair of jaxlib's buffer and an interned device type.  It is immutable, and every view
of its memory is read-only.  Operators, indexing and NumPy's protocols come from core, as for tracers.

Read next: `evaluate.py`, which computes operations on arrays; `dispatch.py`, which runs whole programs on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter, index
from typing import Any

import numpy as np

from calque_core import ArrayMethods, ShapedArray, eval_context, float0, register_aval, typeof
from calque_core.engine import DEFAULT_SETTINGS, bit_width, has_tracer, here, host_values, is_advanced
from calque_core.extend import Shape, shaped_array, where, wide_dtype
from calque_core.lax import bitcast_convert_type_p, convert_element_type_p
from calque_xla_backend.runtime.dlpack import HOST, address_of, memory_of
from calque_xla_backend.runtime.placement import DeviceType, Placement, device_type, placement
from calque_xla_backend.runtime.runtime import (
    MARKS_READ_ONLY,
    NUMPY_MARKS_READ_ONLY,
    Buffer,
    XlaRuntimeError,
    copied,
    host_piece,
    is_readable,
    put,
    to_dlpack,
    to_numpy,
)
from calque_xla_backend.runtime.sharding import Sharding
from calque_xla_backend.runtime.shards import Shard, chosen, split

Value = Any

_BYTE = 8


class Array(ArrayMethods):
    """An immutable array on a device.  `jit` returns such arrays, and `device_put` makes them.

    >>> import numpy as np
    >>> from calque_xla_backend import device_put
    >>> device_put(np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """

    # No __init__: creating one stays in C, which takes 60 ns instead of 95.
    __slots__ = ("__weakref__", "_buffer", "_device_type")
    committed = True  # an array stays on its device, and programs run where their arrays are

    _buffer: Buffer
    _device_type: DeviceType

    @property
    def aval(self) -> ShapedArray:
        """The type; with enable_x64 off, an array of 64 bits counts as one of 32 bits."""
        aval = self._device_type.aval
        return aval if here().settings is DEFAULT_SETTINGS else shaped_array(aval.shape, aval.dtype, aval.weak_type)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self._device_type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._device_type.aval.dtype

    @property
    def device(self) -> Any:
        """The device that holds the elements; the sharding of an array that is divided over a mesh."""
        place = self._device_type.placement
        return place.sharding if place.is_divided else place.devices[0]

    def devices(self) -> set[Any]:
        """Return the set of the devices that hold the elements."""
        return set(self._device_type.placement.devices)

    @property
    def sharding(self) -> Sharding:
        """Where the elements are: `device_put(x, y.sharding)` puts an array beside `y`."""
        return self._device_type.placement.sharding

    @property
    def on_device_size_in_bytes(self) -> int:
        """The memory that the elements take on the device, in bytes."""
        return int(self._live().on_device_size_in_bytes())

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the elements.  It is valid while the array lives; nothing may write there.

        Raises: TypeError for elements of less than a byte.
        """
        if self._device_type.placement.is_divided:
            raise ValueError(
                f"an array of type {self._device_type.aval} over {self._device_type.placement} has no one address"
                f"{where()}. Ask one of its addressable_shards."
            )
        if bit_width(self._device_type.dtype) < _BYTE:
            raise TypeError(f"elements of {self._device_type.aval} have no address{where()}: they are below a byte.")
        return address_of(to_dlpack(self._live()))  # jaxlib's own method imports jax, where it is installed

    def is_ready(self) -> bool:
        """Tell whether the elements are computed, so that reading them does not wait."""
        return bool(self._live().is_ready())

    def copy_to_host_async(self) -> None:
        """Begin to copy the elements to the host.  On the host's processor there is nothing to copy."""
        self._live()

    def block_until_ready(self) -> Array:
        """Wait until the elements are computed; return the array."""
        try:
            self._live().block_until_ready()
        except XlaRuntimeError as error:
            check_memory(f"an array of type {self._device_type.aval} was not computed{where()}", error)
            raise
        return self

    def delete(self) -> None:
        """Free the memory now.  A later use of the array is an error."""
        self._buffer.delete()

    def is_deleted(self) -> bool:
        """Tell whether `delete` or a donation of the array to a function freed the memory."""
        return bool(self._buffer.is_deleted())

    def _live(self) -> Buffer:
        """Return the buffer.  Raises: RuntimeError if it was deleted."""
        if self._buffer.is_deleted():
            raise RuntimeError(deleted_message(self))
        return self._buffer

    # Arrays over several devices

    @property
    def addressable_shards(self) -> list[Shard]:
        """The elements that each device of this process holds, as arrays on one device."""
        self._live()
        place = self._device_type.placement
        if not place.is_divided:
            return [Shard(place.devices[0], place.shards(self.shape)[0], 0, self)]
        data = wrap(*zip(*split(self._buffer, self._device_type)))
        parts = self._device_type.parts
        return [Shard(place.devices[i], *parts[i], x) for i, x in zip(place.local, data, strict=True)]

    @property
    def global_shards(self) -> list[Shard]:
        """The elements that each device holds; `data` is None for devices of other processes."""
        place = self._device_type.placement
        local = {shard.device: shard for shard in self.addressable_shards}
        rows = zip(place.devices, self._device_type.parts)
        return [local.get(device) or Shard(device, *part, None) for device, part in rows]

    def addressable_data(self, index: int) -> Array:
        """Return the elements on the device `index` of this process' devices, as an array.  Raises: IndexError."""
        data: Array = chosen(self.addressable_shards, index).data
        return data

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all elements."""
        return self.sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices of the array belong to this process."""
        place = self._device_type.placement
        return len(place.local) == len(place.devices)

    # The host's view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._device_type.aval.dtype == float0:
            return np.zeros(self.shape, float0)
        view = self._gathered() if self._device_type.placement.is_divided else self._view(self._device_type.dtype)
        if copy is None and (dtype is None or dtype == view.dtype):
            return view  # read-only
        return np.array(view, dtype=dtype, copy=copy)

    def _gathered(self) -> np.ndarray[Any, Any]:
        """Return the elements of all devices as one read-only array."""
        if not self._is_whole_here():
            raise RuntimeError(
                f"an array of type {self._device_type.aval}, divided as {self.sharding}, has elements on devices of "
                f"other processes{where()}. Use multihost.process_allgather, or read its addressable_shards."
            )
        place, read = self._device_type.placement, self._reader()
        if self.is_fully_replicated:
            return read(place.local[0])
        elements = np.empty(self.shape, self._device_type.dtype)
        for number, (part, copy) in enumerate(self._device_type.parts):
            if copy == 0:
                elements[part] = read(number)
        elements.flags.writeable = False
        return elements

    def _is_whole_here(self) -> bool:
        """Tell whether the devices of this process hold all elements."""
        return self.is_fully_addressable or self.is_fully_replicated

    def _reader(self) -> Callable[[int], np.ndarray[Any, Any]]:
        """Return a function that reads the elements on a device of this process, by the number of the device."""
        place = self._device_type.placement
        has_capsules = self._device_type.dtype.isbuiltin == 1 and self.is_fully_addressable
        if place.platform == "cpu" and has_capsules:
            return partial(host_piece, self._live(), place)
        data = {shard.device: shard.data for shard in self.addressable_shards}
        return lambda number: data[place.devices[number]].__array__()

    def _view(self, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return the elements as a read-only array.

        A dtype that jaxlib cannot read goes through unsigned integers, or through a wider dtype if it has no bytes.
        """
        buffer = self._live()
        if is_readable(dtype):
            try:
                return to_numpy(buffer, dtype)
            except XlaRuntimeError as error:
                check_memory(f"an array of type {self._device_type.aval} was not computed{where()}", error)
                raise
        with eval_context():
            if bit_width(dtype) < _BYTE:
                wide: Array = convert_element_type_p.bind(self, new_dtype=wide_dtype(dtype), weak_type=False)
                elements = wide._view(wide.dtype).astype(dtype)
            else:
                bits: Array = bitcast_convert_type_p.bind(self, new_dtype=np.dtype(f"u{dtype.itemsize}"))
                elements = bits._view(bits.dtype).view(dtype)
        elements.flags.writeable = False
        return elements

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        aval, dtype = self._device_type.aval, self._device_type.dtype
        if self._device_type.placement.is_divided:
            raise BufferError(
                f"a device array of type {aval} over {self._device_type.placement} cannot be exported{where()}. Export "
                "the data of its addressable_shards, or put it on one device first."
            )
        memory = self.__dlpack_device__()
        if dl_device not in (None, HOST, memory) or (stream is not None and memory == HOST):
            kind = f"in the memory {memory}" if memory != HOST else f"in the host's memory, {HOST}"
            raise BufferError(
                f"a device array of type {aval} cannot be exported{where()} with dl_device={dl_device} and "
                f"stream={stream}: it is {kind}. Use None for both."
            )
        is_of_numpy = dtype.isbuiltin == 1 and HOST in (memory, dl_device)
        can_mark = NUMPY_MARKS_READ_ONLY if is_of_numpy else MARKS_READ_ONLY
        is_marked = can_mark and max_version is not None and max_version >= (1, 0)
        if copy is False and not is_marked:
            raise BufferError(
                f"a device array of type {aval} cannot be exported without a copy{where()}, because this version of "
                "DLPack does not mark memory as read-only. Use copy=None or max_version."
            )
        if is_of_numpy:
            host = self.__array__() if is_marked and not copy else self.__array__().copy()
            return host.__dlpack__(max_version=max_version) if is_marked else host.__dlpack__()
        if bit_width(dtype) < _BYTE:
            raise BufferError(f"a device array of type {aval} cannot be exported{where()}: DLPack has no such dtype.")
        if dl_device == HOST != memory:
            raise BufferError(
                f"a device array of type {aval} cannot be exported{where()} to the host, since NumPy has no such "
                "dtype. Use dl_device=None."
            )
        shared = self._live() if is_marked and not copy else copied(self._live(), self._device_type)
        shared.block_until_ready()  # so that each stream of the other library may read it
        return to_dlpack(shared, max_version if is_marked else None)

    def __dlpack_device__(self) -> tuple[int, int]:
        place = self._device_type.placement
        return memory_of(place.devices[0], place.platform)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory of an array on one of NVIDIA's GPUs, in the form that CuPy takes."""
        place, dtype = self._device_type.placement, self._device_type.dtype
        if place.platform != "cuda" or place.is_divided or dtype.isbuiltin != 1:
            raise AttributeError(f"{type(self).__name__} object has no attribute '__cuda_array_interface__'")
        self.block_until_ready()
        pointer = self.unsafe_buffer_pointer() if 0 not in self.shape else 0
        return {"version": 2, "shape": self.shape, "typestr": dtype.str, "data": (pointer, True), "strides": None}

    def __getitem__(self, index: Any) -> Array:
        if is_advanced(index) and not has_tracer(index) and not self._device_type.placement.is_divided:
            try:
                return array_from_numpy(self.__array__()[host_values(index)], self._device_type.placement)
            except IndexError:
                if here().settings.known_indices == "checked":
                    raise
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Array]:
        place = self._device_type.placement
        if not self.shape or place.is_divided or place.platform != "cpu":
            return super().__iter__()
        return (array_from_numpy(row, place, self.weak_type) for row in self.__array__())  # 5 us; a program takes 30

    def item(self, *args: int) -> Any:
        """Return one element as a Python scalar; without an index, the only element."""
        return self.__array__().item(*args)

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python scalars."""
        return self.__array__().tolist()

    def __float__(self) -> float:
        return float(self.__array__())

    def __int__(self) -> int:
        return int(self.__array__())

    def __complex__(self) -> complex:
        return complex(self.__array__())

    def __bool__(self) -> bool:
        return bool(self.__array__())

    def __index__(self) -> int:
        return index(self.__array__())

    def __format__(self, spec: str) -> str:
        return format(self.__array__()[()], spec)

    def __str__(self) -> str:
        return str(self.__array__()) if self._is_whole_here() else repr(self)

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self._device_type.aval!r})"
        if not self._is_whole_here():
            return f"Array({self._device_type.aval!r}, {self.sharding})"
        body = np.array2string(self.__array__(), separator=", ", prefix="Array(")
        shape = "" if all(self.shape) else f", shape={self.shape}"
        weak = ", weak_type=True" if self._device_type.aval.weak_type else ""
        return f"Array({body}{shape}, dtype={self._device_type.aval.dtype.name}{weak})"

    def __reduce__(self) -> tuple[Callable[..., Array], tuple[Any, ...]]:
        return array_from_numpy, (self.__array__(), None, self._device_type.aval.weak_type)

    def __copy__(self) -> Array:
        return wrap([copied(self._live(), self._device_type)], [self._device_type])[0]

    def __deepcopy__(self, _: Any) -> Array:
        return self.__copy__()


register_aval(Array, attrgetter("aval"))


def wrap(buffers: Sequence[Buffer], device_types: Sequence[DeviceType]) -> list[Array]:
    """Return arrays around buffers."""
    arrays = [Array() for _ in buffers]
    x: Array
    for x, x._buffer, x._device_type in zip(arrays, buffers, device_types):  # noqa: B007
        pass  # 0.06 us each: targets are assigned from left to right, so this writes both slots of every array
    return arrays


def array_from_numpy(value: Value, place: Placement | None = None, weak_type: bool = False) -> Array:
    """Return a copy of a NumPy array or scalar on a device, by default the first; the settings decide the dtype."""
    aval = typeof(value).update(weak_type=weak_type)
    target = device_type(aval, placement() if place is None else place)
    return wrap([put(np.asarray(value, target.dtype), target)], [target])[0]


def deleted_message(x: Array) -> str:
    """Return the message for a deleted array."""
    return (
        f"an array of type {x._device_type.aval} was used after it was deleted or donated. "
        "Keep a copy, or leave the argument out of donate_argnums."
    )


def check_memory(subject: str, error: RuntimeError) -> None:
    """Raise a MemoryError in the name of `subject` if an error is about too little memory."""
    if "RESOURCE_EXHAUSTED" in str(error):
        raise MemoryError(
            f"{subject}: the device has not enough memory: {error}. Use smaller arrays, delete() arrays that are not "
            "needed, or donate arguments."
        ) from None
