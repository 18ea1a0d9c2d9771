"""Batching `cond`: one branch for the whole batch, or, with a mapped index, a selection by element.

One idea: with a mapped index every branch runs on the whole batch, and its operands pass no derivative to elements that
do not take the branch.  The selection discards the results of a branch for these elements, infinities and NaN included,
and the derivative that flows back into them stops at the operands.  With `batched="map"` a loop over the elements runs
the branch of each one instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_batching.axes import bdim_at_front
from calque_batching.batch_trace import AxisData, BatchTrace, one_by_one
from calque_batching.jaxprs import batch_jaxpr_axes, eval_batched, forwarded_inputs
from calque_batching.rules.calls.check import where_active
from calque_core import Jaxpr, Trace, current_trace, dce_jaxpr, evaluation, stage, typeof
from calque_core.engine import (
    align_operands,
    as_declared,
    exact_effects,
    has_effects_by_element,
    is_own,
    join_constants,
    lowered,
    named_axes,
    raised,
    zeros_of,
)
from calque_core.extend import is_float, where
from calque_core.lax import clamp, cond_p, convert_element_type, discard, eq, reduce_or, select_n_p

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]
Branches = tuple[Jaxpr, ...]


def cond_batch(axis: AxisData, args: Sequence[Value], dims: Dims, *, branches: Branches, batched: str) -> Batch:
    """Choose one branch for all elements by an unmapped index; for a mapped index, `batched` decides."""
    index, *operands = args
    index_bdim, *operand_dims = dims
    if index_bdim is None:
        return batch_branches(axis, partial(cond_p.bind, index, batched=batched), operands, operand_dims, branches)
    outs, out_dims = (_one_by_one if batched == "map" else _by_selection)(axis, args, dims, branches, batched)
    out_avals = branches[0].out_avals
    for position, source in enumerate(_forwarded_operands(branches)):
        if source is not None:  # in every branch the result is this operand, so it is unmapped if the operand is
            x, out_dims[position] = operands[source], operand_dims[source]
            outs[position] = as_declared(x, out_avals[position]) if out_dims[position] is None else x
    return outs, out_dims


cond_p.def_rule("axis_batch", cond_batch)


def _by_selection(axis: AxisData, args: Sequence[Value], dims: Dims, branches: Branches, batched: str) -> Batch:
    """Run branches for the whole batch, and choose by element."""
    index, *operands = args
    index_bdim, *operand_dims = dims
    _check_mapped_index(branches, batched)
    which = clamp(np.int32(0), bdim_at_front(index, index_bdim, axis.size), np.int32(len(branches) - 1))
    is_taken = [eq(which, np.int32(number)) for number in range(len(branches))]
    programs = [_Branch(branch, axis, operand_dims, _guards(branch, axis)) for branch in branches]
    # A branch also runs on values that it excludes, such as zeros; NumPy need not warn of discarded results.
    with np.errstate(all="ignore"):
        run = _Branch.run if batched == "select" else _Branch.run_if_taken
        results = [run(program, taken, *operands) for program, taken in zip(programs, is_taken)]
    return _select_results(is_taken[1] if len(branches) == 2 else which, results)


def batch_branches(
    axis: AxisData, bind: Callable[..., list[Value]], operands: Sequence[Value], dims: Dims, branches: Branches
) -> Batch:
    """Choose one branch for all elements, by `bind(*operands, branches=branches)`.

    A result is mapped in all branches if it is mapped in some branch.
    """
    programs = [batch_jaxpr_axes(branch, axis, dims) for branch in branches]
    out_dims = [dims_of_branch for _, dims_of_branch in programs]
    if any(dims_of_branch != out_dims[0] for dims_of_branch in out_dims):
        is_mapped = [any(d is not None for d in dims_of_result) for dims_of_result in zip(*out_dims)]
        programs = [batch_jaxpr_axes(branch, axis, dims, is_mapped) for branch in branches]
    joined, consts = join_constants([program for program, _ in programs])
    return bind(*consts, *operands, branches=joined), programs[0][1]


def _one_by_one(axis: AxisData, args: Sequence[Value], dims: Dims, branches: Branches, batched: str) -> Batch:
    """Run the branch of each element, one after the other.  Raises: ValueError for branches that name the axis."""
    if axis.name is not None and axis.name in named_axes({"branches": branches}):
        raise ValueError(
            f"cond{where()} got batched='map' and a predicate that differs from element to element under vmap, but a "
            f"branch names the axis {axis.name!r} of the vmap. An element that runs alone does not see the others; use "
            "batched='select'."
        )
    outs = one_by_one(cond_p, args, dims, {"branches": branches, "batched": batched})
    return outs, [0] * len(outs)


def _check_mapped_index(branches: Branches, batched: str) -> None:
    if batched == "error":
        raise TypeError(
            f"cond{where()} got a predicate that differs from element to element under vmap, and batched='error' "
            "refuses it. Use batched='select' to run both branches, 'skip' to run only branches that are taken, or "
            "'map' to run the branch of each element in turn."
        )
    effects = exact_effects(effect for branch in branches for effect in branch.effects)
    if effects:
        raise TypeError(
            f"cond{where()} got a predicate that differs from element to element under vmap, but a branch has the "
            f"effect {effects[0]}. Elements that do not take the branch would cause it too. Move the effect out of the "
            "branch."
        )


class _Branch(NamedTuple):
    """A branch for a whole batch, which some elements take."""

    jaxpr: Jaxpr
    axis: AxisData
    dims: Dims
    guards: Sequence[bool]

    def run(self, is_taken: Value, *operands: Value) -> Batch:
        """Return the results for all elements, and their batch dimensions."""
        args, dims = list(operands), list(self.dims)
        for i, is_guarded in enumerate(self.guards):
            if is_guarded:
                x, d = args[i], dims[i]
                cases, dims[i] = align_operands([is_taken, discard(x), x], [0, d, d])
                args[i] = select_n_p.bind(*cases)
        if has_effects_by_element(self.jaxpr):
            return eval_batched(where_active(self.jaxpr), self.axis, [is_taken, *args], [0, *dims])
        return eval_batched(self.jaxpr, self.axis, args, dims)

    def run_if_taken(self, is_taken: Value, *operands: Value) -> Batch:
        """Return the results of `run` if some element takes the branch, and zeros otherwise."""
        out_dims: list[int | None] = []

        def run(*args: Value) -> list[Value]:
            outs, out_dims[:] = self.run(*args)
            return outs

        avals = [typeof(x) for x in (is_taken, *operands)]
        program = stage(run, avals, verb="vmap")
        zeros = stage(lambda *_: [zeros_of(aval) for aval in program.out_avals], avals, verb="vmap")
        branches, consts = join_constants([zeros, program])
        index = convert_element_type(reduce_or(is_taken), np.int32)
        return cond_p.bind(index, *consts, is_taken, *operands, branches=branches, batched="skip"), out_dims


def _forwarded_operands(branches: Branches) -> list[int | None]:
    """Return, for each result, the number of the operand that every branch returns in its place, or None."""
    sources = zip(*map(forwarded_inputs, branches))
    return [first if all(source == first for source in later) else None for first, *later in sources]


def _guards(branch: Jaxpr, axis: AxisData) -> list[bool]:
    """Return whether each operand needs a guard: whether a derivative could flow back to it.

    Under evaluation no operand does: nothing differentiates the values later, and an unmapped operand stays unmapped.
    A branch that names the axis mixes elements; elements that do not take it then have derivatives too.
    """
    trace: Trace | None = current_trace()
    while isinstance(trace, BatchTrace):
        trace = trace.parent
    if trace is evaluation or (axis.name is not None and axis.name in named_axes({"jaxpr": branch})):
        return [False] * len(branch.invars)
    _, is_used = dce_jaxpr(branch, [True] * len(branch.outvars))
    return [used and not is_own(v.aval) and is_float(v.aval.dtype) for v, used in zip(branch.invars, is_used)]


def _select_results(which: Value, results: Sequence[Batch]) -> Batch:
    """Return for each element the results of its branch."""
    outs: list[Value] = []
    out_dims: list[int | None] = []
    for cases, dims in zip(zip(*(outs for outs, _ in results)), zip(*(dims for _, dims in results))):
        out, dim = _chosen(which, cases, dims)
        outs.append(out)
        out_dims.append(dim)
    return outs, out_dims


def _chosen(which: Value, cases: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    """Return for each element the case that is its own, and the batch dimension."""
    aval = typeof(cases[0])
    if not is_own(aval):
        operands, dim = align_operands([which, *cases], [0, *dims])
        return select_n_p.bind(*operands), dim
    size = typeof(which).shape[0]
    cases = [bdim_at_front(x, d, size) for x, d in zip(cases, dims)]
    columns = zip(*map(lowered, cases))
    return raised([_chosen(which, column, [0] * len(column))[0] for column in columns], typeof(cases[0])), 0
