"""Batching the operations of `calque_core.ops.elementwise`: the batch axis is one more axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.define import defbatch, defbroadcasting, defvectorized
from calque_core import typeof
from calque_core.lax import (
    abs_p,
    add_any,
    add_any_p,
    add_p,
    cos_p,
    div_p,
    exp_p,
    expm1_p,
    integer_pow_p,
    log1p_p,
    log_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    pow_p,
    rem_p,
    rsqrt_p,
    sign_p,
    sin_p,
    sqrt_p,
    square_p,
    sub_p,
    tan_p,
    tanh_p,
)

Value = Any

# Arithmetic

defvectorized(neg_p)
defbroadcasting(add_p)


def add_any_batch(args: Sequence[Value], dims: Sequence[int | None]) -> tuple[Value, int]:
    """Give both operands the batch axis: both have one type, so even an unmapped scalar gets it."""
    bdim, size = next((d, typeof(x).shape[d]) for x, d in zip(args, dims) if d is not None)
    x, y = (matchaxis(x, d, bdim, size) for x, d in zip(args, dims))
    return add_any(x, y), bdim


defbatch(add_any_p, add_any_batch)
defbroadcasting(sub_p, mul_p, div_p, rem_p, max_p, min_p)

# Size and sign

defvectorized(abs_p, sign_p)

# Powers and roots

defvectorized(square_p, sqrt_p, rsqrt_p)
defbroadcasting(pow_p)
defvectorized(integer_pow_p)

# Exponentials and logarithms

defvectorized(exp_p, expm1_p, log_p, log1p_p)

# Trigonometry

defvectorized(sin_p, cos_p, tan_p, tanh_p)
