"""The derivatives of windowed reductions: a sum is linear, a maximum reads the tangents of the winners.

Any other function is its slices, combined by operations that have derivatives.
"""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import Window, defjvp, deflinear, not_linear
from calque_core.lax import (
    ge_p,
    le_p,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add,
)

Value = Any


def reduce_window_sum_transpose(ct: Value, x: UndefinedPrimal, **window: Any) -> list[Value]:
    """Sum, for each element, the cotangents of the windows that hold it: the same window slides over them."""
    return [reduce_window_sum_p.bind(ct, **Window(**window).transposed(x.aval.shape)._asdict())]


deflinear(reduce_window_sum_p, reduce_window_sum_transpose)
defjvp(reduce_window_max_p, lambda x_dot, out, x, **window: select_and_gather_add(x_dot, x, ge_p, **window))
defjvp(reduce_window_min_p, lambda x_dot, out, x, **window: select_and_gather_add(x_dot, x, le_p, **window))
not_linear(reduce_window_max_p, reduce_window_min_p)

# Any function

not_linear(reduce_window_p)
