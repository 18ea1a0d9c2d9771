"""Memory for the small NumPy arguments of a program, to which calls write in turns.

One idea: a transfer costs 3 us however small the array; a write to memory that has a buffer already costs 0.1 us.  So
an arena holds a buffer for each argument, on memory of its own.  A call writes its leaves there and runs the program
on these buffers.  A token tells when the program has ended, and only then the next call writes there.

Read next: `transfer.py`, which decides which arguments go through an arena.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_xla_backend.runtime.placement import DeviceType
from calque_xla_backend.runtime.runtime import Buffer, lend, wait_for

Value = Any
Memory = np.ndarray[Any, Any]

_ALIGNMENT = 64  # of memory that XLA shares
_AT_REST = 2  # arenas: a call takes the one that rested longest, so that it need not wait for the last call


class Arena:
    """Memory for the arguments of one call at a time; `token` belongs to the last call."""

    __slots__ = ("buffers", "token", "views")

    def __init__(self, targets: Sequence[DeviceType]) -> None:
        self.views = _aligned_memory(targets)
        self.buffers: list[Buffer] = [lend(view, target) for view, target in zip(self.views, targets)]
        self.token: Any = None

    def write(self, leaves: Sequence[Value]) -> list[Buffer]:
        """Copy the leaves to the memory, once the program of the last call has ended; return their buffers.

        Raises: OverflowError for a Python integer that does not fit its dtype.
        """
        if self.token is not None:
            wait_for(self.token)
        for view, x in zip(self.views, leaves):
            view[...] = x
        return self.buffers


class Arenas:
    """The arenas of one program: as many as there are calls at a time, and `_AT_REST` more."""

    __slots__ = ("_at_rest", "targets")

    def __init__(self, targets: Sequence[DeviceType]) -> None:
        self.targets = targets
        self._at_rest: deque[Arena] = deque()

    def take(self) -> Arena:
        """Return an arena that no other call has."""
        try:
            return self._at_rest.popleft() if len(self._at_rest) >= _AT_REST else Arena(self.targets)
        except IndexError:  # another thread took the last one
            return Arena(self.targets)

    def give_back(self, arena: Arena, token: Any) -> None:
        """Let later calls take an arena; `token` is that of the program that reads it."""
        arena.token = token
        self._at_rest.append(arena)


def _aligned_memory(targets: Sequence[DeviceType]) -> list[Memory]:
    """Return memory for each type."""
    sizes = [target.aval.size * target.dtype.itemsize for target in targets]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
    memory = np.zeros(starts[-1] + _ALIGNMENT, np.uint8)
    memory = memory[-memory.ctypes.data % _ALIGNMENT :]
    return [
        memory[start : start + size].view(target.dtype).reshape(target.shape)
        for start, size, target in zip(starts, sizes, targets)
    ]
