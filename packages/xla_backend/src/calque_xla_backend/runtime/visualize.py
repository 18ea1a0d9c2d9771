"""Shardings as text: a table of the parts of an array, with the devices that hold each."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core.engine import describe_value
from calque_core.extend import Shape, where
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.sharding import Sharding

_MAX_RANK = 2


def visualize_sharding(shape: Sequence[int], sharding: Sharding) -> None:
    """Print which devices hold which part of an array of 1 or 2 axes.

    Raises: ValueError for another number of axes; ShapeError, with the numbers, for a shape that does not divide.

    >>> from calque_core import PartitionSpec as P
    >>> from calque_xla_backend import NamedSharding, make_mesh, visualize_sharding
    >>> visualize_sharding((4, 2), NamedSharding(make_mesh((1,), "x"), P("x")))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    whole = tuple(map(int, shape))
    if len(whole) not in (1, _MAX_RANK):
        raise ValueError(
            f"visualize_sharding{where()} got the shape {whole} of {len(whole)} axes. Use 1 or 2 axes, or print "
            "sharding.devices_indices_map(shape)."
        )
    print(_table(_cells(whole, sharding)))  # noqa: T201 - printing is its purpose


def visualize_array_sharding(x: Array) -> None:
    """Print which devices hold which part of an array of 1 or 2 axes.

    Raises: TypeError if `x` is no device array; as `visualize_sharding`.

    >>> import numpy as np
    >>> from calque_xla_backend import device_put, visualize_array_sharding
    >>> visualize_array_sharding(device_put(np.ones(4)))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if type(x) is not Array:
        raise TypeError(f"visualize_array_sharding{where()} got {describe_value(x)}. Use a device array.")
    visualize_sharding(x.shape, x.sharding)


def _cells(shape: Shape, sharding: Sharding) -> list[list[str]]:
    """Return the text of each part, row by row."""
    holders: dict[tuple[int, int], list[int]] = {}
    platform = ""
    for device, index in sharding.devices_indices_map(shape).items():
        starts = [part.start or 0 for part in index]
        holders.setdefault((starts[0], starts[1]) if len(starts) > 1 else (0, starts[0]), []).append(device.id)
        platform = device.platform.upper()
    rows, columns = (sorted({corner[axis] for corner in holders}) for axis in (0, 1))
    return [[f"{platform} {','.join(map(str, sorted(holders[row, column])))}" for column in columns] for row in rows]


def _table(cells: list[list[str]]) -> str:
    """Return a table of boxes of one width."""
    width = max(len(cell) for row in cells for cell in row) + 2
    count = len(cells[0])
    top, middle, bottom = (
        left + joint.join(["─" * width] * count) + right for left, joint, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    rows = ["│" + "│".join(cell.center(width) for cell in row) + "│" for row in cells]
    return "\n".join([top, f"\n{middle}\n".join(rows), bottom])
