"""Messages about traces and compilations: who, for which types, how long, and why.

One idea: a message is one line of Python's `logging`, by the logger "calque"; settings in `calque_core.config` ask for
it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from calque_core import CapturedConstant, Jaxpr, captured_constants
from calque_core.config import reports
from calque_core.engine import bytes_text
from calque_core.extend import where

log = logging.getLogger("calque")
MAX_SHOWN = 8  # arguments of one message
MAX_CONSTANTS = 3


def log_trace(function: str, names: Sequence[str], avals: Sequence[Any], seconds: float, reason: str) -> None:
    """Log that a function was traced for arguments of these types."""
    arguments = _shortened([f"{name}: {aval}" for name, aval in zip(names, avals)])
    log.warning("traced %s for (%s)%s in %s. %s", function, arguments, where(), _time(seconds), reason)


def log_compilation(
    name: str, avals: Sequence[Any], lowering_seconds: float, seconds: float, *, is_loaded: bool
) -> None:
    """Log that the program of a function was compiled or loaded from disk, if the settings ask for it."""
    if reports().log_compiles:
        arguments, times = _shortened([str(aval) for aval in avals]), (_time(lowering_seconds), _time(seconds))
        message = (
            "loaded %s for (%s)%s: lowered in %s, loaded from the compilation cache in %s."
            if is_loaded
            else "compiled %s for (%s)%s: lowered in %s, compiled by XLA in %s."
        )
        log.warning(message, name, arguments, where(), *times)


def log_constants(name: str, jaxpr: Jaxpr, nbytes: int) -> None:
    """Log that a program captured many bytes of constants, with the lines that use the largest of them."""
    limit = reports().captured_constants_bytes
    if limit is not None and nbytes >= limit:
        text = constants_text(captured_constants(jaxpr))
        message = "%s captured %s%s. Pass them as arguments, so that programs share them; or set %s, now %s."
        log.warning(message, name, text, where(), "config.captured_constants_bytes", limit)


def constants_text(constants: Sequence[CapturedConstant]) -> str:
    """Return '2.1 GB of constants, the largest: ...' for a message; the constants begin with the largest."""
    largest = "; ".join(map(str, constants[:MAX_CONSTANTS]))
    return f"{bytes_text(sum(constant.nbytes for constant in constants))} of constants, the largest: {largest}"


def _shortened(texts: Sequence[str]) -> str:
    more = len(texts) - MAX_SHOWN
    return ", ".join(texts[:MAX_SHOWN]) + (f", and {more} more" if more > 0 else "")


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
