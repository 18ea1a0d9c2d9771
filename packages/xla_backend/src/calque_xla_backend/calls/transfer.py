"""From the leaves of a call to buffers: NumPy values and scalars are copied to the device, device arrays are not.

One idea: lists hold the classes, dtypes and shapes of the leaves of a call, so that comparing lists recognises the
next call with leaves of the same types.  A transfer costs 3 us however small the array, so small ones go to an arena.

Read next: `arena.py`; `compiled.py`, which uses both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.engine import plain_types
from calque_xla_backend.calls.arena import Arena, Arenas
from calque_xla_backend.compile import Program
from calque_xla_backend.runtime.array import Array
from calque_xla_backend.runtime.placement import DeviceType
from calque_xla_backend.runtime.runtime import Buffer, put

Value = Any

SMALL_BYTES = 1 << 14  # of a value in an arena: to copy a larger one takes as long as its transfer

_SCALARS = (bool, int, float, complex)
_NO_VALUE = object()


class Inputs:
    """The types of the leaves of one call: recognises later calls with the same types, and makes their buffers."""

    __slots__ = (
        "are_small",
        "arenas",
        "device",
        "device_types",
        "dtypes",
        "host",
        "keeps_scalars",
        "last_scalars",
        "shapes",
        "small",
        "targets",
        "types",
    )

    def __init__(self, leaves: Sequence[Value], program: Program) -> None:
        self.types = [*map(type, leaves)]
        self.small = _small_leaves(self.types, program)
        self.are_small = len(self.small) == len(leaves)  # all of them
        self.arenas = Arenas([program.in_types[i] for i in self.small]) if self.small else None
        # A scalar is converted even where the program does not read it: an integer that does not fit is refused.
        self.targets = [
            target if is_used or kind in _SCALARS else None
            for target, is_used, kind in zip(program.in_types, program.used, self.types)
        ]
        for i in self.small:
            self.targets[i] = None
        self.keeps_scalars = not program.donated
        self.device = [i for i, kind in enumerate(self.types) if kind is Array]
        self.device_types = [leaves[i]._device_type for i in self.device]
        self.host = [i for i, kind in enumerate(self.types) if kind is not Array and kind not in _SCALARS]
        self.dtypes, self.shapes = [leaves[i].dtype for i in self.host], [leaves[i].shape for i in self.host]
        self.last_scalars: list[tuple[Value, Buffer]] = [(_NO_VALUE, None)] * len(leaves)

    def fit(self, leaves: Sequence[Value]) -> bool:
        """Tell whether `leaves` have the classes, dtypes, shapes and devices of the first call."""
        if [*map(type, leaves)] != self.types:
            return False
        if self.device and [leaves[i]._device_type for i in self.device] != self.device_types:
            return False
        for i, dtype, shape in zip(self.host, self.dtypes, self.shapes):  # two list displays take 0.2 us more
            x = leaves[i]
            if x.shape != shape or (x.dtype is not dtype and x.dtype != dtype):
                return False
        return True

    def buffers_in_arena(self, leaves: Sequence[Value], arena: Arena) -> list[Buffer]:
        """Return the buffers of leaves that fit, some of them in an arena.  Raises: as `buffers`."""
        buffers = self.buffers(leaves)
        for i, buffer in zip(self.small, arena.write([leaves[i] for i in self.small])):
            buffers[i] = buffer
        return buffers

    def buffers(self, leaves: Sequence[Value]) -> list[Buffer]:
        """Return the buffers of leaves that fit; NumPy values that the program reads are copied.

        A scalar that is the same object as at the last call, such as a constant of the program, is not copied again.
        Raises: OverflowError for a Python integer that does not fit its dtype.
        """
        buffers = []
        for i, x in enumerate(leaves):
            value, buffer = self.last_scalars[i]
            if type(x) is Array:
                buffer = x._buffer
            elif x is not value:
                target = self.targets[i]
                buffer = None if target is None else put(np.asarray(x, target.dtype), target)
                if type(x) is not np.ndarray and self.keeps_scalars:
                    self.last_scalars[i] = x, buffer
            buffers.append(buffer)
        return buffers


def _small_leaves(types: Sequence[type], program: Program) -> list[int]:
    """Return the numbers of the leaves that go to an arena: small NumPy values that the program reads and keeps.

    A program that calls Python would show the memory to the user's functions.
    """
    if program.donated or program.run_with_token is None:
        return []
    return [
        i
        for i, (kind, target, is_used) in enumerate(zip(types, program.in_types, program.used))
        if is_used and kind is not Array and _fits_an_arena(target)
    ]


def _fits_an_arena(target: DeviceType) -> bool:
    """Tell whether a small array of a dtype of NumPy's is in the memory of one device that is the host's processor."""
    is_on_host = target.placement.platform == "cpu" and len(target.placement.devices) == 1
    return is_on_host and target.dtype.isbuiltin == 1 and 0 < target.aval.size * target.dtype.itemsize <= SMALL_BYTES


def has_plain_types(leaves: Sequence[Value], targets: Sequence[DeviceType]) -> bool:
    """Tell whether `Inputs` serves these leaves: their classes are plain, and no device array needs a conversion."""
    return all(
        x._device_type is target if type(x) is Array else type(x) in plain_types for x, target in zip(leaves, targets)
    )
