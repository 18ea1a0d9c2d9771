"""The Taylor rule of `shard_map`: one `shard_map` of the expanded body, coefficients divided as their values are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr, PartitionSpec
from calque_core.engine import body_axes
from calque_core.lax import shard_map_p
from calque_jet.jaxprs import Mask, jet_jaxpr, masks_of, nonzeros, with_zeros
from calque_jet.series import Series

Value = Any
Specs = Sequence[PartitionSpec]


@shard_map_p.def_rule("jet")
def shard_map_jet(
    primals: Sequence[Value],
    series: Sequence[Series],
    *,
    jaxpr: Jaxpr,
    in_specs: Specs,
    out_specs: Specs,
    **how: Any,
) -> tuple[list[Value], list[Series]]:
    masks = masks_of(series)
    with body_axes(**how):
        expanded, out_masks = jet_jaxpr(jaxpr, masks)
    specs = {"in_specs": expanded_specs(in_specs, masks), "out_specs": expanded_specs(out_specs, out_masks)}
    results = shard_map_p.bind(*primals, *nonzeros(series), jaxpr=expanded, **specs, **how)
    return results[: len(out_masks)], with_zeros(results[len(out_masks) :], out_masks)


def expanded_specs(specs: Specs, masks: Sequence[Mask]) -> tuple[PartitionSpec, ...]:
    """Return the specs of values, then of the coefficients that the masks mark."""
    return (*specs, *[spec for spec, mask in zip(specs, masks) for marked in mask if marked])
