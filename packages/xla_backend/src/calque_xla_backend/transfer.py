"""From the leaves of a call to buffers: NumPy values and scalars are copied to the device, arrays are there already.

One idea: what the leaves of a call were is remembered in lists, so that a call with leaves of the same types is
recognised by comparing lists.  A transfer costs 2 to 3 us however small the array.  A program that is called again and
again with many small ones is therefore compiled once more, for one vector per dtype, which it cuts apart itself.

Read next: `dispatch.py`, which uses this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.avals import shaped_array
from calque_core.jaxpr import Jaxpr
from calque_core.ops.call import jit_p
from calque_core.stage import stage
from calque_core.trace import eval_context, plain_types
from calque_xla_backend.array import Array
from calque_xla_backend.compile import Program, XlaCompiler, to_buffer
from calque_xla_backend.runtime import Buffer, Signature, put, signature

Value = Any

SMALL_BYTES = 1 << 14
TRANSFER_TIME = 2e-6  # of one small array, in seconds
LONGEST_PAUSE = 1.0

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


class Joining:
    """Runs a program on leaves that fit; joins its small arrays once they have cost as much as compiling that takes."""

    __slots__ = ("compiler", "costs", "inputs", "jaxpr", "join", "joined", "program", "small")

    def __init__(self, jaxpr: Jaxpr, program: Program, compiler: XlaCompiler, inputs: Inputs) -> None:
        self.jaxpr, self.program, self.compiler, self.inputs = jaxpr, program, compiler, inputs
        self.small = [i for i in inputs.moved if _is_small(inputs.targets[i])]
        can_join = len(self.small) > 1 and not program.donated and program.compile_time < LONGEST_PAUSE
        self.costs = 0.0 if can_join else -math.inf
        self.join: Join | None = None
        self.joined: Program | None = None

    def __call__(self, leaves: Sequence[Value]) -> Any:
        """Return jaxlib's results of the program.

        Raises: OverflowError for a Python integer that does not fit its dtype; RuntimeError.
        """
        if self.join is not None and self.joined is not None:
            return self.joined.run(self.join.buffers(leaves))
        self.costs += TRANSFER_TIME * len(self.small)
        if self.costs > self.program.compile_time:
            self.join = Join(leaves, self.inputs.targets, self.small)
            jaxpr = self.join.cut(self.jaxpr, self.compiler)
            self.joined = self.compiler.program(jaxpr, self.inputs.targets[0].placement)
        return self.program.run(self.inputs.buffers(leaves))


class Join:
    """How leaves become the arguments of a program that takes its small arrays joined: vectors, then the others."""

    __slots__ = ("converted", "groups", "others", "targets")

    def __init__(self, leaves: Sequence[Value], targets: Sequence[Signature], small: Sequence[int]) -> None:
        self.targets = targets
        by_dtype: dict[np.dtype[Any], list[int]] = {}
        for i in small:
            by_dtype.setdefault(targets[i].dtype, []).append(i)
        self.groups = [(self._vector(group), group) for group in by_dtype.values()]
        self.others = sorted({*range(len(leaves))} - {*small})
        self.converted = [i for i in small if type(leaves[i]) in _SCALARS or leaves[i].dtype != targets[i].dtype]

    def _vector(self, group: list[int]) -> Signature:
        first, count = self.targets[group[0]], sum(self.targets[i].aval.size for i in group)
        return signature(shaped_array((count,), first.dtype), first.placement)

    def buffers(self, leaves: Sequence[Value]) -> list[Buffer]:
        """Return the buffers of the vectors and of the other leaves."""
        values = list(leaves)
        for i in self.converted:
            values[i] = np.asarray(values[i], self.targets[i].dtype)
        buffers = [put(_joined([values[i] for i in group], vector.dtype), vector) for vector, group in self.groups]
        return buffers + [to_buffer(values[i], self.targets[i]) for i in self.others]

    def cut(self, jaxpr: Jaxpr, compiler: Any) -> Jaxpr:
        """Return `jaxpr` as a program of the vectors and the other leaves."""

        def joined(*args: Value) -> Sequence[Value]:
            leaves: list[Value] = [None] * len(self.targets)
            for (_, group), vector in zip(self.groups, args):
                start = 0
                for i in group:
                    stop = start + self.targets[i].aval.size
                    leaves[i] = lax.reshape(lax.slice(vector, (start,), (stop,)), self.targets[i].shape)
                    start = stop
            for i, x in zip(self.others, args[len(self.groups) :]):
                leaves[i] = x
            outs: Sequence[Value] = jit_p.bind(*leaves, jaxpr=jaxpr, name=jaxpr.debug_name, compiler=compiler)
            return outs

        avals = [vector.aval for vector, _ in self.groups] + [self.targets[i].aval for i in self.others]
        with eval_context():
            return stage(joined, avals, verb="jit").replace(debug_name=jaxpr.debug_name)


def can_be_known(leaves: Sequence[Value], targets: Sequence[Signature]) -> bool:
    """Tell whether `Inputs` can be made: leaves are of classes known here, and no device array is to be converted."""
    return all(
        x._signature is target if type(x) is Array else type(x) in plain_types for x, target in zip(leaves, targets)
    )


def _is_small(target: Signature) -> bool:
    return target.dtype.isbuiltin == 1 and target.aval.size * target.dtype.itemsize <= SMALL_BYTES


def _joined(values: list[Value], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the elements of arrays and scalars of one dtype, in row-major order, one after the other."""
    try:
        joined = b"".join(values)  # 0.03 us each, where numpy.concatenate takes 0.15
    except TypeError:  # some array is not contiguous
        joined = b"".join([x.tobytes() for x in values])
    return np.frombuffer(joined, dtype)
