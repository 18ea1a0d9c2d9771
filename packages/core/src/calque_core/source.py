"""Where in the user's program an operation was written.

One idea: keep two machine words per equation (a code object and an instruction offset), and turn them into a file and a
line only when somebody asks.  Frames of calque itself are passed over; another library can have its own passed over too.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any, NamedTuple

from calque_core.context import context

Position = tuple[CodeType, int]

_internal_folders: list[str] = [os.path.dirname(__file__) + os.sep]
_internal_files: dict[str, bool] = {}


class SourceInfo(NamedTuple):
    """A place in the user's program."""

    file_name: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file_name}:{self.line} ({self.function})"


def register_internal_folder(folder: str) -> None:
    """Pass over the frames of every file below `folder` when looking for the user's line.

    >>> register_internal_folder("/opt/mylibrary")
    """
    _internal_folders.append(os.path.join(folder, ""))
    _internal_files.clear()


def is_internal_file(file_name: str) -> bool:
    """Tell whether frames of `file_name` belong to calque or to a library that registered itself.

    >>> is_internal_file(__file__)
    True
    """
    known = _internal_files.get(file_name)
    if known is None:
        known = _internal_files[file_name] = file_name.startswith(tuple(_internal_folders))
    return known


def current_position(depth: int = 1) -> Position | None:
    """Return the position in the user's code that is being executed, or was when the equation at hand was made.

    The innermost `depth` frames are known to be calque's: not to look at them saves staging 0.2 us per equation.

    >>> resolve(current_position()) is None  # this doctest is the user's code
    False
    """
    if context.source is not None:
        return context.source  # type: ignore[no-any-return]
    frame: Any = sys._getframe(depth)
    known = _internal_files
    while frame is not None:
        code = frame.f_code
        internal = known.get(code.co_filename)
        if internal is None:
            internal = is_internal_file(code.co_filename)
        if not internal:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def resolve(position: Position | None) -> SourceInfo | None:
    """Turn a position into a file, a line and a function name."""
    if position is None:
        return None
    code, instruction = position
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if number is not None and start <= instruction < end:
            line = number
            break
    return SourceInfo(code.co_filename, line, getattr(code, "co_qualname", code.co_name))


def where() -> str:
    """Return ' at file.py:41 (function)' for the user's current line, or '' where no user code runs."""
    info = resolve(current_position())
    return f" at {os.path.basename(info.file_name)}:{info.line} ({info.function})" if info else ""


def describe_function(fun: Any) -> str:
    """Return 'name (file.py:41)' for a user's function, or its name or repr where it has no source.

    >>> describe_function(len)
    'len'
    """
    name = getattr(fun, "__name__", None) or getattr(type(fun), "__name__", repr(fun))
    code = getattr(getattr(fun, "__wrapped__", fun), "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else str(name)
