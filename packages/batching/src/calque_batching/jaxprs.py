"""Batched programs: what the batching rules of higher-order primitives are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.batch_trace import AxisData, BatchTrace, BatchTracer
from calque_core.avals import shaped_array
from calque_core.context import entered, here
from calque_core.interpret import eval_jaxpr
from calque_core.jaxpr import Jaxpr
from calque_core.rules import settings_key
from calque_core.stage import stage
from calque_core.trace import current_trace, tracing

Value = Any
Dims = Sequence[int | None]


def with_axis(aval: Any, size: int, dim: int | None) -> Any:
    """Return the type of a batch of values of type `aval`, with the batch axis at `dim`."""
    if dim is None:
        return aval
    return shaped_array((*aval.shape[:dim], size, *aval.shape[dim:]), aval.dtype)


def eval_batched(
    jaxpr: Jaxpr, axis: AxisData, args: Sequence[Value], dims: Dims
) -> tuple[list[Value], list[int | None]]:
    """Return the results of `jaxpr` for a whole batch, and where their batch axes are; None for an unmapped result.

    `dims` says where the arguments have theirs.
    """
    trace = BatchTrace(current_trace(), axis)
    axis_env = here().axis_env if axis.name is None else (*here().axis_env, (axis.name, axis.size))
    with tracing(trace), entered(axis_env=axis_env):
        values = [x if d is None else BatchTracer(trace, x, d) for x, d in zip(args, dims)]
        return trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *values))


def batch_jaxpr_axes(
    jaxpr: Jaxpr, axis: AxisData, dims: Dims, out_mapped: Sequence[bool] | None = None
) -> tuple[Jaxpr, list[int | None]]:
    """Return the program of a whole batch, and where the batch axes of its results are.

    `dims` says where the arguments have theirs.  A result that does not depend on a mapped argument stays unmapped
    (None), unless `out_mapped` marks it; marked results have theirs in front.
    """
    in_dims = tuple(dims)
    forced = tuple(out_mapped) if out_mapped is not None else (False,) * len(jaxpr.outvars)

    def make() -> tuple[Jaxpr, list[int | None]]:
        out_dims: list[int | None] = []

        def batched(*args: Value) -> list[Value]:
            outs, found = eval_batched(jaxpr, axis, args, in_dims)
            out_dims[:] = [0 if m else d for d, m in zip(found, forced)]
            return [matchaxis(x, d, 0, axis.size) if m else x for x, d, m in zip(outs, found, forced)]

        avals = [with_axis(v.aval, axis.size, d) for v, d in zip(jaxpr.invars, in_dims)]
        return stage(batched, avals, verb="vmap"), out_dims

    key = ("batch", axis, in_dims, forced, *settings_key())
    return jaxpr.memo(key, make)  # type: ignore[no-any-return]


def batch_step(jaxpr: Jaxpr, axis: AxisData, dims: Dims, num_carry: int, place: int) -> tuple[Jaxpr, list[int | None]]:
    """Return the program of one step of a loop for a whole batch, and where the batch axes of its results are.

    The carry is the `num_carry` arguments from `place` on, and as many results, which come first.  A mapped carry has
    its batch axis in front.  One that a step maps is mapped before it too: there are more of them until a step adds
    none.
    """
    consts, carry, rest = dims[:place], dims[place : place + num_carry], dims[place + num_carry :]
    is_mapped = [d is not None for d in carry]
    no_others = [False] * (len(jaxpr.outvars) - num_carry)
    while True:
        in_dims = [*consts, *(0 if m else None for m in is_mapped), *rest]
        step, out_dims = batch_jaxpr_axes(jaxpr, axis, in_dims, [*is_mapped, *no_others])
        found = [d is not None for d in out_dims[:num_carry]]
        if found == is_mapped:
            return step, out_dims
        is_mapped = found


def carry_in_front(axis: AxisData, carry: Sequence[Value], dims: Dims, wanted: Dims) -> list[Value]:
    """Return an initial carry with its batch axes where a step has them: in front, or, for an unmapped one, nowhere."""
    return [x if w is None else matchaxis(x, d, w, axis.size) for x, d, w in zip(carry, dims, wanted)]
