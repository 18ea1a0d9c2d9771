"""The Taylor rule of `jit`, and of other calls of a program: one call, of the same kind, of the expanded program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr, Primitive
from calque_core.lax import jit_p
from calque_jet.jaxprs import jet_jaxpr, masks_of, nonzeros, with_zeros
from calque_jet.series import Series

Value = Any


def def_call(primitive: Primitive) -> None:
    """Define the rule of a primitive that applies the program `jaxpr` to its operands; other parameters are kept."""

    @primitive.def_rule("jet")
    def call_jet(
        primals: Sequence[Value], series: Sequence[Series], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Value], list[Series]]:
        expanded, out_masks = jet_jaxpr(jaxpr, masks_of(series))
        results = primitive.bind(*primals, *nonzeros(series), jaxpr=expanded, **params)
        return results[: len(out_masks)], with_zeros(results[len(out_masks) :], out_masks)


def_call(jit_p)
