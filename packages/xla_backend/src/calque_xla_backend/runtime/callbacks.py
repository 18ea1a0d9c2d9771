"""Running programs that call Python functions.

One idea: a call of such a program returns when the program has ended.  So an exception of a callback reaches the call,
effects keep their order from one call to the next, and the functions live as long as they are needed.  XLA runs these
programs in the calling thread anyway, unless an argument is still being computed.

jaxlib keeps every function that it was ever given, so it gets small entries, which refer to the functions weakly.

Read next: `compile.py`, whose programs hold the functions.
"""

from __future__ import annotations

import itertools
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from calque_core import CheckError
from calque_core.engine import HostCall, register_effects_barrier

Value = Any
_failures: dict[int, BaseException] = {}  # by number: raised by a callback, not yet by the call of the program
_numbers = itertools.count()
_MAX_FAILURES = 64  # a second failure of one run is never asked for


class CallbackError(Exception):
    """Stands for the exception of a callback on its way through XLA, which keeps the text alone."""


class Entry:
    """The function that jaxlib calls: it passes tokens on, and keeps the exception of the user's function."""

    __slots__ = ("function",)

    def __init__(self, function: HostCall) -> None:
        self.function = weakref.ref(function)

    def __call__(self, *operands: Value) -> tuple[Value, ...]:
        tokens = operands[:1] if operands and operands[0] is None else ()
        function = self.function()
        assert function is not None, "the program holds its functions while it runs"
        try:
            return (*tokens, *function(*operands[len(tokens) :]))
        except BaseException as error:  # noqa: BLE001  the call of the program raises it
            number = next(_numbers)
            while len(_failures) >= _MAX_FAILURES:
                _failures.pop(next(iter(_failures)), None)
            _failures[number] = error
        raise CallbackError(f"calque callback failure <{number}>")


def entries_of(functions: Sequence[HostCall]) -> list[Entry]:
    """Return the functions that jaxlib calls, by their number in the module."""
    return [Entry(function) for function in functions]


def run_to_end(execute: Callable[..., Any], functions: Sequence[HostCall], name: str) -> Callable[[Any], Any]:
    """Return `execute` as a function of buffers that returns when the program has ended; it holds `functions`.

    It raises the exception of a callback.
    """

    def run(buffers: Sequence[Any]) -> Any:
        functions  # noqa: B018  the closure holds them
        ended = threading.Event()
        _running[ended] = None
        try:
            results = execute(buffers, with_tokens=True)
            results.consume_token().block_until_ready()
        except RuntimeError as error:
            _raise_failure(error, name)
            raise
        finally:
            ended.set()
            del _running[ended]
        return results

    return run


def _raise_failure(error: RuntimeError, name: str) -> None:
    """Raise the exception of a callback that ended a program; do nothing for another error."""
    match = re.search("calque callback failure <([0-9]+)>", str(error))
    failure = _failures.pop(int(match[1]), None) if match else None
    if failure is not None:
        origin = "check" if isinstance(failure, CheckError) else "callback"
        failure.add_note(f"The {origin} belongs to the compiled program of {name}.")
        try:
            raise failure from None
        finally:
            del failure, error  # a frame of its own traceback would hold it: a cycle


_running: dict[threading.Event, None] = {}  # of the programs that have started and not ended


def _wait() -> None:
    for ended in list(_running):
        ended.wait()


register_effects_barrier(_wait)
