"""From the leaves of a call to buffers: NumPy values and scalars are copied to the device, arrays are there already.

One idea: the classes, dtypes and shapes of a call's leaves are kept in lists, so that comparing lists recognises the
next call with leaves of the same types.  A transfer costs 2 to 3 us however small the array.

Read next: `dispatch.py`, which uses this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.trace import plain_types
from calque_xla_backend.array import Array
from calque_xla_backend.compile import Program
from calque_xla_backend.runtime import Buffer, Signature, put

Value = Any

_SCALARS = (bool, int, float, complex)
_NOTHING = object()


class Inputs:
    """What the leaves of a call are if they are like those that this was made from, and how they become buffers."""

    __slots__ = (
        "device",
        "dtypes",
        "host",
        "keeps_scalars",
        "known",
        "moved",
        "shapes",
        "signatures",
        "targets",
        "types",
    )

    def __init__(self, leaves: Sequence[Value], program: Program) -> None:
        self.types, self.targets = [*map(type, leaves)], program.in_signatures
        self.keeps_scalars = not program.donated
        self.device = [i for i, kind in enumerate(self.types) if kind is Array]
        self.signatures = [leaves[i]._signature for i in self.device]
        self.host = [i for i, kind in enumerate(self.types) if kind is not Array and kind not in _SCALARS]
        self.dtypes, self.shapes = [leaves[i].dtype for i in self.host], [leaves[i].shape for i in self.host]
        self.moved = [i for i, kind in enumerate(self.types) if kind is not Array]
        self.known: list[tuple[Value, Buffer]] = [(_NOTHING, None)] * len(leaves)

    def fit(self, leaves: Sequence[Value]) -> bool:
        """Tell whether leaves have the classes, dtypes, shapes and devices of those that this was made from."""
        if [*map(type, leaves)] != self.types:
            return False
        if self.device and [leaves[i]._signature for i in self.device] != self.signatures:
            return False
        return not self.host or (
            [leaves[i].dtype for i in self.host] == self.dtypes and [leaves[i].shape for i in self.host] == self.shapes
        )

    def buffers(self, leaves: Sequence[Value]) -> list[Buffer]:
        """Return the buffers of leaves that fit; NumPy values are copied.

        A scalar that is the very object of the last call, as a constant of the user's program is, is there already.
        Raises: OverflowError for a Python integer that does not fit its dtype.
        """
        buffers = []
        for i, x in enumerate(leaves):
            value, buffer = self.known[i]
            if type(x) is Array:
                buffer = x._buffer
            elif x is not value:
                target = self.targets[i]
                buffer = put(np.asarray(x, target.dtype), target)
                if type(x) is not np.ndarray and self.keeps_scalars:
                    self.known[i] = x, buffer
            buffers.append(buffer)
        return buffers


def can_be_known(leaves: Sequence[Value], targets: Sequence[Signature]) -> bool:
    """Tell whether `Inputs` can be made: leaves are of classes known here, and no device array is to be converted."""
    return all(
        x._signature is target if type(x) is Array else type(x) in plain_types for x, target in zip(leaves, targets)
    )
