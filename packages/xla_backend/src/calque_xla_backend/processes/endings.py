"""The end of a process that cannot go on, in words.

jaxlib ends a process from C++ as soon as the coordinator is lost: no exception reaches Python.  One idea: C++ does it
by `abort`, whose signal has a handler here.  It says in calque's words why the process ends, and sets the status.

Read next: `watch.py`, which ends a process whose main thread waits in C++.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

STATUS = 75  # EX_TEMPFAIL of sysexits.h: the program may succeed when it is started again

_Handler: Any = ctypes.CFUNCTYPE(None, ctypes.c_int)
_handlers: list[Any] = []  # C keeps only their addresses
_DEFAULTS = (None, 1, ctypes.c_void_p(-1).value)  # SIG_DFL, SIG_IGN, SIG_ERR


def end_process(reason: str) -> NoReturn:
    """End this process at once, with a message and the status 75."""
    os.write(2, f"\ncalque ends the process {os.getpid()} with the status {STATUS}: {reason}\n".encode())
    os._exit(STATUS)


def explain_aborts(reason: Callable[[], str | None]) -> Callable[[], None]:
    """Let `abort` end the process in words if `reason()` gives some; an abort with another cause stays as it is.

    Return the function that undoes it.  The interpreter must not end before: the handler would wait for it for ever.
    """
    if os.name == "nt":
        return lambda: None
    set_handler = ctypes.CDLL(None).signal
    set_handler.restype, set_handler.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)

    def handle(number: int) -> None:
        if (words := reason()) is not None:
            end_process(words)
        if earlier not in _DEFAULTS:
            _Handler(earlier)(number)

    _handlers.append(_Handler(handle))
    earlier = set_handler(signal.SIGABRT, ctypes.cast(_handlers[-1], ctypes.c_void_p))
    return lambda: set_handler(signal.SIGABRT, earlier)
