"""Batching calls of kernels: a loop over the elements, or one call on operands with a batch axis in front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.rules.calls.callback import whole_operands
from calque_core import ShapedArray, moveaxis
from calque_core.engine import batch_size
from calque_core.extend import defbatch, shaped_array
from calque_core.lax import ffi_call_p, map

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]


def ffi_call_batch(args: Sequence[Value], dims: Dims, *, vmap_method: str | None, **params: Any) -> Batch:
    """Call the kernel as `vmap_method` says.  Raises: TypeError if the user has not said."""
    if vmap_method == "sequential":
        outs = _one_by_one(args, dims, vmap_method=vmap_method, **params)
    else:
        outs = _at_once(args, dims, vmap_method=vmap_method, **params)
    return outs, [0] * len(outs)


def _one_by_one(args: Sequence[Value], dims: Dims, **params: Any) -> list[Value]:
    mapped = [moveaxis(x, d, 0) for x, d in zip(args, dims) if d is not None]

    def call_target(elements: list[Value]) -> list[Value]:
        remaining = iter(elements)
        operands = [x if d is None else next(remaining) for x, d in zip(args, dims)]
        outs: list[Value] = ffi_call_p.bind(*operands, **params)
        return outs

    outs: list[Value] = map(call_target, mapped)
    return outs


def _at_once(
    args: Sequence[Value],
    dims: Dims,
    *,
    vmap_method: str | None,
    target_name: str,
    result_avals: Sequence[ShapedArray],
    aliases: Sequence[tuple[int, int]],
    **params: Any,
) -> list[Value]:
    operands = whole_operands(f"ffi_call of {target_name!r}", args, dims, vmap_method)
    size = batch_size(args, dims)
    has_axis = [vmap_method == "broadcast_all" or d is not None for d in dims]
    outs: list[Value] = ffi_call_p.bind(
        *operands,
        vmap_method=vmap_method,
        target_name=target_name,
        result_avals=tuple(shaped_array((size, *aval.shape), aval.dtype) for aval in result_avals),
        aliases=tuple((i, j) for i, j in aliases if has_axis[i]),
        **params,
    )
    return outs


defbatch(ffi_call_p, ffi_call_batch)
