"""The derivatives of reading at winners and adding to winners: each is linear, and the transpose of the other.

The winners depend on the operand, but have no derivative: where a tie is broken, it does not exist.
"""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import check_known, defjvp, deftranspose, not_linear
from calque_core.lax import (
    select_and_gather_add,
    select_and_gather_add_p,
    select_and_scatter_add,
    select_and_scatter_add_p,
    select_and_scatter_p,
)

Value = Any


def select_and_gather_add_transpose(ct: Value, tangents: UndefinedPrimal, x: Value, **params: Any) -> list[Value]:
    check_known(select_and_gather_add_p, x)
    return [select_and_scatter_add(ct, x, **params), None]


def select_and_scatter_add_transpose(ct: Value, source: UndefinedPrimal, x: Value, **params: Any) -> list[Value]:
    check_known(select_and_scatter_add_p, x)
    return [select_and_gather_add(ct, x, **params), None]


defjvp(select_and_gather_add_p, lambda t_dot, out, t, x, **params: select_and_gather_add(t_dot, x, **params), None)
deftranspose(select_and_gather_add_p, select_and_gather_add_transpose)
defjvp(select_and_scatter_add_p, lambda s_dot, out, s, x, **params: select_and_scatter_add(s_dot, x, **params), None)
deftranspose(select_and_scatter_add_p, select_and_scatter_add_transpose)

# Any functions that select and combine

not_linear(select_and_scatter_p)
