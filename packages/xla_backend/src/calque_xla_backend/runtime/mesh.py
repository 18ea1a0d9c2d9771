"""Meshes of the devices that there are: `make_mesh`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core import Mesh
from calque_core.extend import where
from calque_xla_backend.runtime.clients import Device, all_devices
from calque_xla_backend.runtime.placement import text_of


def make_mesh(
    axis_shapes: Sequence[int], axis_names: Hashable | Sequence[Hashable], *, devices: Sequence[Device] | None = None
) -> Mesh:
    """Return a mesh with axes of these sizes and names, of `devices` or of the first ones of the default platform.

    Raises: ValueError, with both numbers, if there are too few devices; TypeError if `axis_shapes` are no integers,
    ValueError if one is below 1; as `Mesh`.

    >>> from calque_xla_backend import make_mesh
    >>> make_mesh((1, 1), ("data", "model"))
    Mesh('data': 1, 'model': 1)
    """
    sizes = _sizes_of(axis_shapes)
    chosen = all_devices() if devices is None else list(devices)
    return mesh_of_first(f"make_mesh{where()} got axes of the sizes {sizes}; the mesh", sizes, axis_names, chosen)


def _sizes_of(axis_shapes: Any) -> tuple[int, ...]:
    sizes = tuple(axis_shapes) if isinstance(axis_shapes, Iterable) else (None,)
    if not all(isinstance(size, (int, np.integer)) for size in sizes):
        raise TypeError(f"make_mesh{where()} got axis_shapes={axis_shapes!r}. Use a tuple of sizes, such as (4, 2).")
    if any(size < 1 for size in sizes):
        raise ValueError(
            f"make_mesh{where()} got axis_shapes={axis_shapes!r}, with a size below 1. Use the number of devices along "
            "each axis."
        )
    return tuple(map(int, sizes))


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
