"""Settings on which messages depend, and no result: they are in no key, and to change one compiles nothing anew.

Read next: `config.py`, where users find them; `setting_values.py`, which checks their values.
"""

from __future__ import annotations

from typing import Any

from calque_core.context import Reports, here
from calque_core.setting_values import Held, with_report


class report(Held):
    """Hold one report setting for a `with` block."""

    __slots__ = ()

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        with_report(here().reports, name, value)  # refuses the value here, not at the `with`
        super().__init__()

    def __enter__(self) -> None:
        super().__enter__()
        inner: Any = self.inner
        inner.reports = with_report(inner.reports, self.name, self.value)


def reports() -> Reports:
    """Return the report settings of the calling task.

    >>> from calque_core.config import reports
    >>> reports().log_compiles
    False
    """
    return here().reports


def traceback_filtering(value: str) -> report:
    """Hide calque's own frames from tracebacks ("remove_frames", the default), or show all ("off"), for a `with` block.

    An error keeps its whole traceback: `calque_core.full_traceback(error)` returns it.  Frames of other libraries are
    hidden too, once `register_internal_folder` has their folders.
    Raises: ValueError if `value` is neither.

    >>> from calque_core.config import reports, traceback_filtering
    >>> with traceback_filtering("off"):
    ...     reports().traceback_filtering
    'off'
    """
    return report("traceback_filtering", value)


def log_compiles(value: bool = True) -> report:
    """Log each trace and each compilation of jitted functions, with its time and its reason, for a `with` block.

    The messages are warnings of the logger "calque" of Python's `logging`, which shows them by default.
    Raises: ValueError if `value` is not a bool.

    >>> from calque_core.config import log_compiles, reports
    >>> with log_compiles():
    ...     reports().log_compiles
    True
    """
    return report("log_compiles", value)


def in_place_operators(value: str) -> report:
    """Say what `x += y` on a traced array does with the old name: "refuse" its later use, or "rebind" the name alone.

    NumPy changes the array for all names, so a tracer of it is refused afterwards.  Device arrays never change: a
    program on these alone may have "rebind", and then `z = x; x += y` keeps the value of `z`.  The method `x.sort()`,
    which is refused for the same reason, returns a new array then.
    Raises: ValueError for another value.

    >>> from calque_core.config import in_place_operators, reports
    >>> with in_place_operators("rebind"):
    ...     reports().in_place_operators
    'rebind'
    """
    return report("in_place_operators", value)


def unused_donations(value: str) -> report:
    """Ignore a donated argument whose memory no result can take, or "warn" of it, for a `with` block.

    The warning is a UserWarning of the first call of a compiled function, and names the types of such arguments.
    Raises: ValueError for another value.

    >>> from calque_core.config import reports, unused_donations
    >>> with unused_donations("warn"):
    ...     reports().unused_donations
    'warn'
    """
    return report("unused_donations", value)


def captured_constants_bytes(value: int | None) -> report:
    """Set the size from which a compiled program's captured constants are reported, for a `with` block; None: never.

    The size, 2 GB by default, is that of all constants of a program.  The message is a warning of the logger "calque"
    of Python's `logging`, and names the lines that use the largest constants.
    Raises: ValueError if `value` is neither None nor an int from 0 on.

    >>> from calque_core.config import captured_constants_bytes, reports
    >>> with captured_constants_bytes(10**6):
    ...     reports().captured_constants_bytes
    1000000
    """
    return report("captured_constants_bytes", value)
