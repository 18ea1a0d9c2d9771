"""The derivatives of joining and cutting: all linear, and each transposed by its partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.rules.shapes.shape import typeof_operand
from calque_core import UndefinedPrimal, instantiate_zeros, is_undefined_primal
from calque_core.extend import Shape, deflinear
from calque_core.lax import (
    concatenate,
    concatenate_p,
    reduce_sum,
    reshape,
    split,
    split_p,
    stack,
    stack_p,
    tile_p,
    unstack,
    unstack_p,
)

Value = Any


def concatenate_transpose(ct: Value, *operands: Value, dimension: int) -> list[Value]:
    """Return the section of the cotangent for each operand."""
    sections = split(ct, [typeof_operand(x).shape[dimension] for x in operands], dimension)
    return [section if is_undefined_primal(x) else None for x, section in zip(operands, sections)]


def split_transpose(cts: Sequence[Value], x: UndefinedPrimal, *, sizes: Shape, axis: int) -> list[Value]:
    return [concatenate([instantiate_zeros(ct) for ct in cts], axis)]


def stack_transpose(ct: Value, *operands: Value, axis: int) -> list[Value]:
    return [ct_of_one if is_undefined_primal(x) else None for x, ct_of_one in zip(operands, unstack(ct, axis))]


def unstack_transpose(cts: Sequence[Value], x: UndefinedPrimal, *, axis: int) -> list[Value]:
    return [stack([instantiate_zeros(ct) for ct in cts], axis)]


def tile_transpose(ct: Value, x: UndefinedPrimal, *, reps: Shape) -> list[Value]:
    """Add the copies."""
    apart = [n for pair in zip(reps, x.aval.shape) for n in pair]
    return [reduce_sum(reshape(ct, apart), range(0, len(apart), 2))]


deflinear(concatenate_p, concatenate_transpose)
deflinear(split_p, split_transpose)
deflinear(stack_p, stack_transpose)
deflinear(unstack_p, unstack_transpose)
deflinear(tile_p, tile_transpose)
