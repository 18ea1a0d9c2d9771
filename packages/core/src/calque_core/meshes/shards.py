"""Shards: the parts of an array at the positions of a mesh.

One idea: a mesh axis that a spec names cuts an axis of the array into equal sections; positions that differ only along
other mesh axes hold the same section.  Functions here turn (shape, mesh, spec) into shapes and slices, for every
backend and for the evaluation without devices.

Read next: `partition_spec.py`, `mesh.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.meshes.mesh import AnyMesh, axes_text
from calque_core.meshes.partition_spec import Names, PartitionSpec, names_of

Shape = tuple[int, ...]
Slices = tuple[slice, ...]


def axis_names_of(spec: PartitionSpec, ndim: int) -> tuple[Names, ...]:
    """Return the mesh axes that divide each of the `ndim` axes of an array.

    >>> from calque_core import PartitionSpec as P
    >>> from calque_core.engine import axis_names_of
    >>> axis_names_of(P(None, ("x", "y")), 3)
    ((), ('x', 'y'), ())
    """
    return tuple([names_of(entry) for entry in spec.entries] + [()] * (ndim - len(spec)))


def check_spec(caller: str, shape: Shape, mesh: AnyMesh, spec: PartitionSpec) -> None:
    """Check that a spec divides arrays of a shape evenly over a mesh.

    `caller` begins the message: 'device_put: args[0], float32[3,2],'.
    Raises: ValueError for an axis that the mesh does not have; ShapeError, with the numbers, if the rank is too small
    or a size is no multiple of the number of parts.
    """
    for name in spec.names:
        if name not in mesh.shape:
            raise ValueError(
                f"{caller}{where()}: {spec!r} names the axis {name!r}, but the mesh has the axes {axes_text(mesh)}. "
                "Use these names."
            )
    if len(spec) > len(shape):
        raise ShapeError(
            f"{caller}{where()}: {spec!r} has {len(spec)} entries, but the shape {shape} has {len(shape)} axes. Give "
            "at most one entry for each axis."
        )
    for axis, names in enumerate(axis_names_of(spec, len(shape))):
        parts = prod(mesh.shape[name] for name in names)
        if shape[axis] % parts:
            raise ShapeError(
                f"{caller}{where()}: axis {axis} of the shape {shape} has size {shape[axis]}, which does not divide "
                f"into {parts} equal parts, as {spec!r} on the mesh {axes_text(mesh)} requires. Pad it to a multiple "
                f"of {parts}, or leave that axis undivided."
            )


def shard_shape(shape: Shape, mesh: AnyMesh, spec: PartitionSpec) -> Shape:
    """Return the shape of the part of an array that one position of a mesh holds; `check_spec` must have passed.

    >>> from calque_core import AbstractMesh, PartitionSpec as P
    >>> from calque_core.engine import shard_shape
    >>> shard_shape((8, 6), AbstractMesh((4, 2), ("x", "y")), P("x", "y"))
    (2, 3)
    """
    sizes = mesh.shape
    return tuple(
        [size // prod(sizes[name] for name in names) for size, names in zip(shape, axis_names_of(spec, len(shape)))]
    )


def full_shape(shape: Shape, mesh: AnyMesh, spec: PartitionSpec) -> Shape:
    """Return the shape of the array whose parts have `shape`: the inverse of `shard_shape`."""
    sizes = mesh.shape
    return tuple(
        [size * prod(sizes[name] for name in names) for size, names in zip(shape, axis_names_of(spec, len(shape)))]
    )


def shard_slices(shape: Shape, mesh: AnyMesh, spec: PartitionSpec) -> list[Slices]:
    """Return the slices of the array that each position of a mesh holds, positions in row-major order.

    >>> from calque_core import AbstractMesh, PartitionSpec as P
    >>> from calque_core.engine import shard_slices
    >>> shard_slices((4,), AbstractMesh((2,), ("x",)), P("x"))
    [(slice(0, 2, None),), (slice(2, 4, None),)]
    """
    part, sizes = shard_shape(shape, mesh, spec), mesh.shape
    divided = axis_names_of(spec, len(shape))

    def at(position: Sequence[int]) -> Slices:
        place = dict(zip(mesh.axis_names, position))
        numbers = [_number([place[n] for n in names], [sizes[n] for n in names]) for names in divided]
        return tuple([slice(i * size, (i + 1) * size) for i, size in zip(numbers, part)])

    return [at(position) for position in np.ndindex(*mesh.axis_sizes)]


def _number(places: Sequence[int], sizes: Sequence[int]) -> int:
    """Return the number of a section, cut along several mesh axes, of which the first varies slowest."""
    number = 0
    for place, size in zip(places, sizes):
        number = number * size + place
    return number
