"""The Taylor rule of `platform_dependent`: the rule of `cond` without an index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_core import Jaxpr
from calque_core.engine import Platforms
from calque_core.lax import platform_dependent_p
from calque_jet.rules.calls.cond import branches_jet
from calque_jet.series import Series

Value = Any


@platform_dependent_p.def_rule("jet")
def platform_dependent_jet(
    primals: Sequence[Value], series: Sequence[Series], *, branches: tuple[Jaxpr, ...], platforms: Platforms
) -> tuple[list[Value], list[Series]]:
    return branches_jet(partial(platform_dependent_p.bind, platforms=platforms), primals, series, branches)
