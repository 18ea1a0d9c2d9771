"""The derivatives of reshape, transpose, rev, slice and pad: all linear, and transposed by one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from calque_autodiff.known.lines import Lines, Maker
from calque_core import Jaxpr, ShapedArray, UndefinedPrimal, is_undefined_primal, typeof
from calque_core.extend import Shape, deflinear, shaped_array
from calque_core.lax import (
    broadcast,
    pad,
    pad_p,
    reduce_sum,
    reshape,
    reshape_p,
    rev,
    rev_p,
    select,
    slice,
    slice_p,
    squeeze_p,
    transpose,
    transpose_p,
)

Value = Any
PaddingConfig = tuple[tuple[int, int, int], ...]

# The same elements in other positions


def inverse(permutation: Shape) -> list[int]:
    """Return the inverse of a permutation."""
    return sorted(range(len(permutation)), key=permutation.__getitem__)


deflinear(reshape_p, lambda ct, x, *, new_sizes: [reshape(ct, x.aval.shape)])
deflinear(transpose_p, lambda ct, x, *, permutation: [transpose(ct, inverse(permutation))])
deflinear(rev_p, lambda ct, x, *, dimensions: [rev(ct, dimensions)])
deflinear(squeeze_p, lambda ct, x, *, dimensions: [reshape(ct, x.aval.shape)])

# Slices


def slice_transpose(
    ct: Value, x: UndefinedPrimal, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> list[Value]:
    """Put the elements back where they were, with zeros around and between them."""
    config = []
    for size, n, start, step in zip(
        x.aval.shape, typeof(ct).shape, start_indices, strides or (1,) * len(start_indices)
    ):
        end = start + (n - 1) * step + 1 if n else start
        config.append((start, size - end, step - 1))
    return [pad(ct, zero_of_dtype(ct), config)]


def zero_of_dtype(x: Value) -> Value:
    """Return the scalar zero of the dtype of `x`."""
    return typeof(x).dtype.type(0)


deflinear(slice_p, slice_transpose)

_BASIC = frozenset((int, type(np.s_[:]), type(None), type(Ellipsis)))  # `slice` is that of `lax`


def cut_in_every_size(program: Jaxpr, others: Sequence[Value]) -> Maker | None:
    """Return the lines of `x[index]`, of an index of integers, slices, None and `...`, for arrays x of any shape."""
    (index,) = others
    if not _BASIC.issuperset(map(type, index if type(index) is tuple else (index,))):
        return None

    def lines(aval: ShapedArray) -> Lines | None:
        shape, dtype = aval.shape, aval.dtype
        try:
            out_shape = np.ndarray(shape, np.bool_, b" ", strides=(0,) * len(shape))[index].shape  # of one byte
        except IndexError:  # the rules say it in words
            return None
        if out_shape == shape:  # the array itself, maybe
            return None

        def pull(ct: Value) -> Value:
            out = np.zeros(shape, dtype)
            out[index] = ct
            return out

        def add(total: Value, ct: Value) -> None:
            total[index] += ct

        run: Callable[[Value], Value] = itemgetter(index) if out_shape else lambda x: x[index][()]
        return Lines(shaped_array(out_shape, dtype), run, pull, add)

    return lines


slice_p.def_rule("every_size", cut_in_every_size)

# More elements


def pad_transpose(ct: Value, x: Value, value: Value, *, padding_config: PaddingConfig) -> list[Value]:
    """Return the elements that came from the operand, and for the padding value the sum of all other elements."""
    return [
        unpad(ct, padding_config) if is_undefined_primal(x) else None,
        reduce_sum(outside(ct, typeof_operand(x).shape, padding_config)) if is_undefined_primal(value) else None,
    ]


def unpad(ct: Value, padding_config: PaddingConfig) -> Value:
    """Take padding away, and put zeros where padding took elements away."""
    whole = pad(ct, zero_of_dtype(ct), [(-low, -high, 0) for low, high, _ in padding_config])
    shape = typeof(whole).shape
    return slice(whole, (0,) * len(shape), shape, [inner + 1 for _, _, inner in padding_config])


def outside(ct: Value, shape: Shape, padding_config: PaddingConfig) -> Value:
    """Return `ct` with zeros where padding an array of shape `shape` leaves that array's elements."""
    is_inside = pad(broadcast(True, shape), False, padding_config)
    return select(is_inside, zero_of_dtype(ct), ct)


def typeof_operand(x: Value) -> Any:
    """Return the type of an operand of a transpose rule, linear or known."""
    return x.aval if is_undefined_primal(x) else typeof(x)


deflinear(pad_p, pad_transpose)
