"""The derivatives of exchanges over named axes: all linear, each transposed by an exchange in the other direction."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import deflinear
from calque_core.lax import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    axis_index,
    dynamic_index_in_dim,
    ppermute_p,
    psum_scatter_p,
)

Value = Any


def all_gather_transpose(ct: Value, x: UndefinedPrimal, *, axis_name: Hashable, axis: int) -> list[Value]:
    """Every element uses the value: its cotangents are summed, and each element gets its own."""
    return [psum_scatter_p.bind(ct, axis_name=axis_name, axis=axis)]


def all_gather_invariant_transpose(ct: Value, x: UndefinedPrimal, *, axis_name: Hashable, axis: int) -> list[Value]:
    """With types, all elements have one cotangent, and each takes its slice; without types, cotangents are summed."""
    if axis_name not in x.aval.vma:
        return all_gather_transpose(ct, x, axis_name=axis_name, axis=axis)
    return [dynamic_index_in_dim(ct, axis_index(axis_name), axis, keepdims=False)]


def psum_scatter_transpose(ct: Value, x: UndefinedPrimal, *, axis_name: Hashable, axis: int) -> list[Value]:
    return [all_gather_p.bind(ct, axis_name=axis_name, axis=axis)]


def all_to_all_transpose(ct: Value, x: UndefinedPrimal, *, axis_name: Hashable, axis: int) -> list[Value]:
    return [all_to_all_p.bind(ct, axis_name=axis_name, axis=axis)]


def ppermute_transpose(
    ct: Value, x: UndefinedPrimal, *, axes: tuple[Hashable, ...], perm: tuple[tuple[int, int], ...]
) -> list[Value]:
    """Send the cotangents back."""
    return [ppermute_p.bind(ct, axes=axes, perm=tuple((target, source) for source, target in perm))]


deflinear(all_gather_p, all_gather_transpose)
deflinear(all_gather_invariant_p, all_gather_invariant_transpose)
deflinear(psum_scatter_p, psum_scatter_transpose)
deflinear(all_to_all_p, all_to_all_transpose)
deflinear(ppermute_p, ppermute_transpose)
