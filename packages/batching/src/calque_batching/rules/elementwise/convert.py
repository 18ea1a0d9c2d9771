"""Batching the operations of `calque_core.ops.elementwise.convert`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import moveaxis, typeof
from calque_core.engine import bit_width
from calque_core.extend import defbatch, defvectorized
from calque_core.lax import (
    bitcast_convert_type,
    bitcast_convert_type_p,
    convert_element_type_p,
    discard_p,
    stop_gradient_p,
)

Value = Any

defvectorized(convert_element_type_p)


def bitcast_convert_type_batch(
    args: Sequence[Value], dims: Sequence[int], *, new_dtype: np.dtype[Any]
) -> tuple[Value, int]:
    """Keep the batch axis, unless it is last: the last axis must hold the narrow elements of a wide element."""
    (x,), (x_bdim,) = args, dims
    aval = typeof(x)
    if bit_width(new_dtype) > bit_width(aval.dtype) and x_bdim == aval.ndim - 1:
        x, x_bdim = moveaxis(x, x_bdim, 0), 0
    return bitcast_convert_type(x, new_dtype), x_bdim


defbatch(bitcast_convert_type_p, bitcast_convert_type_batch)
defvectorized(stop_gradient_p)
defvectorized(discard_p)
