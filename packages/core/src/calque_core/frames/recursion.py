"""The errors for programs that are nested too deeply, and for a user's trace that calls itself without end.

One idea: Python's error is two thousand lines long and names nothing of calque.  The outermost function of calque adds
the user's line and the remedy.  An operation that `process_primitive` binds while its trace is current comes back to
it; there the block that entered the trace replaces the error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from calque_core.frames.source import Position, at_place, where

_MANY = 20  # calls of one trace inside one another, more than nested control flow makes
_PYTHONS = "maximum recursion depth exceeded"


def explain_depth(error: RecursionError) -> None:
    """Add the user's line and the remedy to the message of Python's own error, unless it has a remedy."""
    if str(error).startswith(_PYTHONS) and "\n" not in str(error):
        remedy = f"Nest less deeply, or raise the limit, {sys.getrecursionlimit()}, with sys.setrecursionlimit."
        message = (
            f"{error}{where()}. Loops, branches, calls or derivatives are nested too deeply, or a function calls "
            f"itself without end.\n{remedy}"
        )
        error.args = (message,)


def refuse_endless_binding(trace: Any, error: RecursionError) -> None:
    """Raise a short error instead of `error` if its cause is a trace that binds operations under itself.

    Raises: RecursionError, which names the operation and its line.
    """
    calls = list(_calls(trace, error.__traceback__))
    if len(calls) < _MANY:
        return
    primitive, _ = Counter(_argument(frame, 1) for frame, _ in calls).most_common(1)[0]
    _, position = calls[-2]  # the error may interrupt the innermost call on any of its lines
    shorter = RecursionError(
        f"{type(trace).__name__}.process_primitive binds {primitive}{at_place(position)} while its own trace is "
        "current, so it calls itself without end.\n"
        f"Bind for the parent, {trace.parent.describe()}: `with calque_core.tracing(self.parent): ...`."
    )
    raise shorter from None


def _calls(trace: Any, traceback: TracebackType | None) -> Iterator[tuple[FrameType, Position]]:
    """Yield the frame of each call of `process_primitive` of the trace, and its position; the outermost first."""
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        if code.co_name == "process_primitive" and code.co_argcount > 1 and _argument(frame, 0) is trace:
            yield frame, (code, traceback.tb_lasti)
        traceback = traceback.tb_next


def _argument(frame: FrameType, position: int) -> Any:
    return frame.f_locals.get(frame.f_code.co_varnames[position])
