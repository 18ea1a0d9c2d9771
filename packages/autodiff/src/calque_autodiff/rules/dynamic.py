"""The derivatives of reading and replacing a slice at a traced position: linear in all operands but the position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.define import check_known, defjvp_all, deftranspose
from calque_core import Primitive, Zero, instantiate_zeros, is_undefined_primal, typeof
from calque_core.extend import zero_tangent, zeros_of
from calque_core.lax import dynamic_index_p, dynamic_update_index_p

Value = Any


def def_linear_but_last(primitive: Primitive) -> None:
    """Say that a primitive is linear in all its operands together but the last, an index."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
        out = primitive.bind(*primals)
        if all(type(t) is Zero for t in tangents):
            return out, zero_tangent(out)
        return out, primitive.bind(*map(instantiate_zeros, tangents[:-1]), primals[-1])

    defjvp_all(primitive, jvp)


def_linear_but_last(dynamic_index_p)
def_linear_but_last(dynamic_update_index_p)


def dynamic_index_transpose(ct: Value, x: Value, index: Value) -> list[Value]:
    """Put the slice back, among zeros."""
    check_known(dynamic_index_p, index)
    return [dynamic_update_index_p.bind(zeros_of(x.aval), ct, index), None]


def dynamic_update_index_transpose(ct: Value, x: Value, update: Value, index: Value) -> list[Value]:
    """Return the cotangent for the operand with zeros in the slice, and the slice for the update."""
    check_known(dynamic_update_index_p, index)
    lost = zeros_of(typeof(dynamic_index_p.bind(ct, index))) if is_undefined_primal(x) else None
    return [
        dynamic_update_index_p.bind(ct, lost, index) if is_undefined_primal(x) else None,
        dynamic_index_p.bind(ct, index) if is_undefined_primal(update) else None,
        None,
    ]


deftranspose(dynamic_index_p, dynamic_index_transpose)
deftranspose(dynamic_update_index_p, dynamic_update_index_transpose)
