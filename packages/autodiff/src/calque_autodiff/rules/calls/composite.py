"""The derivatives of `composite` are those of its decomposition, whose derivative has no name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.transpose import transpose_of_call
from calque_core import Jaxpr
from calque_core.extend import run_program
from calque_core.lax import composite_p

Value = Any


@composite_p.def_rule("transpose")
def composite_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, **_: Any) -> list[Value]:
    return transpose_of_call(lambda *args, jaxpr: run_program(jaxpr, args), jaxpr, cts, operands)
