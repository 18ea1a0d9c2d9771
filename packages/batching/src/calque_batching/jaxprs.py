"""Batched programs, for the batching rules of higher-order primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.batch_trace import AxisData
from calque_core import Atom, Jaxpr, eval_jaxpr, stage
from calque_core.engine import is_own, with_axis_at
from calque_core.extend import settings_key, shaped_array

Value = Any
Dims = Sequence[int | None]


def with_axis(aval: Any, size: int, dim: int | None) -> Any:
    """Return the type of a batch of values of type `aval`, with the batch axis at `dim`."""
    if dim is None:
        return aval
    if is_own(aval):
        return with_axis_at(aval, dim, size)
    return shaped_array((*aval.shape[:dim], size, *aval.shape[dim:]), aval.dtype).varying(aval.vma)


def eval_batched(
    jaxpr: Jaxpr, axis: AxisData, args: Sequence[Value], dims: Dims
) -> tuple[list[Value], list[int | None]]:
    """Return the results of `jaxpr` for a whole batch, and their batch dimensions; None for an unmapped result.

    `dims` are the batch dimensions of the arguments.
    """
    return axis.apply(lambda *values: eval_jaxpr(jaxpr, jaxpr.consts, *values), args, dims)


def batch_jaxpr_axes(
    jaxpr: Jaxpr, axis: AxisData, dims: Dims, out_mapped: Sequence[bool] | None = None
) -> tuple[Jaxpr, list[int | None]]:
    """Return the program of a whole batch, and the batch dimensions of its results.

    `dims` are the batch dimensions of the arguments.  A result that depends on no mapped argument stays unmapped
    (None), unless `out_mapped` marks it; marked results have their batch axis in front.
    """
    in_dims = tuple(dims)
    forced = tuple(out_mapped) if out_mapped is not None else (False,) * len(jaxpr.outvars)

    def make() -> tuple[Jaxpr, list[int | None]]:
        out_dims: list[int | None] = []

        def batched(*args: Value) -> list[Value]:
            outs, own_dims = eval_batched(jaxpr, axis, args, in_dims)
            out_dims[:] = [0 if m else d for d, m in zip(own_dims, forced)]
            return [matchaxis(x, d, 0, axis.size) if m else x for x, d, m in zip(outs, own_dims, forced)]

        avals = [with_axis(v.aval, axis.size, d) for v, d in zip(jaxpr.invars, in_dims)]
        return stage(batched, avals, verb="vmap"), out_dims

    key = ("batch", axis, in_dims, forced, *settings_key())
    return jaxpr.memo(key, make)  # type: ignore[no-any-return]


def batch_step(jaxpr: Jaxpr, axis: AxisData, dims: Dims, num_carry: int, place: int) -> tuple[Jaxpr, list[int | None]]:
    """Return the program of one step of a loop for a whole batch, and the batch dimensions of its results.

    The carry is the `num_carry` arguments from `place` on, and the first `num_carry` results.  A mapped carry has its
    batch axis in front.  A carry that a step maps must be mapped before the step too, so the program is remade until
    a step maps no further carry.
    """
    consts, carry, xs = dims[:place], dims[place : place + num_carry], dims[place + num_carry :]
    is_mapped = [d is not None for d in carry]
    ys_mapped = [False] * (len(jaxpr.outvars) - num_carry)
    while True:
        in_dims = [*consts, *(0 if m else None for m in is_mapped), *xs]
        step, out_dims = batch_jaxpr_axes(jaxpr, axis, in_dims, [*is_mapped, *ys_mapped])
        is_mapped_after = [d is not None for d in out_dims[:num_carry]]
        if is_mapped_after == is_mapped:
            return step, out_dims
        is_mapped = is_mapped_after


def carry_in_front(axis: AxisData, carry: Sequence[Value], dims: Dims, step_dims: Dims) -> list[Value]:
    """Return an initial carry with the batch dimensions of a step: in front, or None for an unmapped carry."""
    return [x if to is None else matchaxis(x, d, to, axis.size) for x, d, to in zip(carry, dims, step_dims)]


def forwarded_inputs(jaxpr: Jaxpr) -> list[int | None]:
    """Return, for each result, the number of the argument that it repeats, or None."""
    position: dict[Atom, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    return [position.get(v) for v in jaxpr.outvars]
