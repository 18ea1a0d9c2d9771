"""The derivatives of reading and replacing a window at a traced position: linear in all operands but the position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.rules.shapes.shape import typeof_operand
from calque_core import Zero, instantiate_zeros, is_undefined_primal
from calque_core.engine import zeros_of
from calque_core.extend import Shape, check_known, defjvp_all, deftranspose, zero_tangent
from calque_core.lax import dynamic_slice_p, dynamic_update_slice_p, zeros_like

Value = Any


def dynamic_slice_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, slice_sizes: Shape
) -> tuple[Value, Value]:
    """Read the tangent at the same position."""
    out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(out)
    return out, dynamic_slice_p.bind(tangents[0], *primals[1:], slice_sizes=slice_sizes)


def dynamic_update_slice_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
    """Replace the window of the tangent by the tangent of the update."""
    out = dynamic_update_slice_p.bind(*primals)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return out, zero_tangent(out)
    return out, dynamic_update_slice_p.bind(*map(instantiate_zeros, tangents[:2]), *primals[2:])


def dynamic_slice_transpose(ct: Value, x: Value, *starts: Value, slice_sizes: Shape) -> list[Value]:
    """Put the window back, among zeros."""
    check_known(dynamic_slice_p, *starts)
    return [dynamic_update_slice_p.bind(zeros_of(x.aval), ct, *starts), *[None] * len(starts)]


def dynamic_update_slice_transpose(ct: Value, x: Value, update: Value, *starts: Value) -> list[Value]:
    """Return the cotangent with zeros in the window, and the window for the update."""
    check_known(dynamic_update_slice_p, *starts)
    shape = typeof_operand(update).shape
    lost = zeros_like(ct, shape=shape) if is_undefined_primal(x) else None
    return [
        dynamic_update_slice_p.bind(ct, lost, *starts) if is_undefined_primal(x) else None,
        dynamic_slice_p.bind(ct, *starts, slice_sizes=shape) if is_undefined_primal(update) else None,
        *[None] * len(starts),
    ]


defjvp_all(dynamic_slice_p, dynamic_slice_jvp)
defjvp_all(dynamic_update_slice_p, dynamic_update_slice_jvp)
deftranspose(dynamic_slice_p, dynamic_slice_transpose)
deftranspose(dynamic_update_slice_p, dynamic_update_slice_transpose)
