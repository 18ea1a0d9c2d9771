"""The Taylor rule of `debug_callback`; other calls to Python have none, as the holes in core say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import HostCall
from calque_core.lax import debug_callback_p
from calque_jet.series import Series

Value = Any


@debug_callback_p.def_rule("jet")
def debug_callback_jet(
    primals: Sequence[Value], series: Sequence[Series], *, callback: HostCall, ordered: bool
) -> tuple[list[Value], list[Series]]:
    """Show the values, not their coefficients."""
    debug_callback_p.bind(*primals, callback=callback, ordered=ordered)
    return [], []
