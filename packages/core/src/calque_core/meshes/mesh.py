"""Meshes: devices in an array whose axes have names.

One idea: a program needs the names and sizes of the axes alone, an `AbstractMesh`; which devices stand at its positions
matters to a backend only.  So a program that is divided over a mesh runs with core alone, without any device.

Read next: `shards.py`, the parts of an array at the positions of a mesh.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, NoReturn, final

import numpy as np

from calque_core.context import mesh_classes
from calque_core.frames.source import where

AxisName = Hashable


@final
class AbstractMesh:
    """The sizes and names of the axes of a mesh.  It is immutable, and compares by them.

    Raises: ValueError if sizes and names do not fit, or a name occurs twice; TypeError if the sizes are no integers.

    >>> from calque_core import AbstractMesh
    >>> mesh = AbstractMesh((4, 2), ("data", "model"))
    >>> mesh.size, mesh.shape["model"]
    (8, 2)
    """

    __slots__ = ("axis_names", "axis_sizes")

    axis_sizes: tuple[int, ...]
    axis_names: tuple[AxisName, ...]

    def __init__(self, axis_sizes: Sequence[int], axis_names: AxisName | Sequence[AxisName]) -> None:
        sizes, names = axes_of_mesh("AbstractMesh", axis_sizes, axis_names)
        object.__setattr__(self, "axis_sizes", sizes)
        object.__setattr__(self, "axis_names", names)

    @property
    def shape(self) -> Mapping[AxisName, int]:
        """The sizes of the axes by name."""
        return MappingProxyType(dict(zip(self.axis_names, self.axis_sizes)))

    @property
    def size(self) -> int:
        """The number of positions."""
        return prod(self.axis_sizes)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {self!r} cannot be set. Make a new mesh.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not AbstractMesh:
            return NotImplemented
        return self.axis_sizes == other.axis_sizes and self.axis_names == other.axis_names

    def __hash__(self) -> int:
        return hash((self.axis_sizes, self.axis_names))

    def __repr__(self) -> str:
        return f"AbstractMesh({axes_text(self)})"

    def __enter__(self) -> NoReturn:
        _refuse_block(self)

    def __exit__(self, *_: object) -> None:
        """Stand beside `__enter__`, which Python calls only if there are both."""

    def __reduce__(self) -> Any:
        return AbstractMesh, (self.axis_sizes, self.axis_names)


@final
class Mesh:
    """Devices in an array with named axes.  It is immutable, and compares by its devices and names.

    `devices` is an array of devices, or nested lists of them.
    Raises: ValueError if the number of axes and of names differ, a name or a device occurs twice.

    >>> import numpy as np
    >>> from calque_core import Mesh
    >>> mesh = Mesh(np.array(["a", "b", "c", "d"]).reshape(2, 2), ("x", "y"))
    >>> mesh
    Mesh('x': 2, 'y': 2)
    >>> mesh.devices[1, 0]
    'c'
    """

    __slots__ = ("_flat", "_hash", "abstract_mesh", "devices")

    abstract_mesh: AbstractMesh
    devices: np.ndarray[Any, Any]
    _flat: tuple[Any, ...]
    _hash: int

    def __init__(self, devices: Any, axis_names: AxisName | Sequence[AxisName]) -> None:
        array = np.array(devices, dtype=object)
        _, names = axes_of_mesh("Mesh", array.shape, axis_names)
        flat = tuple(array.flat)
        if len(set(flat)) != len(flat):
            twice = next(device for i, device in enumerate(flat) if device in flat[:i])
            raise ValueError(f"Mesh{where()} got the device {twice!r} twice. Give each device once.")
        array.flags.writeable = False
        object.__setattr__(self, "devices", array)
        object.__setattr__(self, "abstract_mesh", AbstractMesh(array.shape, names))
        object.__setattr__(self, "_flat", flat)
        object.__setattr__(self, "_hash", hash((flat, self.abstract_mesh)))

    @property
    def axis_names(self) -> tuple[AxisName, ...]:
        """The names of the axes."""
        return self.abstract_mesh.axis_names

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.abstract_mesh.axis_sizes

    @property
    def shape(self) -> Mapping[AxisName, int]:
        """The sizes of the axes by name."""
        return self.abstract_mesh.shape

    @property
    def size(self) -> int:
        """The number of devices."""
        return self.abstract_mesh.size

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {self!r} cannot be set. Make a new mesh.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not Mesh:
            return NotImplemented
        return self is other or (self._flat == other._flat and self.abstract_mesh == other.abstract_mesh)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Mesh({axes_text(self)})"

    def __enter__(self) -> NoReturn:
        _refuse_block(self)

    def __exit__(self, *_: object) -> None:
        """Stand beside `__enter__`, which Python calls only if there are both."""

    def __deepcopy__(self, memo: dict[int, object]) -> Mesh:
        return self  # devices are known by their identity

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names)


def _refuse_block(mesh: object) -> NoReturn:
    raise TypeError(f"with {mesh!r}{where()}: a mesh has no scope. Write `with config.set_mesh(mesh):`.")


AnyMesh = Mesh | AbstractMesh
mesh_classes.update((Mesh, AbstractMesh))


def axes_text(mesh: AnyMesh) -> str:
    """Return the axes of a mesh for messages: "'data': 4, 'model': 2"."""
    return ", ".join(f"{name!r}: {size}" for name, size in mesh.shape.items())


def axes_of_mesh(
    caller: str, axis_sizes: Iterable[int], axis_names: AxisName | Sequence[AxisName]
) -> tuple[tuple[int, ...], tuple[AxisName, ...]]:
    """Return the sizes and the names of the axes of a mesh, which `caller` got.

    Raises: TypeError if the sizes are no integers; ValueError if sizes and names do not fit, or a name occurs twice.

    >>> from calque_core.engine import axes_of_mesh
    >>> axes_of_mesh("make_mesh", [4], "data")
    ((4,), ('data',))
    """
    sizes: tuple[Any, ...] = tuple(axis_sizes) if isinstance(axis_sizes, Iterable) else (axis_sizes,)
    if not (isinstance(axis_sizes, Iterable) and all(isinstance(size, (int, np.integer)) for size in sizes)):
        raise TypeError(f"{caller}{where()} got {axis_sizes!r} as the sizes of axes. Use a tuple of integers.")
    names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
    _check_axes(caller, sizes, names)
    return tuple(map(int, sizes)), names


def _check_axes(caller: str, sizes: tuple[int, ...], names: tuple[AxisName, ...]) -> None:
    if len(sizes) != len(names):
        raise ValueError(
            f"{caller}{where()} got {len(sizes)} axes, of sizes {sizes}, and {len(names)} names, {names}. Give one "
            "name for each axis."
        )
    if len(set(names)) != len(names):
        raise ValueError(
            f"{caller}{where()} got the axis names {names}, one of them twice. Name each axis differently."
        )
    if any(size < 1 for size in sizes):
        raise ValueError(f"{caller}{where()} got axes of sizes {sizes}. Each axis needs at least one position.")
