"""Format strings and their arguments, compared while the arguments may be tracers.

Read next: `debug.py` and `ops/calls/check.py`, whose functions take a format.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from calque_core.frames.source import where


def check_format(caller: str, fmt: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check that the fields of a format are the arguments.  Raises: TypeError, ValueError."""
    if not isinstance(fmt, str):
        raise TypeError(f"{caller}{where()} got a format of type {type(fmt).__name__}. Give a string.")
    fields = _Fields()
    try:
        fields.vformat(fmt, args, kwargs)
    except (IndexError, KeyError) as error:
        raise ValueError(
            f"{caller}{where()} has no argument for the field {error.args[0]!r} of {fmt!r}. Pass it, or double the "
            "braces to print them."
        ) from None
    unused = [f"argument {i}" for i in range(len(args)) if i not in fields.used]
    unused += [repr(name) for name in kwargs if name not in fields.used]
    if unused:
        raise ValueError(
            f"{caller}{where()} has no field for {', '.join(unused)} in its format. Add a field for each, such as "
            "{}, and do not use an f-string: it formats the tracer when the program is traced."
        )


class _Fields(string.Formatter):
    """Finds the arguments that a format shows, without formatting them: they may be tracers."""

    def __init__(self) -> None:
        self.used: set[int | str] = set()

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Note the argument that the field shows, and return no value.  Raises: IndexError or KeyError without it."""
        name = re.split(r"[.\[]", field_name, maxsplit=1)[0]
        key = int(name) if name.isdigit() else name
        if isinstance(key, int) and key >= len(args):
            raise IndexError(key)
        self.get_value(key, args, kwargs)
        self.used.add(key)
        return None, key

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value
