"""Batching the operations of `calque_core.ops.meshes.collective`: the meaning of a named axis under `vmap`.

One idea: a reduction over the mapped axis removes it, and its result is the same for every element.  All other names
belong to enclosing transformations, which receive them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from calque_batching.batch_trace import AxisData
from calque_core import Primitive, typeof
from calque_core.engine import gives_lists, strong
from calque_core.extend import defbatch
from calque_core.lax import (
    axis_index_p,
    convert_element_type,
    iota,
    mul,
    pmax_p,
    pmin_p,
    psum_p,
    pvary_p,
    reduce_max,
    reduce_min,
    reduce_sum,
)

Value = Any
Names = tuple[Hashable, ...]
Rule = Callable[..., Any]


def _defcollective(
    primitive: Primitive, mapped: Callable[[Value, int], Value], unmapped: Callable[[Value, int], Value]
) -> None:
    """Define the rule: `mapped(x, bdim)` reduces, `unmapped(x, size)` is the result for `size` equal elements."""

    @gives_lists
    def axis_batch(
        axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], *, axes: Names
    ) -> tuple[list[Value], list[int | None]]:
        (x,), (x_bdim,) = args, dims
        if axis.name not in axes:
            return [primitive.bind(x, axes=axes)], [x_bdim]
        out = unmapped(x, axis.size) if x_bdim is None else mapped(x, x_bdim)
        outer_axes = tuple(name for name in axes if name != axis.name)
        return [primitive.bind(out, axes=outer_axes) if outer_axes else out], [None]

    primitive.def_rule("axis_batch", axis_batch)


def _times(x: Value, size: int) -> Value:
    # The size wraps around in narrow integers, as the sum would.
    return mul(x, convert_element_type(np.int64(size), typeof(x).dtype))


def _strong(x: Value, size: int) -> Value:
    return strong(x)


_defcollective(psum_p, reduce_sum, _times)
_defcollective(pmax_p, reduce_max, _strong)
_defcollective(pmin_p, reduce_min, _strong)


def axis_index_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], *, axis_name: Hashable
) -> tuple[Value, int | None]:
    """Return the positions.  The primitive has no operands, so this trace receives it for its own axis only."""
    assert axis_name == axis.name, (axis_name, axis)
    return iota(np.int32, axis.size), 0


axis_index_p.def_rule("axis_batch", axis_index_batch)
defbatch(pvary_p, lambda args, dims, *, axes: (pvary_p.bind(args[0], axes=axes), dims[0]))  # the axes are of a mesh
