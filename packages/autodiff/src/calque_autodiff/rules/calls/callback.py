"""The derivatives of calls to Python: debugging sees the primal values; other calls have none.

`calque_core.ops.calls.callback` says why: the holes there tell the user to give the call a derivative of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import HostCall
from calque_core.lax import debug_callback_p

Value = Any


@debug_callback_p.def_rule("jvp")
def debug_callback_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, callback: HostCall, ordered: bool
) -> tuple[list[Value], list[Value]]:
    debug_callback_p.bind(*primals, callback=callback, ordered=ordered)
    return [], []
