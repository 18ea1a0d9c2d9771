"""Batching `cond`: one branch for the whole batch, or, where the index is mapped, a choice by element.

One idea: with a mapped index every branch runs on the whole batch, on operands that pass no derivative to the elements
which do not take it.  What a branch computes for those, infinities and NaN included, is thrown away by the choice, and
the derivative that flows back into it ends at its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_batching.axes import moveaxis
from calque_batching.batch_trace import AxisData, BatchTrace
from calque_batching.define import aligned
from calque_batching.jaxprs import batch_jaxpr_axes, eval_batched
from calque_core.avals import typeof
from calque_core.dtypes import is_float
from calque_core.jaxpr import Jaxpr
from calque_core.lax import clamp, convert_element_type, discard, eq, reduce_or, select_n_p
from calque_core.linear import zeros_of
from calque_core.ops.call import as_declared, forwarded
from calque_core.ops.collective import named_axes
from calque_core.ops.control_flow import cond_p, join_constants
from calque_core.passes import dce_jaxpr
from calque_core.source import where
from calque_core.stage import stage
from calque_core.trace import Trace, current_trace, evaluation

Value = Any
Dims = Sequence[int | None]
Batch = tuple[list[Value], list[int | None]]
Branches = tuple[Jaxpr, ...]


def cond_batch(axis: AxisData, args: Sequence[Value], dims: Dims, *, branches: Branches, batched: str) -> Batch:
    """Choose one branch for all elements by an unmapped index; a mapped one does what the parameter `batched` says."""
    index, *operands = args
    index_bdim, *operand_dims = dims
    if index_bdim is None:
        return _one_for_all(axis, index, operands, operand_dims, branches, batched)
    _check_mapped_index(branches, batched)
    which = clamp(np.int32(0), moveaxis(index, index_bdim, 0), np.int32(len(branches) - 1))
    is_taken = [eq(which, np.int32(number)) for number in range(len(branches))]
    programs = [_Branch(branch, axis, operand_dims, _guards(branch, axis)) for branch in branches]
    # A branch meets the zeros that it was written to avoid; NumPy need not warn of results that are thrown away.
    with np.errstate(all="ignore"):
        run = _Branch.run if batched == "select" else _Branch.run_if_taken
        results = [run(program, taken, *operands) for program, taken in zip(programs, is_taken)]
    outs, out_dims = _choose(is_taken[1] if len(branches) == 2 else which, results)
    for position, source in enumerate(_passed_through(branches)):
        if source is not None:  # whoever chooses: it is the operand, and unmapped if that is
            x, out_dims[position] = operands[source], operand_dims[source]
            outs[position] = as_declared(x, branches[0].out_avals[position]) if out_dims[position] is None else x
    return outs, out_dims


cond_p.def_rule("axis_batch", cond_batch)


def _one_for_all(
    axis: AxisData, index: Value, operands: Sequence[Value], dims: Dims, branches: Branches, batched: str
) -> Batch:
    """Map the results that are mapped in some branch, in all of them, and no others."""
    programs = [batch_jaxpr_axes(branch, axis, dims) for branch in branches]
    found = [out_dims for _, out_dims in programs]
    if any(out_dims != found[0] for out_dims in found):
        is_mapped = [any(d is not None for d in result) for result in zip(*found)]
        programs = [batch_jaxpr_axes(branch, axis, dims, is_mapped) for branch in branches]
    joined, consts = join_constants([program for program, _ in programs])
    return cond_p.bind(index, *consts, *operands, branches=joined, batched=batched), programs[0][1]


def _check_mapped_index(branches: Branches, batched: str) -> None:
    if batched == "error":
        raise TypeError(
            f"cond{where()} got a predicate that differs from element to element under vmap, and batched='error' "
            "refuses it. Use batched='select' to run both branches, or 'skip' to run those that some element takes."
        )
    effects = sorted({str(effect) for branch in branches for effect in branch.effects})
    if effects:
        raise TypeError(
            f"cond{where()} got a predicate that differs from element to element under vmap, but a branch has the "
            f"effect {effects[0]}, which elements that do not take it would have too. Move it out of the branch."
        )


class _Branch(NamedTuple):
    """A branch for a whole batch, of which some elements take it."""

    jaxpr: Jaxpr
    axis: AxisData
    dims: Dims
    guards: Sequence[bool]

    def run(self, is_taken: Value, *operands: Value) -> Batch:
        """Return the results for all elements and where their batch axes are."""
        args, dims = list(operands), list(self.dims)
        for i, is_guarded in enumerate(self.guards):
            if is_guarded:
                x, d = args[i], dims[i]
                cases, dims[i] = aligned([is_taken, discard(x), x], [0, d, d])
                args[i] = select_n_p.bind(*cases)
        return eval_batched(self.jaxpr, self.axis, args, dims)

    def run_if_taken(self, is_taken: Value, *operands: Value) -> Batch:
        """Return the same if some element takes the branch, and zeros otherwise."""
        out_dims: list[int | None] = []

        def run(*args: Value) -> list[Value]:
            outs, out_dims[:] = self.run(*args)
            return outs

        avals = [typeof(x) for x in (is_taken, *operands)]
        program = stage(run, avals, verb="vmap")
        nothing = stage(lambda *_: [zeros_of(aval) for aval in program.out_avals], avals, verb="vmap")
        branches, consts = join_constants([nothing, program])
        index = convert_element_type(reduce_or(is_taken), np.int32)
        return cond_p.bind(index, *consts, is_taken, *operands, branches=branches, batched="skip"), out_dims


def _passed_through(branches: Branches) -> list[int | None]:
    """Return, for each result, the number of the operand that it repeats in every branch, or None."""
    sources = zip(*map(forwarded, branches))
    return [first if all(source == first for source in others) else None for first, *others in sources]


def _guards(branch: Jaxpr, axis: AxisData) -> list[bool]:
    """Return which operands need a guard: those that a derivative could flow back to.

    None do where values are computed at once: nobody differentiates them any more, and an unmapped operand stays one.
    A branch that names the axis mixes elements; there the elements that do not take it have derivatives too.
    """
    trace: Trace | None = current_trace()
    while isinstance(trace, BatchTrace):
        trace = trace.parent
    if trace is evaluation or (axis.name is not None and axis.name in named_axes({"jaxpr": branch})):
        return [False] * len(branch.invars)
    _, is_used = dce_jaxpr(branch, [True] * len(branch.outvars))
    return [used and is_float(v.aval.dtype) for v, used in zip(branch.invars, is_used)]


def _choose(which: Value, results: Sequence[Batch]) -> Batch:
    """Return, for each element, the results of the branch that it takes."""
    outs: list[Value] = []
    out_dims: list[int | None] = []
    for cases, dims in zip(zip(*(outs for outs, _ in results)), zip(*(dims for _, dims in results))):
        operands, dim = aligned([which, *cases], [0, *dims])
        outs.append(select_n_p.bind(*operands))
        out_dims.append(dim)
    return outs, out_dims
