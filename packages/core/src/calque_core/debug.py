"""Looking at values while a program runs: `print`, `callback` and `breakpoint`.

One idea: they are calls to Python with an effect, so that they work the same in plain evaluation, under every
transformation and in compiled programs, and are never removed.

Read next: `ops/calls/callback.py`, their primitive; `frames/prompt.py`, the prompt of a breakpoint.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calque_core.calls.formats import check_format
from calque_core.context import here
from calque_core.errors import UnexpectedTracerError
from calque_core.frames.prompt import Prompt
from calque_core.frames.recorded import RecordedFrame, record_frames
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.ops.calls.callback import bind_debug_callback
from calque_core.traces.tracer import check_lift, is_tracer
from calque_pytree import PyTreeDef, tree_flatten, tree_structure

__all__ = ["breakpoint", "callback", "print"]


@api_boundary
def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call `callback(*args, **kwargs)` from the program, with NumPy arrays, each time the program runs.

    Its result is ignored.  Arguments that are no arrays, such as strings, reach it unchanged.  Under `vmap` it is
    called for each element; under derivatives once, with the primal values.  With `ordered`, calls keep the order of
    the program; otherwise a compiled program may call in any order.
    Raises: TypeError if `callback` is no function.

    >>> from calque_core import debug
    >>> seen = {}
    >>> debug.callback(lambda x, name: seen.update({name: float(x)}), 2.0, name="loss")
    >>> seen
    {'loss': 2.0}
    """
    bind_debug_callback("debug.callback", callback, args, kwargs, ordered)


@api_boundary
def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print `fmt.format(*args, **kwargs)` each time the program runs, with the values of traced arguments.

    `fmt` is a format string with fields such as `{}`, `{1}` or `{name:.3f}`, and `{{` for a brace; it must not be an
    f-string, which has no fields left.  Arrays are printed by the options of `numpy.printoptions` at this call, which
    is traced once.  `ordered`, `vmap` and derivatives are as for `callback`.
    Raises: TypeError if `fmt` is no string; ValueError that names the arguments without a field, and the fields without
    an argument.

    >>> from calque_core import debug, make_jaxpr
    >>> debug.print("loss {:.2f} at {step}", 1.0, step=3)
    loss 1.00 at 3
    """
    check_format("debug.print", fmt, args, kwargs)
    bind_debug_callback("debug.print", _Printer(fmt), args, kwargs, ordered)


class _Printer:
    """Prints values in a format, by the options of the call: a compiled program prints in a thread without them.

    Printers of one format and equal options are equal, so that equal programs stay equal.
    """

    __slots__ = ("__weakref__", "fmt", "options")
    __name__ = "print"

    def __init__(self, fmt: str) -> None:
        self.fmt, self.options = fmt, np.get_printoptions()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            builtins.print(self.fmt.format(*args, **kwargs))  # noqa: T201  what the user asks for

    def __eq__(self, other: object) -> bool:
        return type(other) is _Printer and (other.fmt, other.options) == (self.fmt, self.options)

    def __hash__(self) -> int:
        return hash(self.fmt)


@api_boundary
def breakpoint(*, filter_frames: bool = True, num_frames: int | None = None, ordered: bool = False) -> None:
    r"""Open a prompt each time the program gets here, to look at the local variables of the calling functions.

    The commands are those of Python's debugger: `p expression`, `args`, `list`, `where`, `up`, `down`, `continue`,
    `quit`, which ends the program with `bdb.BdbQuit`, and `help`.  They read standard input.  In a traced or compiled
    program, traced variables have their values in this run; other variables have their values from its trace.
    The program keeps the variables alive.  With `filter_frames`, frames of calque are left out; `num_frames` is the
    number of frames to show.  `ordered`, `vmap` and derivatives are as for `callback`.
    Raises: ValueError if `num_frames` is less than 1.

    >>> import io, sys
    >>> from calque_core import debug
    >>> def area(width, height):
    ...     debug.breakpoint()
    ...     return width * height
    >>> keyboard, sys.stdin = sys.stdin, io.StringIO("p width + 1\ncontinue\n")
    >>> area(2.0, 3.0)  # doctest: +ELLIPSIS
    > <doctest ...>(2)area()
    -> debug.breakpoint()
    (calque) 3.0
    (calque) 6.0
    >>> sys.stdin = keyboard
    """
    if num_frames is not None and num_frames < 1:
        raise ValueError(f"debug.breakpoint{where()} got num_frames={num_frames}. Give 1 or more, or None for all.")
    frames = record_frames(filter_frames, num_frames)
    tracers, traced = _take_tracers(frames)
    bind_debug_callback("debug.breakpoint", _Breakpoint(frames, traced), tracers, {}, ordered)


class _TracedVariable(NamedTuple):
    """A local variable with tracers among its leaves: `numbers` says which arguments of the prompt they are."""

    frame: int
    name: str
    tree: PyTreeDef
    leaves: list[Any]
    numbers: dict[int, int]


class _Breakpoint:
    """Opens a prompt over recorded frames; its arguments are the values of the traced variables."""

    __slots__ = ("__weakref__", "frames", "traced")
    __name__ = "breakpoint"

    def __init__(self, frames: Sequence[RecordedFrame], traced: Sequence[_TracedVariable]) -> None:
        self.frames, self.traced = frames, traced

    def __call__(self, *values: Any) -> None:
        frames = [replace(frame, local_names=dict(frame.local_names)) for frame in self.frames]
        for frame, name, tree, leaves, numbers in self.traced:
            filled = [values[numbers[i]] if i in numbers else leaf for i, leaf in enumerate(leaves)]
            frames[frame].local_names[name] = tree.unflatten(filled)
        Prompt(frames).cmdloop()


class _Unseen:
    """Stands for a tracer that the program cannot read; it shows the text of the tracer."""

    __slots__ = ("text",)

    def __init__(self, tracer: Any) -> None:
        self.text = f"<{tracer!r}, a traced value that has no value at the breakpoint>"

    def __repr__(self) -> str:
        return self.text


def _take_tracers(frames: Sequence[RecordedFrame]) -> tuple[list[Any], list[_TracedVariable]]:
    """Return the tracers in the local variables, each once, and these variables; the frames keep no tracer."""
    tracers: dict[int, Any] = {}  # by id, in the order of the arguments
    traced = []
    for number, frame in enumerate(frames):
        for name, value in frame.local_names.items():
            leaves, tree = _flatten(value)
            places = [i for i, x in enumerate(leaves) if is_tracer(x)]
            seen = [i for i in places if _is_seen(leaves[i])]
            tracers.update((id(leaves[i]), leaves[i]) for i in seen)
            order = {key: k for k, key in enumerate(tracers)}
            numbers = {i: order[id(leaves[i])] for i in seen}
            if places:
                kept = [None if i in numbers else _Unseen(x) if is_tracer(x) else x for i, x in enumerate(leaves)]
                traced.append(_TracedVariable(number, name, tree, kept, numbers))
                frame.local_names[name] = None
    return list(tracers.values()), traced


def _flatten(value: Any) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a variable; a variable that is no pytree, such as a dict of unlike keys, is one leaf."""
    try:
        return tree_flatten(value)
    except (TypeError, ValueError):
        return [value], tree_structure(None, is_leaf=lambda _: True)


def _is_seen(tracer: Any) -> bool:
    """Tell whether the current trace can use a tracer: a frame may hold tracers of other traces."""
    trace = here().trace
    if trace is tracer._trace:
        return True
    try:
        check_lift(tracer, trace)
    except UnexpectedTracerError:
        return False
    return True
