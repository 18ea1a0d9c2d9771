"""Batching `scan`: one scan whose steps run on the whole batch.

One idea: slices of a batch are batches of slices, so inputs and results have their batch axis behind the scanned axis.
A carry has its batch axis in front.  A value that depends on no mapped value stays unmapped, carries included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_step, carry_in_front
from calque_core import Jaxpr, moveaxis
from calque_core.engine import join_constants
from calque_core.lax import scan_p

Value = Any
Dims = Sequence[int | None]


def scan_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> tuple[list[Value], list[int | None]]:
    """Scan over whole batches; a batch axis before the scanned axis moves behind it.

    Shapes: xs [length, .., n, ..], carry [n, ..] -> carry [n, ..], ys [length, .., n, ..].
    """
    num_fixed = num_consts + num_carry
    xs = [moveaxis(x, 0, 1) if d == 0 else x for x, d in zip(args[num_fixed:], dims[num_fixed:])]
    slice_dims = [None if d is None else max(d - 1, 0) for d in dims[num_fixed:]]
    step, out_dims = batch_step(jaxpr, axis, [*dims[:num_fixed], *slice_dims], num_carry, num_consts)
    carry = carry_in_front(axis, args[num_consts:num_fixed], dims[num_consts:num_fixed], out_dims[:num_carry])
    (program,), consts = join_constants([step])
    sizes = {"num_carry": num_carry, "num_consts": len(consts) + num_consts}
    outs = scan_p.bind(*consts, *args[:num_consts], *carry, *xs, jaxpr=program, **sizes, **params)
    return outs, [*out_dims[:num_carry], *(None if d is None else d + 1 for d in out_dims[num_carry:])]


scan_p.def_rule("axis_batch", scan_batch)
