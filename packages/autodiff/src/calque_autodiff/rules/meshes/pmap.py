"""The derivatives of `xla_pmap` are those of its decomposition, a `shard_map`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.transpose import transpose_of_call
from calque_core import Jaxpr, UndefinedPrimal, current_trace, decompose, stage, typeof
from calque_core.extend import run_program
from calque_core.lax import pmap_p

Value = Any


@pmap_p.def_rule("partial_eval")
def pmap_partial_eval(known_mask: Sequence[bool], *operands: Value, **params: Any) -> list[Value]:
    return decompose(current_trace(), pmap_p, operands, params, "partial_eval")


@pmap_p.def_rule("transpose")
def pmap_transpose(cts: Sequence[Value], *operands: Value, **params: Any) -> list[Value]:
    program = _decomposed([x.aval if type(x) is UndefinedPrimal else typeof(x) for x in operands], params)
    return transpose_of_call(lambda *args, jaxpr: run_program(jaxpr, args), program, cts, operands)


def _decomposed(avals: Sequence[Any], params: dict[str, Any]) -> Jaxpr:
    """Return the program of the decomposition."""
    return stage(lambda *args: decompose(current_trace(), pmap_p, args, params, "transpose"), avals, verb="transpose")
