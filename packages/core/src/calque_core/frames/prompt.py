"""A prompt over recorded frames, with the commands of Python's debugger, pdb.

One idea: the program waits in a callback while the user looks at values; the prompt changes nothing.

Read next: `recorded.py`, the frames.
"""

from __future__ import annotations

import bdb
import cmd
import linecache
from collections.abc import Sequence
from pprint import pformat
from typing import Any

from calque_core.frames.recorded import RecordedFrame

_LINES = 5  # that `list` shows before and after the current line


class Prompt(cmd.Cmd):
    """Reads commands from standard input and prints to standard output, until the user continues or quits."""

    prompt = "(calque) "

    def __init__(self, frames: Sequence[RecordedFrame]) -> None:
        super().__init__()
        self.frames = frames  # from the line of the breakpoint outwards
        self.number = 0

    @property
    def frame(self) -> RecordedFrame:
        """The frame that commands look at."""
        return self.frames[self.number]

    def preloop(self) -> None:
        """Show where the program waits."""
        self.show(_place(self.frame))

    def show(self, text: str) -> None:
        """Print a text and a line break."""
        self.stdout.write(f"{text}\n")

    def do_up(self, _: str) -> None:
        """Go to the caller of the function: u, up."""
        self._move(1, "the oldest frame")

    def do_down(self, _: str) -> None:
        """Go to the function that the line calls: d, down."""
        self._move(-1, "the newest frame")

    def _move(self, step: int, end: str) -> None:
        if not 0 <= self.number + step < len(self.frames):
            self.show(f"*** This is {end}.")
            return
        self.number += step
        self.show(_place(self.frame))

    def do_where(self, _: str) -> None:
        """Show all frames, the newest last: w, where, bt."""
        for frame in reversed(self.frames):
            self.show(("> " if frame is self.frame else "  ") + _place(frame)[2:])

    def do_list(self, _: str) -> None:
        """Show the lines around the current line: l, list."""
        lines = linecache.getlines(self.frame.file_name, self.frame.global_names)
        first = max(self.frame.line - _LINES, 1)
        for number, text in enumerate(lines[first - 1 : self.frame.line + _LINES], first):
            arrow = "->" if number == self.frame.line else "  "
            self.show(f"{number:4d} {arrow} {text.rstrip()}".rstrip())

    def do_args(self, _: str) -> None:
        """Show the local variables of the function: a, args."""
        for name, value in self.frame.local_names.items():
            self.show(f"{name} = {value!r}")

    def do_p(self, expression: str) -> None:
        """Show the value of an expression: p x + 1."""
        self._evaluate(expression, repr)

    def do_pp(self, expression: str) -> None:
        """Show the value of an expression over several lines: pp x."""
        self._evaluate(expression, pformat)

    def _evaluate(self, expression: str, text_of: Any) -> None:
        names = {**self.frame.global_names, **self.frame.local_names}
        try:
            text = text_of(eval(expression, names))  # noqa: S307  the user types it here, as in pdb
        except Exception as error:  # noqa: BLE001  of the user's expression: the prompt shows it and goes on
            text = f"*** {type(error).__name__}: {error}"
        self.show(text)

    def do_continue(self, _: str) -> bool:
        """Let the program run on: c, cont, continue."""
        return True

    def do_quit(self, _: str) -> bool:
        """End the program with the exception bdb.BdbQuit: q, quit, exit."""
        raise bdb.BdbQuit

    def do_EOF(self, _: str) -> bool:
        """End of the input: quit."""
        self.show("")
        return self.do_quit("")

    def default(self, line: str) -> None:
        """Name the command that is unknown."""
        self.show(f"*** There is no command {line.split(maxsplit=1)[0]!r}. Type help, or p and an expression.")

    def emptyline(self) -> bool:
        """Do nothing."""
        return False

    do_u, do_d, do_w, do_bt, do_l, do_a = do_up, do_down, do_where, do_where, do_list, do_args
    do_c, do_cont, do_q, do_exit, do_h = do_continue, do_continue, do_quit, do_quit, cmd.Cmd.do_help


def _place(frame: RecordedFrame) -> str:
    """Return '> train.py(41)loss()' and the line, as pdb shows them."""
    line = linecache.getline(frame.file_name, frame.line, frame.global_names).strip()
    return f"> {frame.file_name}({frame.line}){frame.function}()" + (f"\n-> {line}" if line else "")
