"""Names of `jax.sharding` that calque has elsewhere, or one value for."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

import calque
from calque_as_jax.values import NoMesh
from calque_core import Mesh, config
from calque_xla_backend import devices

__all__ = [
    "AxisType", "Format", "Mesh", "create_device_mesh", "get_abstract_mesh", "get_mesh",
    "make_mesh",
]  # fmt: skip


class AxisType(enum.Enum):
    """How an axis of a mesh is divided: calque has `Auto`."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()


def axis_types_of(mesh: Any) -> tuple[AxisType, ...]:
    """Return the type of each axis of a mesh."""
    return (AxisType.Auto,) * len(mesh.axis_names)


def get_mesh() -> Any:
    """Return the mesh of the block `set_mesh`, or an empty one."""
    return config.current().mesh or NoMesh()


get_abstract_mesh = get_mesh


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[str], axis_types: Any = None, **options: Any) -> Any:
    """Return a mesh of devices.  Raises: NotImplementedError for axis types other than `Auto`."""
    if axis_types is not None and any(kind is not AxisType.Auto for kind in axis_types):
        raise NotImplementedError(f"make_mesh got axis_types={axis_types}. Use AxisType.Auto: types hold no shardings.")
    return calque.make_mesh(tuple(axis_shapes), tuple(axis_names), **options)


def create_device_mesh(mesh_shape: Sequence[int], devices: Any = None, **_: Any) -> Any:
    """Return an array of devices with the shape of a mesh."""
    available = _devices() if devices is None else list(devices)
    return np.array(available[: int(np.prod(mesh_shape))], dtype=object).reshape(mesh_shape)


_devices = devices


class Format:
    """A sharding beside a layout, which is XLA's choice here.  Raises: NotImplementedError for a layout."""

    def __init__(self, layout: Any = None, sharding: Any = None) -> None:
        if layout is not None:
            raise NotImplementedError(f"Format got layout={layout!r}, but layouts are XLA's choice here. Leave it out.")
        self.layout, self.sharding = layout, sharding
