"""The Taylor rule of `cond`: a `cond` on the same index, of the series of the branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.extend import chosen_branches
from calque_core.lax import cond_p
from calque_jet.jaxprs import jet_jaxpr, masks_of, nonzeros, union_of_masks, with_zeros
from calque_jet.series import Series

Value = Any


@cond_p.def_rule("jet")
def cond_jet(
    primals: Sequence[Value], series: Sequence[Series], *, branches: tuple[Jaxpr, ...], batched: str
) -> tuple[list[Value], list[Series]]:
    """Each branch computes its results and the coefficients that are nonzero in some branch."""
    index, branches = chosen_branches(primals[0], branches)
    masks = masks_of(series[1:])
    out_masks = union_of_masks([jet_jaxpr(branch, masks)[1] for branch in branches])
    expanded = tuple(jet_jaxpr(branch, masks, instantiate=out_masks)[0] for branch in branches)
    results = cond_p.bind(index, *primals[1:], *nonzeros(series[1:]), branches=expanded, batched=batched)
    return results[: len(out_masks)], with_zeros(results[len(out_masks) :], out_masks)
