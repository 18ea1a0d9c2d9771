"""The Taylor rule of a check: it checks the values, not their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import Check
from calque_core.lax import check_p
from calque_jet.series import Series

Value = Any


@check_p.def_rule("jet")
def check_jet(primals: Sequence[Value], series: Sequence[Series], *, check: Check) -> tuple[list[Value], list[Series]]:
    check_p.bind(*primals, check=check)
    return [], []
