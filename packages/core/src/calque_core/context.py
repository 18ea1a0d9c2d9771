"""The context of a task in a thread: its current trace, its named axes, its settings.

One idea: `bind` must tell at almost no cost whether any task traces.  `active` is a module-level dict that is empty
while all tasks merely evaluate under the default settings; testing it costs 4 ns, and `here()`, which returns the
context of the calling task, 26 ns.  Every context but the resting one puts a token into `active`.

A block (`with entered(...)`) makes a context and replaces the outer one by it.  An operation that another trace
processes sets the `trace` of the current context, and resets it: such changes always nest.

Read next: `trace.py`, which defines traces; `config.py`, the public functions for settings.
"""

from __future__ import annotations

import weakref
from _thread import get_ident
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any

from calque_core.record import Record

AxisEnv = tuple[tuple[Any, int], ...]
AxisNames = frozenset[Any]


class Settings(Record):
    """The settings of one task.  Every field is part of every cache key."""

    enable_x64: bool = True
    default_dtype_bits: int = 64
    enable_checks: bool = False
    debug_nans: bool = False
    debug_infs: bool = False
    disable_jit: bool = False
    numpy_dtype_promotion: str = "standard"
    numpy_rank_promotion: str = "allow"
    checking_leaks: bool = False
    default_device: Any = None  # a device of a backend, which says what it means; None: the backend chooses
    default_matmul_precision: str | None = None  # of products that state none; None: the highest
    mesh: Any = None  # a mesh, to which partition specs alone refer
    known_operations: bool = True  # whether code made once from rules may run in place of them
    checks: bool = True  # whether `check` checks
    known_indices: str = "checked"  # whether a known index out of bounds is an error
    default_prng_impl: str = "threefry2x32"  # the generator of keys that name none


@lru_cache(maxsize=64)
def allow_known(settings: Settings) -> bool:
    """Tell whether known operations may run as code under settings: none asks to see each operation or its results.

    >>> from calque_core.config import current, debug_nans
    >>> from calque_core.engine import allow_known
    >>> with debug_nans():
    ...     allow_known(current())
    False
    """
    sees_each = settings.debug_nans or settings.debug_infs or settings.checking_leaks or not settings.known_operations
    return not sees_each and settings.numpy_rank_promotion != "warn"


DEFAULT_SETTINGS = Settings()
mesh_classes: set[type] = set()  # the classes of the setting `mesh`; `meshes`, which adds them, is loaded at first use


class Reports(Record):
    """The messages of calque to one task, beside its results.  No result depends on them, so they are in no key."""

    log_compiles: bool = False
    traceback_filtering: str = "remove_frames"
    captured_constants_bytes: int | None = 2_000_000_000
    in_place_operators: str = "refuse"  # or "rebind": `x += y` on a tracer, as on values that never change
    unused_donations: str = "ignore"  # or "warn": of a donated argument whose memory no result takes


class Context:
    """The state of one task in one thread."""

    __slots__ = (
        "__weakref__",
        "axis_env",
        "outer",
        "own_settings",
        "reports",
        "scopes",
        "settings",
        "source",
        "thread",
        "trace",
        "varying_axes",
    )

    outer: Context | None
    thread: int
    own_settings: bool  # if False, the context follows `config.update`
    source: Any  # the position of the interpreted equation; operations that it binds keep this line
    scopes: tuple[str, ...]  # the names of the open scopes, the outermost first
    trace: Any
    axis_env: AxisEnv
    varying_axes: AxisNames  # the named axes for which types say whether a value varies along them
    settings: Settings
    reports: Reports


RESTING = Context()  # every thread starts here; no thread owns it, so only `config.update` changes it
RESTING.outer, RESTING.thread, RESTING.own_settings, RESTING.source = None, 0, False, None
RESTING.axis_env, RESTING.scopes, RESTING.settings, RESTING.reports = (), (), DEFAULT_SETTINGS, Reports()
RESTING.varying_axes = frozenset()
_context: ContextVar[Context] = ContextVar("calque_context", default=RESTING)
here: Callable[[], Context] = _context.get
at_rest: weakref.WeakSet[Context] = weakref.WeakSet()  # the outermost context that a thread owns, of each thread
active: dict[object, None] = {}


class Presence:
    """Lives as long as any task may be in a block of settings or axes, also a task that inherited a block already left.

    Only `contextvars` refers to it: no frame does, and so no traceback.
    """

    __slots__ = ("__weakref__",)


_presence: ContextVar[Presence | None] = ContextVar("calque_presence", default=None)
_forget: Any = active.pop


def _note_presence() -> None:
    _presence.set(Presence())  # never a local: a debugger, or an error in a `__del__`, may keep this frame
    active[weakref.ref(_presence.get(), _forget)] = None


def own_context() -> Context:
    """Return a context that this thread may change in place: the current one, or a copy that becomes current.

    A thread starts in the context that all threads share, and `asyncio.to_thread` in the context of another thread.
    """
    context = here()
    if context.thread == get_ident():
        return context
    copy = Context()
    copy.outer, copy.thread, copy.source, copy.trace = None, get_ident(), None, RESTING.trace
    copy.own_settings, copy.axis_env, copy.settings = context.own_settings, context.axis_env, context.settings
    copy.scopes, copy.reports, copy.varying_axes = context.scopes, context.reports, context.varying_axes
    if not context.own_settings:
        at_rest.add(copy)
    _context.set(copy)
    return copy


def context_chain(context: Context | None, last: Context | None = None) -> list[Context]:
    """Return `context` and its outer contexts, up to `last` if it is one of them."""
    contexts = []
    while context is not None:
        contexts.append(context)
        context = None if context is last else context.outer
    return contexts


def merely_evaluates() -> bool:
    """Tell whether the calling task evaluates, without a trace or named axes; its settings may be any.

    >>> from calque_core.engine import merely_evaluates
    >>> merely_evaluates()
    True
    """
    context = here()
    return context.trace is RESTING.trace and not context.axis_env and not context.varying_axes


def open_scopes(context: Context) -> tuple[str, ...]:
    """Return the names of the scopes that hold the next operation of a context.

    While a program is interpreted, these are the scopes of its current equation.
    """
    return context.scopes if context.source is None else scopes_of(context.source)


def scopes_of(position: Any) -> tuple[str, ...]:
    """Return the names of the scopes that were open at a position."""
    return position[2] if len(position) > 2 else ()


class _Exit:
    """Makes the exit function of a block for `with`.

    Only the interpreter refers to the function, on the stack of the frame that runs the block.  So the function dies
    when the block ends, in whatever way, and its death leaves the block: an interrupt may fall on any instruction of
    `__enter__` or of the exit itself, and the block is left all the same.
    """

    __slots__ = ()

    def __get__(self, block: entered | None, _: type) -> Any:
        if block is None:
            return self
        leave_block = partial(self, block)
        if block.inner is None:
            block.net = weakref.ref(leave_block, block.fall_out)
        return leave_block

    def __call__(self, block: entered, kind: object = None, error: object = None, traceback: object = None) -> None:
        try:
            block.leave(error)
        except Exception:  # not after an interrupt: `fall_out` then leaves the block
            block.net = None
            raise
        block.net = None


class entered:
    """Enter a trace, settings or axes for the duration of a `with` block; restore all of them after it.

    `varying_axes` are axes of `axis_env` for which types say whether a value varies along them; they are added.
    A slotted class and not a generator: an exception skips nothing.
    Raises: RuntimeError if the same object is entered again before it was left.
    """

    __slots__ = ("axis_env", "inner", "net", "presence", "settings", "trace", "varying_axes")

    def __init__(
        self,
        trace: Any = None,
        *,
        settings: Settings | None = None,
        axis_env: AxisEnv | None = None,
        varying_axes: AxisNames | None = None,
    ) -> None:
        self.trace, self.settings, self.axis_env, self.varying_axes = trace, settings, axis_env, varying_axes
        self.inner: Context | None = None
        self.presence: Presence | None = None  # the presence of the outer block
        self.net: Any = None

    def __enter__(self) -> Any:
        if self.inner is not None:
            raise RuntimeError(
                f"this {type(self).__name__} block is already entered, in this thread or in another. Make a new block "
                "for each `with`."
            )
        outer, inner = own_context(), Context()
        trace, settings, axis_env = self.trace, self.settings, self.axis_env
        inner.outer, inner.thread = outer, outer.thread
        inner.trace, inner.source = (outer.trace, outer.source) if trace is None else (trace, None)
        inner.scopes = outer.scopes if trace is None else open_scopes(outer)
        inner.reports = outer.reports
        inner.settings = outer.settings if settings is None else settings
        inner.own_settings = outer.own_settings or settings is not None
        inner.axis_env = outer.axis_env if axis_env is None else axis_env
        inner.varying_axes = outer.varying_axes if self.varying_axes is None else self.varying_axes
        self.inner, self.presence = inner, _presence.get()
        active[inner] = None
        _context.set(inner)
        if settings is not None or axis_env is not None:
            _note_presence()
        return trace

    __exit__ = _Exit()

    def leave(self, error: object) -> None:
        """Restore the outer context, if this task is inside the block; call this again after an interrupt."""
        inner = self.inner
        if inner is not None:
            innermost = here()
            inside = [inner] if innermost is inner else context_chain(innermost, inner)
            if inside[-1] is inner:  # otherwise a suspended generator held the block, and the outer one ended first
                assert inner.outer is not None
                if _presence.get() is not self.presence:
                    _presence.set(self.presence)
                for context in inside:
                    active.pop(context, None)
                _context.set(inner.outer)  # the last step: until then, all steps can run again
            else:
                active.pop(inner, None)
        self.inner = self.presence = None

    def fall_out(self, _: object) -> None:
        """Leave a block after an interrupt in its exit function."""
        self.leave(None)
        self.net = None
