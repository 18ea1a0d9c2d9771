"""The derivatives of conversions: linear between floating dtypes, zero wherever an integer or a bool is involved."""

from __future__ import annotations

from typing import Any

from calque_core.extend import defjvp, deftranspose, is_float, zero_derivative, zero_tangent
from calque_core.lax import (
    bitcast_convert_type_p,
    convert_element_type,
    convert_element_type_p,
    discard_p,
    stop_gradient_p,
)

Value = Any


def convert_element_type_jvp(x_dot: Value, out: Value, x: Value, *, new_dtype: Any, weak_type: bool) -> Value:
    """Convert the tangent too, unless the result is an integer or a bool."""
    return convert_element_type(x_dot, new_dtype) if is_float(new_dtype) else zero_tangent(out)


defjvp(convert_element_type_p, convert_element_type_jvp)
deftranspose(convert_element_type_p, lambda ct, x, **params: [convert_element_type(ct, x.aval.dtype)])
zero_derivative(bitcast_convert_type_p, reason="the bits of a number are integers")
zero_derivative(stop_gradient_p, reason="it is defined to stop derivatives")
zero_derivative(discard_p, reason="its result is dropped")
deftranspose(discard_p, lambda ct, x: [None])
