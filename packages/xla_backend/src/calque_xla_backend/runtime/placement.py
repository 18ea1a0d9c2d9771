"""Placements: shardings as XLA takes them, and the types of arrays at a placement.

One idea: a `Placement` is one object for each device and for each sharding of arrays of a rank, and a `DeviceType` one
object for each type at a placement.  Two arrays are interchangeable for a program if their device types are one object,
so that a call compares them by identity; C++ would otherwise look the type and the device of each array up.

Read next: `sharding.py`, the shardings that users see; `array.py`, the class around a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from jaxlib import version as jaxlib_version
from jaxlib import xla_client as xc

from calque_core import Mesh, PartitionSpec, ShapedArray, float0
from calque_core.engine import axis_names_of, here, shard_shape, shard_slices
from calque_core.extend import Shape, where
from calque_xla_backend.runtime.clients import Device, DeviceClass, devices_of, is_own, local_devices, platform_of
from calque_xla_backend.runtime.sharding import (
    Index,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    as_index,
    is_addressable,
    parts_of,
)

RELEASE: tuple[int, ...] = jaxlib_version.__version_info__
_SKIP_CHECKS = () if RELEASE >= (0, 11, 2) else (True,)  # an argument of array_result_handler that 0.11.2 removed
_SHOWN = 8  # devices in a message


class Placement:
    """A sharding of arrays of one rank, and the objects that stand for it in calls of jaxlib.

    `local` are the numbers of the devices that belong to this process; `tiling` is the sharding in XLA's terms.
    """

    __slots__ = (
        "__weakref__", "_with_first", "device_list", "devices", "is_divided", "local", "platform", "sharding", "tiling",
        "xla_sharding",
    )  # fmt: skip

    def __init__(self, sharding: Sharding, ndim: int = 0) -> None:
        self.sharding = sharding
        self.is_divided = isinstance(sharding, NamedSharding)  # over a mesh, if only one of one device
        self.devices = _devices(sharding)
        self.platform = platform_of(self.devices[0])
        self.local = [i for i, device in enumerate(self.devices) if is_addressable(device)]
        self.device_list = xc.DeviceList(self.devices)
        tiling = xc.HloSharding.replicate() if isinstance(sharding, SingleDeviceSharding) else tiles(sharding, ndim)
        self.xla_sharding = xc.GSPMDSharding(self.device_list, tiling)
        self.tiling = tiling_of(tiling)
        self._with_first: dict[int, Any] = {}

    @property
    def canonical(self) -> Placement:
        """The placement that stands for all whose specs differ in spelling alone.

        One without entries stands for undivided arrays of every rank.
        """
        if isinstance(self.sharding, SingleDeviceSharding):
            return self
        mesh = self.sharding.mesh
        place = _canonical.get((mesh, self.tiling))
        if place is None:
            first = self if self.tiling else placement_of_sharding(NamedSharding(mesh, PartitionSpec()), 0)
            place = _canonical.setdefault((mesh, self.tiling), first)
        return place

    def with_first(self, number: int) -> Any:
        """Return jaxlib's sharding of the same devices, with one of them as the first."""
        sharding = self._with_first.get(number)
        if sharding is None:
            order = (self.devices[number], *self.devices[:number], *self.devices[number + 1 :])
            sharding = xc.GSPMDSharding(xc.DeviceList(order), xc.HloSharding.replicate())
            self._with_first[number] = sharding
        return sharding

    def shards(self, shape: Shape) -> list[Index]:
        """Return the slices of an array that each of the devices holds."""
        if isinstance(self.sharding, SingleDeviceSharding):
            return [(slice(None),) * len(shape)]
        slices = shard_slices(shape, self.sharding.mesh, self.sharding.spec)
        return [as_index(index, shape) for index in slices]

    def shard_shape(self, shape: Shape) -> Shape:
        """Return the shape of the elements that one device holds."""
        if isinstance(self.sharding, SingleDeviceSharding):
            return shape
        return shard_shape(shape, self.sharding.mesh, self.sharding.spec)

    def __str__(self) -> str:
        return text_of(self.devices)

    def __repr__(self) -> str:
        return f"Placement({self.sharding})"


def mesh_of(place: Placement) -> Mesh:
    """Return the mesh of a placement over a mesh."""
    sharding: Any = place.sharding
    return sharding.mesh  # type: ignore[no-any-return]


_placements: dict[Any, Placement] = {}  # by device, or by sharding and rank
_canonical: dict[Any, Placement] = {}  # by mesh and tiling


def _devices(sharding: Sharding) -> tuple[Device, ...]:
    return (sharding.device,) if isinstance(sharding, SingleDeviceSharding) else tuple(sharding.mesh.devices.flat)


def text_of(devices: Sequence[Device]) -> str:
    """Return devices for messages: "cpu:0 and cpu:1"; of many devices the first, and their number."""
    names = [str(device) for device in devices]
    if len(names) > _SHOWN:
        return f"{len(names)} devices, {', '.join(names[:3])}, ..., {names[-1]}"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def tiles(sharding: NamedSharding, ndim: int) -> Any:
    """Return the sharding of arrays of `ndim` axes in XLA's terms: a grid of the numbers of devices."""
    mesh, parts = sharding.mesh, parts_of(sharding, ndim)
    if prod(parts) == 1:
        return xc.HloSharding.replicate()
    names = [name for divided in axis_names_of(sharding.spec, ndim) for name in divided]
    order = [mesh.axis_names.index(name) for name in names]
    order += [axis for axis in range(len(mesh.axis_names)) if axis not in order]
    numbers = np.arange(mesh.size).reshape(mesh.axis_sizes).transpose(order)
    copies = mesh.size // prod(parts)
    grid = xc.OpSharding()
    grid.type = xc.OpSharding.Type.OTHER
    grid.tile_assignment_dimensions = [*parts, copies] if copies > 1 else list(parts)
    grid.tile_assignment_devices = numbers.reshape(-1).tolist()
    grid.replicate_on_last_tile_dim = copies > 1
    return xc.HloSharding.from_proto(grid)


def tiling_of(tiling: Any) -> Any:
    """Return a key that is equal for equal shardings in XLA's terms, which XLA writes in several ways."""
    if tiling.is_replicated():
        return ()
    return (
        (*tiling.tile_assignment_dimensions(),),
        (*tiling.tile_assignment_devices(),),
        tiling.replicate_on_last_tile_dim(),
    )


# The one placement


def placement(device: Device | None = None) -> Placement:
    """Return the one placement on `device`, by default that of the setting `default_device`, or the first device.

    Raises: ValueError for a device of another XLA client in this process, such as jax's.
    """
    if device is None:
        default = here().settings.default_device
        device = default if isinstance(default, DeviceClass) else local_devices()[0]
    place = _placements.get(device)
    if place is None:
        _check_own(device)
        _check_addressable([device])
        place = _placements.setdefault(device, Placement(SingleDeviceSharding(device)))
    return place


def placement_of_sharding(sharding: Sharding, ndim: int) -> Placement:
    """Return the one placement of arrays of `ndim` axes with a sharding.  Raises: as `placement`."""
    if isinstance(sharding, SingleDeviceSharding):
        return placement(sharding.device)
    place = _placements.get((sharding, ndim))
    if place is None:
        for device in sharding.mesh.devices.flat:
            _check_own(device)
        _check_addressable(list(sharding.mesh.devices.flat))
        place = _placements.setdefault((sharding, ndim), Placement(sharding, ndim))
    return place


def placement_of(target: Device | str, caller: str) -> Placement:
    """Return the placement on a device, or on the default device of a platform.

    Raises: RuntimeError, in the name of `caller`, if there is no such platform.
    """
    if not isinstance(target, str):
        return placement(target)
    default = placement()
    return default if default.platform == target else placement(devices_of(target, caller)[0])


def _check_own(device: Any) -> None:
    if not (isinstance(device, DeviceClass) and is_own(device)):
        known = ", ".join(map(repr, local_devices()))
        raise ValueError(
            f"the device {device!r}{where()} belongs to another library of this process, such as jax, whose "
            f"devices cannot run programs of calque. Use a device from calque_xla_backend.devices(): {known}."
        )


def _check_addressable(devices: Sequence[Device]) -> None:
    """Check that an array on these devices has elements in this process."""
    if not any(map(is_addressable, devices)):
        known = ", ".join(map(repr, local_devices()))
        raise ValueError(
            f"{text_of(devices)}{where()}: only other processes have these devices; this process, number "
            f"{devices[0].client.process_index()}, has {known}. Use one of these, or a mesh with one of them."
        )


# Shardings that XLA chooses


def named_sharding(tiling: Any, ndim: int, mesh: Mesh) -> NamedSharding:
    """Return the sharding of arrays of `ndim` axes that XLA describes by `tiling`, over the devices of `mesh`.

    It is over `mesh` itself if a spec over it says the same, and over a mesh of the shape of the tiling if none does.
    """
    if tiling.is_replicated() or mesh.size == 1:
        return NamedSharding(mesh, PartitionSpec())
    sizes = tiling.tile_assignment_dimensions()
    numbers = np.array(tiling.tile_assignment_devices()).reshape(sizes)
    sharding = NamedSharding(mesh, _spec_of(numbers, ndim, mesh))
    if tiling_of(tiles(sharding, ndim)) == tiling_of(tiling):
        return sharding
    names = [f"axis{i}" for i in range(len(sizes))]
    devices = np.array(list(mesh.devices.flat), object)[numbers]
    spec = PartitionSpec(*[name if size > 1 else None for name, size in zip(names[:ndim], sizes)])
    return NamedSharding(Mesh(devices, names), spec)


def _spec_of(numbers: np.ndarray[Any, Any], ndim: int, mesh: Mesh) -> PartitionSpec:
    """Return the spec over `mesh` that the place of each axis' second device in the grid `numbers` suggests.

    A step along a mesh axis that divides an array's axis moves along the same axis of the grid, the further the earlier
    the mesh axis stands in the spec.
    """
    strides = np.arange(mesh.size).reshape(mesh.axis_sizes).strides
    itemsize = np.dtype(np.int64).itemsize
    steps: list[list[tuple[int, Any]]] = [[] for _ in range(ndim)]
    for name, size, stride in zip(mesh.axis_names, mesh.axis_sizes, strides):
        if size > 1:
            tile = np.argwhere(numbers == stride // itemsize)[0]
            moved = [axis for axis in range(ndim) if tile[axis]]
            if len(moved) == 1:
                steps[moved[0]].append((int(tile[moved[0]]), name))
    entries = [tuple([name for _, name in sorted(step, key=lambda item: -item[0])]) for step in steps]
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(*entries)


def placement_of_tiling(tiling: Any, ndim: int, mesh: Mesh, place: Placement | None) -> Placement:
    """Return the placement of arrays of `ndim` axes that XLA describes by `tiling`: `place` if it says the same."""
    if place is not None and (tiling is None or tiling_of(tiling) == place.tiling):
        return place
    sharding = NamedSharding(mesh, PartitionSpec()) if tiling is None else named_sharding(tiling, ndim, mesh)
    return placement_of_sharding(sharding, ndim)


# Types of arrays at a placement


CONVERT = "Convert it to float64 or complex128"


def is_unknown(dtype: np.dtype[Any]) -> bool:
    """Tell whether XLA lacks a dtype of numbers: the long floats of the host's processor."""
    return dtype.isbuiltin == 1 and dtype.char in "gG"


class DeviceType:
    """The type and the placement of arrays on devices.  Each pair is one object, so compare by identity.

    jaxlib takes it as the aval: C++ reads only `shape`, `dtype` and `weak_type`; weakness is not its concern.
    An array has the same buffer as one of the device type `canonical`: of its strong type, at its canonical placement.
    """

    __slots__ = ("_parts", "aval", "canonical", "dtype", "handler", "placement", "shape", "weak_type")

    def __init__(self, aval: ShapedArray, place: Placement, canonical: DeviceType | None) -> None:
        if is_unknown(aval.dtype):
            raise TypeError(f"an array of type {aval}{where()} has a dtype that XLA lacks. {CONVERT}.")
        self.aval, self.placement, self.canonical = aval, place, self if canonical is None else canonical
        self.shape, self.dtype, self.weak_type = aval.shape, aval.dtype, False
        if aval.dtype == float0:
            self.dtype = np.dtype(bool)
        self.handler = xc.array_result_handler(self, place.xla_sharding, True, *_SKIP_CHECKS)
        self._parts: list[tuple[Index, int]] | None = None

    @property
    def parts(self) -> list[tuple[Index, int]]:
        """For each device the slices of the elements that it holds, and how many devices before it hold the same."""
        if self._parts is None:
            counts: dict[Any, int] = {}
            parts = []
            for index in self.placement.shards(self.shape):
                key = tuple([(part.start, part.stop) for part in index])
                counts[key] = counts.get(key, -1) + 1
                parts.append((index, counts[key]))
            self._parts = parts
        return self._parts

    def __repr__(self) -> str:
        return f"DeviceType({self.aval!r}, {self.placement})"


_device_types: dict[tuple[ShapedArray, Placement], DeviceType] = {}


def device_type(aval: ShapedArray, place: Placement) -> DeviceType:
    """Return the device type of arrays of the type `aval` at `place`."""
    interned = _device_types.get((aval, place))
    if interned is None:
        is_canonical = not aval.weak_type and place.canonical is place
        canonical = None if is_canonical else device_type(aval.strip_weak_type(), place.canonical)
        interned = _device_types.setdefault((aval, place), DeviceType(aval, place, canonical))
    return interned
