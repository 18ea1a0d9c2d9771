"""Batching the operations of `calque_core.ops.arithmetic`: the batch axis is one more axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.extend import align_batch_axes, defbatch, defbroadcasting, defvectorized
from calque_core.lax import (
    abs_p,
    add_any,
    add_any_p,
    add_p,
    div_p,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    square_p,
    sub_p,
)

Value = Any

# Arithmetic

defvectorized(neg_p)
defbroadcasting(add_p)


def add_any_batch(args: Sequence[Value], dims: Sequence[int | None]) -> tuple[Value, int]:
    """Give both operands the batch axis: both have one type, so even an unmapped scalar gets it."""
    (x, y), bdim = align_batch_axes(args, dims)
    return add_any(x, y), bdim


defbatch(add_any_p, add_any_batch)
defbroadcasting(sub_p, mul_p, div_p, rem_p, max_p, min_p)

# Whole powers

defvectorized(square_p, integer_pow_p)

# Size and sign

defvectorized(abs_p, sign_p)
