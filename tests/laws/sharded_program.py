"""What a row of the table of sharded programs is: a program over a mesh, and what it means on one device.

One idea: the meaning is a plain NumPy function, so a row compares a sharded program, its derivatives included, with a
program that knows of no mesh.

Read next: `sharded_collectives.py` and `sharded_models.py`, the table; `test_sharded.py`, the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from program import Example, Program

from calque_core import AbstractMesh, shard_map

Value = Any
LINE, GRID = ("i",), ("x", "y")
SHAPES = {LINE: {1: (1,), 2: (2,), 4: (4,), 8: (8,)}, GRID: {1: (1, 1), 2: (2, 1), 4: (2, 2), 8: (4, 2)}}
SIZES = (1, 2, 4, 8)


class ShardedProgram(NamedTuple):
    """A row of the table.

    `make(mesh, check_vma)` gives the function over a mesh, `meaning(mesh, *args)` its result on one device.  `makers`
    make arguments, as in `program.py`.  `checked` has the values of `check_vma` for which the program has this meaning.
    """

    name: str
    make: Callable[..., Callable[..., Any]]
    meaning: Callable[..., Any]
    makers: Sequence[Callable[..., Any]]
    axes: tuple[str, ...] = LINE
    checked: tuple[bool, ...] = (True, False)

    def mesh(self, size: int) -> AbstractMesh:
        """Return the mesh of a number of positions."""
        return AbstractMesh(SHAPES[self.axes][size], self.axes)

    def sharded(self, size: int, check_vma: bool, mesh: Any = None) -> Example:
        """Return the program over a mesh of `size` positions, with arguments."""
        program = Program(self.name, self.make(mesh or self.mesh(size), check_vma), self.makers)
        return program.example("float64")

    def on_one_device(self, size: int) -> Example:
        """Return what the program means on one device, with the same arguments."""
        mesh = self.mesh(size)
        program = Program(self.name, lambda *args: self.meaning(mesh, *args), self.makers)
        return program.example("float64")


def row(name: str, make: Any, meaning: Any, *makers: Any, **options: Any) -> ShardedProgram:
    """Return a row, with its makers in a tuple."""
    return ShardedProgram(name, make, meaning, makers, **options)


def over(body: Any, in_specs: Any, out_specs: Any, **options: Any) -> Callable[..., Any]:
    """Return the `make` of a program that is one `shard_map` of `body`."""

    def make(mesh: Any, check_vma: bool) -> Any:
        return shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma, **options)

    return make


def parts(x: Value, mesh: Any, axis: int = 0) -> Value:
    """Return the sections of an axis, one for each position of the mesh, stacked along a new axis in front."""
    return np.stack(np.split(x, mesh.size, axis))


def copies(x: Value, mesh: Any) -> Value:
    """Return one copy of an array for each position of the mesh, joined along the first axis."""
    return np.concatenate([x] * mesh.size)
