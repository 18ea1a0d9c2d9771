"""The Taylor rule of `cond`: a `cond` on the same index, of the series of the branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from calque_core import Jaxpr
from calque_core.engine import chosen_branches
from calque_core.lax import cond_p
from calque_jet.jaxprs import jet_jaxpr, masks_of, nonzeros, union_of_masks, with_zeros
from calque_jet.series import Series

Value = Any


@cond_p.def_rule("jet")
def cond_jet(
    primals: Sequence[Value], series: Sequence[Series], *, branches: tuple[Jaxpr, ...], batched: str
) -> tuple[list[Value], list[Series]]:
    index, branches = chosen_branches(primals[0], branches)
    return branches_jet(partial(cond_p.bind, index, batched=batched), primals[1:], series[1:], branches)


def branches_jet(
    bind: Callable[..., list[Value]], primals: Sequence[Value], series: Sequence[Series], branches: tuple[Jaxpr, ...]
) -> tuple[list[Value], list[Series]]:
    """Each branch computes its results and the coefficients that are nonzero in some branch.

    `bind(*operands, branches=branches)` chooses one.
    """
    masks = masks_of(series)
    out_masks = union_of_masks([jet_jaxpr(branch, masks)[1] for branch in branches])
    expanded = tuple(jet_jaxpr(branch, masks, instantiate=out_masks)[0] for branch in branches)
    results = bind(*primals, *nonzeros(series), branches=expanded)
    return results[: len(out_masks)], with_zeros(results[len(out_masks) :], out_masks)
