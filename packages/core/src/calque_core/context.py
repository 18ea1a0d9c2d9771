"""What a thread is doing: its current trace, its named axes, its settings.

One idea: `bind` must know whether anything is going on without paying for the question.  `active` is a module-level
dict that is empty while every thread merely evaluates under the default settings; testing it costs 4 ns, reading a
thread-local 20 to 40 ns.  Whoever leaves the resting state puts a token into it, and takes it out on the way back.

Read next: `trace.py`, which says what a trace is; `config.py`, the public face of the settings.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

AxisEnv = tuple[tuple[Any, int], ...]


class Settings(NamedTuple):
    """What a user can set per thread.  Every field is part of every cache key."""

    enable_x64: bool = True
    default_dtype_bits: int = 64
    enable_checks: bool = False
    debug_nans: bool = False
    debug_infs: bool = False


DEFAULT_SETTINGS = Settings()


class Context(threading.local):
    """The state of one thread.  Class attributes are the resting state that every thread starts from."""

    trace: Any = None  # `trace.evaluation`, put here by that module
    axis_env: AxisEnv = ()
    settings: Settings = DEFAULT_SETTINGS
    source: Any = None  # the equation being interpreted again, so that what it binds keeps the user's line


context = Context()
active: dict[object, None] = {}


class entered:
    """Enter a trace, settings or axes for the duration of a `with` block; leave all of them as they were found.

    A slotted class and not a generator: entering costs 0.3 us instead of 0.9, and nothing is skipped on an exception.
    Raises: RuntimeError if the same object is entered again before it was left.
    """

    __slots__ = ("axis_env", "before", "settings", "trace")

    def __init__(self, trace: Any = None, *, settings: Settings | None = None, axis_env: AxisEnv | None = None) -> None:
        self.trace, self.settings, self.axis_env = trace, settings, axis_env

    def __enter__(self) -> Any:
        if self in active:
            raise RuntimeError(
                f"this {type(self).__name__} block is entered already, here or in a thread. Make a new one."
            )
        # A thread without settings of its own follows those of the process: `config.update` must reach it later too.
        self.before = (context.trace, context.__dict__.get("settings"), context.axis_env, context.source)
        active[self] = None
        if self.trace is not None:
            context.trace = self.trace
            context.source = None
        if self.settings is not None:
            context.settings = self.settings
        if self.axis_env is not None:
            context.axis_env = self.axis_env
        return self.trace

    def __exit__(self, *_: object) -> None:
        trace, settings, axis_env, source = self.before
        if (
            not trace.is_closed
        ):  # it is if a suspended generator holds this block, and is finalized after the one around
            context.trace, context.axis_env, context.source = trace, axis_env, source
            if settings is not None:
                context.settings = settings
            elif "settings" in context.__dict__:
                del context.settings
        active.pop(self, None)
