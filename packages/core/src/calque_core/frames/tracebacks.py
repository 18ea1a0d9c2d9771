"""Tracebacks that show the user's own lines.

One idea: a function that a user calls to transform something is a boundary.  An error that leaves the outermost
boundary loses the frames of calque, of registered libraries, and of NumPy and SciPy where these call calque; a note
says so, and keeps the whole traceback.  A call without an error costs one Python frame.

Read next: `source.py`, which tells frames of calque from frames of the user.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from calque_core.context import here
from calque_core.errors import similar_name
from calque_core.frames.names import named_after
from calque_core.frames.recursion import explain_depth
from calque_core.frames.source import is_array_library_file, is_internal_file, mark_wrapper

P = ParamSpec("P")
R = TypeVar("R")


class HiddenFrames(str):
    """The note on an error whose traceback was shortened.  It keeps the traceback, and is pickled as its text."""

    __slots__ = ("traceback",)
    traceback: TracebackType | None

    def __reduce__(self) -> Any:
        return str, (str(self),)


_NOTE = "calque hides its own frames in this traceback. calque_core.config.traceback_filtering('off') shows them."
_boundaries: set[CodeType] = set()


def api_boundary(fun: Callable[P, R]) -> Callable[P, R]:
    """Return `fun` with errors that show only the user's frames, unless `fun` runs inside another such function.

    >>> from calque_core import api_boundary
    >>> @api_boundary
    ... def transform(x):
    ...     return x + 1
    >>> transform(1)
    2
    """
    return _boundary(fun, fun)


def transform_of(fun: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for the function that a transformation of `fun` returns.

    It is an `api_boundary` with the name, the documentation and the attributes of `fun`, and `__wrapped__` is `fun`.

    >>> from calque_core.engine import transform_of
    >>> def twice(f):
    ...     @transform_of(f)
    ...     def doubled(x):
    ...         return 2.0 * f(x)
    ...     return doubled
    >>> twice(abs)(-1.0), twice(abs).__name__
    (2.0, 'abs')
    """
    return partial(_boundary, like=fun)


def _boundary(fun: Callable[P, R], like: Any) -> Callable[P, R]:
    hide, suggest = hide_frames, _suggest_keyword

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if kwargs and type(error) is TypeError:
                suggest(error, fun, kwargs)
            hide(error)
            raise

    _boundaries.add(call.__code__)
    # With the globals of its module, it is a function of that module to doctest and inspect.
    outer: Any = FunctionType(call.__code__, fun.__globals__, fun.__name__, None, call.__closure__)
    if type(like) is not FunctionType:
        named_after(like)(outer)
    else:  # a fifth of the time
        outer.__qualname__, outer.__doc__, outer.__module__ = like.__qualname__, like.__doc__, like.__module__
        outer.__name__, outer.__annotations__ = like.__name__, like.__annotations__
        outer.__dict__.update(like.__dict__ | {"__wrapped__": like})
    return mark_wrapper(outer)  # type: ignore[no-any-return]


_boundary_code = next(c for c in _boundary.__code__.co_consts if isinstance(c, CodeType) and c.co_name == "call")


def inside_boundary(fun: FunctionType) -> Any:
    """Return the function inside an `api_boundary`; any other function unchanged."""
    if fun.__code__ is not _boundary_code or fun.__closure__ is None:
        return fun
    return fun.__closure__[fun.__code__.co_freevars.index("fun")].cell_contents


def mark_boundary(code: CodeType) -> None:
    """Make the function of this code a boundary: it calls `hide_frames` on its errors itself."""
    _boundaries.add(code)


def _suggest_keyword(error: TypeError, fun: Callable[..., Any], kwargs: Iterable[str]) -> None:
    """Add a similar keyword, or all keywords of `fun`, to Python's error for an unknown keyword."""
    was_entered = error.__traceback__ is None or error.__traceback__.tb_next is not None
    if was_entered or "Did you mean" in str(error):  # Python 3.13 suggests a keyword itself
        return
    parameters = inspect.signature(fun, follow_wrapped=False).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [name for name in kwargs if name not in names]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        similar = similar_name(unknown[0], names)
        advice = f"Did you mean '{similar}'?" if similar else f"It takes {', '.join(names)}."
        error.args = (f"{error}. {advice}",)


def hide_frames(error: Exception) -> None:
    """Shorten the tracebacks of an error and of its causes, if the calling function is the outermost boundary.

    Python's error for too deep recursion gets a remedy.  The caller continues with a bare `raise`, which adds no frame.
    """
    if _is_nested():
        return
    if type(error) is RecursionError:
        explain_depth(error)
    if here().reports.traceback_filtering == "off":
        return
    note = HiddenFrames(_NOTE)
    note.traceback = error.__traceback__
    for each in _related_errors(error):
        each.__traceback__ = _of_user(each.__traceback__)
    if not any(isinstance(n, HiddenFrames) for n in getattr(error, "__notes__", ())):
        error.add_note(note)


def full_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error, including the frames that calque has hidden.

    `pdb.post_mortem(full_traceback(error))` looks into calque.

    >>> from calque_core import full_traceback
    >>> full_traceback(ValueError()) is None
    True
    """
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, HiddenFrames)]
    return notes[0].traceback if notes else error.__traceback__


def _is_nested() -> bool:
    frame = sys._getframe(2).f_back  # the inner frames: the boundary, hide_frames, this function
    while frame is not None:
        if frame.f_code in _boundaries:
            return True
        frame = frame.f_back
    return False


def _related_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes, its contexts, and the members of groups, each once."""
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        each = stack.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
            stack += [each.__cause__, each.__context__, *members]


def _of_user(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the entries of calque, and of array libraries that call calque."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    shown: TracebackType | None = None
    leads_to_calque = False
    for entry in reversed(entries):
        file_name = entry.tb_frame.f_code.co_filename
        if is_internal_file(file_name):
            leads_to_calque = True
        elif not (leads_to_calque and is_array_library_file(file_name)):
            leads_to_calque = False
            shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown
