"""The place of a program over several devices: which devices, and how its arguments and results are divided.

One idea: XLA makes one program for all devices, a partition for each.  It divides an argument or a result as a
placement says, and as it likes where there is none.

Read next: `placing.py`, which chooses the place of a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calque_core import Mesh, PartitionSpec
from calque_xla_backend.runtime.clients import Device
from calque_xla_backend.runtime.placement import Placement, mesh_of, placement_of_sharding
from calque_xla_backend.runtime.sharding import NamedSharding


@dataclass(frozen=True, slots=True)
class Partition:
    """The place of a program on the devices of a mesh, in the order of the mesh.

    `whole` is the placement of an array of which each device holds all elements.  `arguments` and `results` have a
    canonical placement or None for each; with fewer of them, XLA chooses the placements that are missing.
    """

    whole: Placement
    arguments: tuple[Placement | None, ...] = ()
    results: tuple[Placement | None, ...] = ()

    @property
    def mesh(self) -> Mesh:
        """The mesh of the devices."""
        return mesh_of(self.whole)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices, in the order of the partitions."""
        return self.whole.devices

    @property
    def device_list(self) -> Any:
        """The devices as jaxlib takes them."""
        return self.whole.device_list

    @property
    def platform(self) -> str:
        """The platform of the devices."""
        return self.whole.platform

    def __str__(self) -> str:
        return str(self.whole)


Place = Placement | Partition  # of a program: on one device, or on several


def whole_on(mesh: Mesh) -> Placement:
    """Return the placement of arrays of which each device of a mesh holds all elements.

    Raises: ValueError for a device of another library.
    """
    return placement_of_sharding(NamedSharding(mesh, PartitionSpec()), 0)
