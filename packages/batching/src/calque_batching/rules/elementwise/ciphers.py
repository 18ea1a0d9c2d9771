"""Batching the ciphers behind random numbers: they act on each counter alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive
from calque_core.engine import align_operands
from calque_core.extend import defbatch
from calque_core.lax import philox4x32_p, threefry2x32_p

Value = Any


def cipher_batch(primitive: Primitive) -> Callable[..., tuple[list[Value], list[int]]]:
    """Return the rule of a cipher, for which the batch is an axis of the counters."""

    def batch(args: Sequence[Value], dims: Sequence[int | None]) -> tuple[list[Value], list[int]]:
        args, dim = align_operands(args, dims)
        outs = primitive.bind(*args)
        return outs, [dim] * len(outs)

    return batch


defbatch(threefry2x32_p, cipher_batch(threefry2x32_p))
defbatch(philox4x32_p, cipher_batch(philox4x32_p))
