"""The derivative of sorting: tangents move as their primals do.

One idea: the order of the elements is an integer array, computed from the primals alone; to read values in this order
is linear in the values.  To sort values by keys that are known is linear, too, and transposed by the inverse order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import is_undefined_primal
from calque_core.engine import elements_at, positions, sort_by
from calque_core.extend import check_known, defjvp_all, deftranspose, is_nonzero, marked, merged, split_results
from calque_core.lax import sort_p

Value = Any


def sort_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[list[Value], list[Value]]:
    """Carry positions along to learn the order, then read the tangents that are not zero in this order."""
    here = positions(primals[0], dimension)
    *outs, order = sort_p.bind(*primals, here, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    nonzeros = is_nonzero(tangents)
    return split_results([*outs, *(elements_at(t, order, dimension) for t in marked(tangents, nonzeros))], nonzeros)


def sort_transpose(
    cts: Sequence[Value], *operands: Value, dimension: int, is_stable: bool, num_keys: int
) -> list[Value]:
    """Move the cotangents back; the keys must be known."""
    keys = operands[:num_keys]
    check_known(sort_p, *keys)
    (order,) = sort_by(keys, [positions(keys[0], dimension)], dimension)
    is_moved = [a and b for a, b in zip(map(is_undefined_primal, operands), is_nonzero(cts))]
    return merged(is_moved, sort_by([order], marked(cts, is_moved), dimension))


defjvp_all(sort_p, sort_jvp)
deftranspose(sort_p, sort_transpose)
