"""What a task is doing in a thread: its current trace, its named axes, its settings.

One idea: `bind` must know whether anything is going on without paying for the question.  `active` is a module-level
dict that is empty while everybody merely evaluates under the default settings; testing it costs 4 ns, and `here()`,
which gives the context of the calling task, 26 ns.  A context that is not the resting one puts a token into `active`.

A block (`with entered(...)`) makes a context of its own and puts it in the place of the one around it.  An operation
that another trace processes changes the `trace` of the context at hand, and changes it back: nothing can come between.

Read next: `trace.py`, which says what a trace is; `config.py`, the public face of the settings.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from threading import get_ident
from typing import Any, NamedTuple

AxisEnv = tuple[tuple[Any, int], ...]


class Settings(NamedTuple):
    """What a user can set per task.  Every field is part of every cache key."""

    enable_x64: bool = True
    default_dtype_bits: int = 64
    enable_checks: bool = False
    debug_nans: bool = False
    debug_infs: bool = False
    traceback_filtering: str = "remove_frames"
    disable_jit: bool = False
    numpy_dtype_promotion: str = "standard"
    numpy_rank_promotion: str = "allow"
    checking_leaks: bool = False


DEFAULT_SETTINGS = Settings()


class Context:
    """The state of one task in one thread."""

    __slots__ = ("__weakref__", "axis_env", "outer", "own_settings", "settings", "source", "thread", "trace")

    outer: Context | None
    thread: int
    own_settings: bool  # a context without any follows `config.update`
    source: Any  # the equation being interpreted again, so that what it binds keeps the user's line
    trace: Any
    axis_env: AxisEnv
    settings: Settings


RESTING = Context()  # where every thread starts; nobody's own, so only `config.update` changes it
RESTING.outer, RESTING.thread, RESTING.own_settings, RESTING.source = None, 0, False, None
RESTING.axis_env, RESTING.settings = (), DEFAULT_SETTINGS
_context: ContextVar[Context] = ContextVar("calque_context", default=RESTING)
here: Callable[[], Context] = _context.get
at_rest: weakref.WeakSet[Context] = weakref.WeakSet()  # the outermost context of each thread that has one of its own
active: dict[object, None] = {}


class Presence:
    """Lives as long as a task may be in a block of settings or axes, also one that a task inherited and its owner left.

    Only `contextvars` refers to it, no frame, and so no traceback.
    """

    __slots__ = ("__weakref__",)


_presence: ContextVar[Presence | None] = ContextVar("calque_presence", default=None)
_forget: Any = active.pop


def _note_presence() -> None:
    presence = Presence()
    active[weakref.ref(presence, _forget)] = None
    _presence.set(presence)


def own() -> Context:
    """Return the context at hand if it may be changed in place, otherwise one that takes its place.

    A thread starts in the context that all share, and `asyncio.to_thread` in that of another thread.
    """
    context = here()
    if context.thread == get_ident():
        return context
    copy = Context()
    copy.outer, copy.thread, copy.source, copy.trace = None, get_ident(), None, RESTING.trace
    copy.own_settings, copy.axis_env, copy.settings = context.own_settings, context.axis_env, context.settings
    if not context.own_settings:
        at_rest.add(copy)
    _context.set(copy)
    return copy


def chain(context: Context | None, last: Context | None = None) -> list[Context]:
    """Return a context and those around it, up to `last` if it is among them."""
    contexts = []
    while context is not None:
        contexts.append(context)
        context = None if context is last else context.outer
    return contexts


class _Exit:
    """Gives `with` the way out of a block.

    Only the interpreter holds it, on the stack of the frame that runs the block.  So it dies when the block is over,
    however it ends, and its death leaves the block: an interrupt may fall on any instruction of `__enter__` or of the
    way out itself, and leaves nothing behind.
    """

    __slots__ = ()

    def __get__(self, block: entered | None, _: type) -> Any:
        if block is None:
            return self
        way_out = partial(self, block)
        if block.inner is None:
            block.net = weakref.ref(way_out, block.fall_out)
        return way_out

    def __call__(self, block: entered, kind: object = None, error: object = None, traceback: object = None) -> None:
        try:
            block.leave(error)
        except Exception:  # after an interrupt, however, there is something left to do
            block.net = None
            raise
        block.net = None


class entered:
    """Enter a trace, settings or axes for the duration of a `with` block; leave all of them as they were found.

    A slotted class and not a generator: nothing is skipped on an exception.
    Raises: RuntimeError if the same object is entered again before it was left.
    """

    __slots__ = ("axis_env", "inner", "net", "presence", "settings", "trace")

    def __init__(self, trace: Any = None, *, settings: Settings | None = None, axis_env: AxisEnv | None = None) -> None:
        self.trace, self.settings, self.axis_env = trace, settings, axis_env
        self.inner: Context | None = None
        self.presence: Presence | None = None  # that of the block around
        self.net: Any = None

    def __enter__(self) -> Any:
        if self.inner is not None:
            raise RuntimeError(
                f"this {type(self).__name__} block is entered already, here or in a thread. Make a new one."
            )
        outer, inner = own(), Context()
        trace, settings, axis_env = self.trace, self.settings, self.axis_env
        inner.outer, inner.thread = outer, outer.thread
        inner.trace, inner.source = (outer.trace, outer.source) if trace is None else (trace, None)
        inner.settings = outer.settings if settings is None else settings
        inner.own_settings = outer.own_settings or settings is not None
        inner.axis_env = outer.axis_env if axis_env is None else axis_env
        self.inner, self.presence = inner, _presence.get()
        active[inner] = None
        _context.set(inner)
        if settings is not None or axis_env is not None:
            _note_presence()
        return trace

    __exit__ = _Exit()

    def leave(self, error: object) -> None:
        """Put the context around the block back, if this task is inside; to be called again if it is interrupted."""
        inner = self.inner
        if inner is not None:
            inside = chain(here(), inner)
            if inside[-1] is inner:  # otherwise a suspended generator held the block, and the one around was left first
                assert inner.outer is not None
                if _presence.get() is not self.presence:
                    _presence.set(self.presence)
                for context in inside:
                    active.pop(context, None)
                _context.set(inner.outer)  # the last step: until then, all of it can be done again
            active.pop(inner, None)
        self.inner = self.presence = None

    def fall_out(self, _: object) -> None:
        """Leave a block whose way out was lost to an interrupt."""
        self.leave(None)
        self.net = None
