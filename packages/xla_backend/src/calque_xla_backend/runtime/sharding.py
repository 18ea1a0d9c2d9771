"""Where the elements of an array are: on one device, or divided over a mesh of devices.

One idea: a sharding is data that an array shows and `device_put` takes; it has JAX's names, so that programs that ask
an array for its sharding and pass it on run unchanged.  Core's functions on specs do the arithmetic.

Read next: `placement.py`, which gives shardings to XLA; `array.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from calque_core import Mesh, PartitionSpec
from calque_core.engine import Uncopied, axis_names_of, check_spec, describe_value
from calque_core.engine import shard_shape as shape_of_shard
from calque_core.engine import shard_slices as slices_of_shards
from calque_core.extend import Shape, where
from calque_xla_backend.runtime.clients import Device

Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class SingleDeviceSharding(Uncopied):
    """All elements are on one device.  Two shardings are equal if their devices are.

    >>> from calque_xla_backend import SingleDeviceSharding, device_put, devices
    >>> device_put(2.0).sharding
    SingleDeviceSharding(device=CpuDevice(id=0))
    >>> device_put(2.0).sharding == SingleDeviceSharding(devices()[0])
    True
    """

    device: Device

    _in_words, _holds = "a sharding", "a device of this process"
    _instead = "Make it again after loading, from the device's number."

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold elements."""
        return {self.device}

    @property
    def num_devices(self) -> int:
        """The number of devices: 1."""
        return 1

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all elements: True."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether the device belongs to this process."""
        return is_addressable(self.device)

    def shard_shape(self, global_shape: Shape) -> Shape:
        """Return the shape of the elements on the device: all of them."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Shape) -> dict[Device, Index]:
        """Return the slices of an array that each device holds."""
        return {self.device: tuple([slice(None)] * len(global_shape))}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Tell whether two shardings put the elements of arrays of `ndim` axes on the same devices."""
        return _tiles(self, ndim) == _tiles(other, ndim)


@dataclass(frozen=True, slots=True, init=False)
class NamedSharding(Uncopied):
    """The elements are divided over the devices of a mesh as a spec says.  It compares by its mesh and spec.

    Raises: TypeError if `mesh` is no `Mesh` or `spec` no `PartitionSpec`; ValueError for a name that is no axis of the
    mesh.

    >>> import numpy as np
    >>> from calque_core import Mesh, PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, device_put, devices
    >>> sharding = NamedSharding(Mesh(np.array(devices()[:1]), "data"), P("data"))
    >>> sharding
    NamedSharding(mesh=Mesh('data': 1), spec=PartitionSpec('data'))
    >>> device_put(np.arange(3), sharding).sharding == sharding
    True
    """

    mesh: Mesh
    spec: PartitionSpec

    _in_words, _holds = "a sharding", "devices of this process"
    _instead = "Pickle its spec, and make it again after loading, with a mesh."

    def __init__(self, mesh: Mesh, spec: PartitionSpec) -> None:  # a generated one would stand in messages
        if type(mesh) is not Mesh:
            raise TypeError(
                f"NamedSharding{where()} got {describe_value(mesh)} as its mesh. Use a Mesh, which has devices; "
                "make_mesh makes one."
            )
        if type(spec) is not PartitionSpec:
            raise TypeError(
                f"NamedSharding{where()} got {describe_value(spec)} as its spec. Use a PartitionSpec, such as "
                "PartitionSpec('x', None)."
            )
        check_spec("NamedSharding", (0,) * len(spec), mesh, spec)
        object.__setattr__(self, "mesh", mesh)
        object.__setattr__(self, "spec", spec)

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold elements."""
        return set(self.mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all elements."""
        sizes = self.mesh.shape
        return PartitionSpec.UNCONSTRAINED not in self.spec and prod(sizes[name] for name in self.spec.names) == 1

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return all(map(is_addressable, self.mesh.devices.flat))

    def shard_shape(self, global_shape: Shape) -> Shape:
        """Return the shape of the elements that one device holds.

        Raises: ShapeError, with the numbers, if an axis does not divide evenly.
        """
        check_spec("shard_shape", tuple(global_shape), self.mesh, self.spec)
        return shape_of_shard(tuple(global_shape), self.mesh, self.spec)

    def devices_indices_map(self, global_shape: Shape) -> dict[Device, Index]:
        """Return the slices of an array that each device holds.  Raises: as `shard_shape`.

        >>> import numpy as np
        >>> from calque_core import Mesh, PartitionSpec as P
        >>> from calque_xla_backend import NamedSharding, devices
        >>> NamedSharding(Mesh(np.array(devices()[:1]), "data"), P("data")).devices_indices_map((8,))
        {CpuDevice(id=0): (slice(None, None, None),)}
        """
        shape = tuple(global_shape)
        check_spec("devices_indices_map", shape, self.mesh, self.spec)
        indices = [as_index(slices, shape) for slices in slices_of_shards(shape, self.mesh, self.spec)]
        return dict(zip(self.mesh.devices.flat, indices))

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Tell whether two shardings put the elements of arrays of `ndim` axes on the same devices.

        >>> import numpy as np
        >>> from calque_core import Mesh, PartitionSpec as P
        >>> from calque_xla_backend import NamedSharding, devices
        >>> sharding = NamedSharding(Mesh(np.array(devices()[:1]), "data"), P("data"))
        >>> sharding.is_equivalent_to(sharding.with_spec(P("data", None)), ndim=2)
        True
        """
        return _tiles(self, ndim) == _tiles(other, ndim)

    def with_spec(self, spec: PartitionSpec) -> NamedSharding:
        """Return the sharding of another spec over the same mesh."""
        return NamedSharding(self.mesh, spec)


Sharding = SingleDeviceSharding | NamedSharding
SHARDINGS = (SingleDeviceSharding, NamedSharding)


def as_index(slices: Index, shape: Shape) -> Index:
    """Return the slices of a shard, with `slice(None)` for a whole axis."""
    return tuple([slice(None) if part == slice(0, size) else part for part, size in zip(slices, shape)])


def is_addressable(device: Device) -> bool:
    """Tell whether a device belongs to this process."""
    return bool(device.process_index == device.client.process_index())


def _tiles(sharding: Any, ndim: int) -> dict[Device, Index]:
    """Return the slices that each device holds of an array of `ndim` axes, each of which divides over any mesh."""
    if isinstance(sharding, SingleDeviceSharding):
        return {sharding.device: (slice(0, 1),) * ndim}
    slices = slices_of_shards(parts_of(sharding, ndim), sharding.mesh, sharding.spec)
    return dict(zip(sharding.mesh.devices.flat, slices))


def parts_of(sharding: NamedSharding, ndim: int) -> Shape:
    """Return the number of parts into which a sharding divides each axis of an array."""
    sizes = sharding.mesh.shape
    return tuple([prod(sizes[name] for name in names) for names in axis_names_of(sharding.spec, ndim)])
