"""The derivative of choosing the greatest elements: tangents are read where their primals were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Zero
from calque_core.engine import elements_at
from calque_core.extend import defjvp_all, not_linear, zero_tangent
from calque_core.lax import top_k, top_k_p

Value = Any


def top_k_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, k: int, axis: int
) -> tuple[list[Value], list[Value]]:
    """Read the tangents at the positions of the chosen elements; the positions are constants."""
    values, indices = top_k(primals[0], k, axis=axis)
    (x_dot,) = tangents
    out_dot = zero_tangent(values) if type(x_dot) is Zero else elements_at(x_dot, indices, axis)
    return [values, indices], [out_dot, zero_tangent(indices)]


defjvp_all(top_k_p, top_k_jvp)
not_linear(top_k_p)
