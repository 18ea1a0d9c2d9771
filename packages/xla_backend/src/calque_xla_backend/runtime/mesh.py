"""Meshes of the devices that there are: `make_mesh`; specs over the mesh of the settings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import Mesh, PartitionSpec
from calque_core.engine import AnyMesh, axes_of_mesh, here, short_repr
from calque_core.extend import where
from calque_xla_backend.runtime.clients import Device, DeviceClass, all_devices
from calque_xla_backend.runtime.placement import text_of
from calque_xla_backend.runtime.sharding import NamedSharding


def make_mesh(
    axis_shapes: Sequence[int], axis_names: Hashable | Sequence[Hashable], *, devices: Sequence[Device] | None = None
) -> Mesh:
    """Return a mesh with axes of these sizes and names, of `devices` or of the first ones of the default platform.

    Raises: ValueError, with both numbers, if there are too few devices; ValueError if a size is below 1, or names do
    not fit; TypeError if sizes are no integers, or `devices` is no list of devices.

    >>> from calque_xla_backend import make_mesh
    >>> make_mesh((1, 1), ("data", "model"))
    Mesh('data': 1, 'model': 1)
    """
    sizes, names = axes_of_mesh("make_mesh", axis_shapes, axis_names)
    chosen = all_devices() if devices is None else _device_list("make_mesh", devices)
    return mesh_of_first(f"make_mesh{where()} got axes of the sizes {sizes}; the mesh", sizes, names, chosen)


def _device_list(caller: str, devices: Any) -> list[Device]:
    """Return devices as a list.  Raises: TypeError if they are none."""
    chosen = list(devices) if isinstance(devices, Iterable) else []
    if not chosen or not all(isinstance(device, DeviceClass) for device in chosen):
        raise TypeError(f"{caller}{where()} got devices={short_repr(devices)}. Give devices, of devices().")
    return chosen


def mesh_of_first(
    subject: str, sizes: tuple[int, ...], axis_names: Hashable | Sequence[Hashable], devices: Sequence[Device]
) -> Mesh:
    """Return a mesh of the first devices of a list.  Raises: ValueError about `subject` if there are too few."""
    check_enough(subject, prod(sizes), devices)
    return Mesh(grid_of(devices[: prod(sizes)], sizes), axis_names)


def grid_of(devices: Sequence[Device], sizes: tuple[int, ...]) -> Any:
    """Return devices as an array of the shape `sizes`."""
    flat = np.empty(len(devices), object)
    flat[:] = devices
    return flat.reshape(sizes)


def check_enough(subject: str, needed: int, devices: Sequence[Device]) -> None:
    """Check that there are as many devices as `subject` needs.  Raises: ValueError with both numbers."""
    if needed > len(devices):
        have = f"there {'is' if len(devices) == 1 else 'are'} {len(devices)}: {text_of(devices)}"
        raise ValueError(
            f"{subject} needs {needed} devices, but {have}. Call "
            f"config.cpu_devices({needed}) before the first use of a device, which makes virtual devices of the host's "
            "processor."
        )


def on_first_devices(caller: str, mesh: AnyMesh) -> Mesh:
    """Return a mesh without devices on the first devices of the default platform.

    Raises: ValueError if there are too few.
    """
    return mesh_of_first(f"{caller}{where()} has {mesh!r}, which", mesh.axis_sizes, mesh.axis_names, all_devices())


def resolve(sharding: Any, caller: str) -> NamedSharding | None:
    """Return a sharding, for a spec the one over the mesh of the setting `mesh`.

    Raises: ValueError, in the name of `caller`, for a spec where no mesh is set.
    """
    if not isinstance(sharding, PartitionSpec):
        return sharding  # type: ignore[no-any-return]
    mesh = here().settings.mesh
    if mesh is None:
        raise ValueError(
            f"{caller}{where()} got {sharding!r}, and no mesh is set. Use NamedSharding(mesh, spec), or call it under "
            "`with config.set_mesh(mesh)`."
        )
    return NamedSharding(mesh if isinstance(mesh, Mesh) else on_first_devices(caller, mesh), sharding)
