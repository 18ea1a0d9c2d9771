"""Frames of the user's program, recorded: the line that runs and the local variables, to look at later.

One idea: a frame changes while its function runs and keeps its callers alive, so a record holds a copy of its names.

Read next: `prompt.py`, which shows records; `debug.py`, which puts the values of a run into them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

from calque_core.frames.source import is_array_library_file, is_internal_file, user_frame


@dataclass(frozen=True, slots=True, eq=False)
class RecordedFrame:
    """A line of the user's program, with the names that it can read."""

    file_name: str
    line: int
    function: str
    local_names: dict[str, Any]
    global_names: dict[str, Any]


def record_frames(filter_frames: bool, num_frames: int | None) -> list[RecordedFrame]:
    """Return the frames from the user's line outwards, at most `num_frames`.

    With `filter_frames`, frames of calque and of libraries that registered themselves are left out.
    """
    frames = (
        frame for frame in _outwards(user_frame() or sys._getframe()) if not (filter_frames and _is_hidden(frame))
    )
    return [_record(frame) for frame in islice(frames, num_frames)]


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_hidden(frame: FrameType) -> bool:
    file_name = frame.f_code.co_filename
    return is_internal_file(file_name) or is_array_library_file(file_name)


def _record(frame: FrameType) -> RecordedFrame:
    code, is_module = frame.f_code, frame.f_locals is frame.f_globals
    local_names = {} if is_module else dict(frame.f_locals)
    return RecordedFrame(code.co_filename, frame.f_lineno, code.co_qualname, local_names, frame.f_globals)
