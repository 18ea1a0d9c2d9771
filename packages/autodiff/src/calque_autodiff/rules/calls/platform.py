"""The derivatives of `platform_dependent`: the rules of `cond` without an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.rules.calls.cond import Branches, Choice, branches_jvp, branches_partial_eval, branches_transpose
from calque_core.engine import Platforms
from calque_core.lax import platform_dependent_p

Value = Any


def _by_platform(platforms: Platforms) -> Choice:
    return Choice(platform_dependent_p, (), {"platforms": platforms})


@platform_dependent_p.def_rule("jvp")
def platform_dependent_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, branches: Branches, platforms: Platforms
) -> tuple[list[Value], list[Value]]:
    return branches_jvp(_by_platform(platforms), primals, tangents, branches)


@platform_dependent_p.def_rule("partial_eval")
def platform_dependent_partial_eval(
    known_mask: Sequence[bool], *operands: Value, branches: Branches, platforms: Platforms
) -> list[Value]:
    return branches_partial_eval(_by_platform(platforms), tuple(known_mask), operands, branches)


@platform_dependent_p.def_rule("transpose")
def platform_dependent_transpose(
    cts: Sequence[Value], *operands: Value, branches: Branches, platforms: Platforms
) -> list[Value]:
    return branches_transpose(_by_platform(platforms), cts, operands, branches)
