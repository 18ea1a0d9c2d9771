"""Format strings and their arguments, compared while the arguments may be tracers.

Read next: `debug.py` and `ops/calls/check.py`, whose functions take a format.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from calque_core.frames.source import where


def check_format(caller: str, fmt: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check that the fields of a format are the arguments.  Raises: TypeError, ValueError."""
    if not isinstance(fmt, str):
        raise TypeError(f"{caller}{where()} got a format of type {type(fmt).__name__}. Give a string.")
    problem = _problem(fmt, len(args), tuple(kwargs))
    if problem:
        raise ValueError(f"{caller}{where()} {problem}")


@lru_cache(maxsize=256)  # a check or a print that is evaluated often: 0.2 us in the place of 5
def _problem(fmt: str, count: int, names: Sequence[str]) -> str:
    """Return what is wrong with a format of `count` arguments and of `names`, and what to do; '' if nothing is."""
    fields = _Fields()
    try:
        fields.vformat(fmt, (None,) * count, dict.fromkeys(names))
    except (IndexError, KeyError) as error:
        return (
            f"has no argument for the field {error.args[0]!r} of {fmt!r}. Pass it, or double the braces to print them."
        )
    unused = [f"argument {i}" for i in range(count) if i not in fields.used]
    unused += [repr(name) for name in names if name not in fields.used]
    if not unused:
        return ""
    return (
        f"has no field for {', '.join(unused)} in its format. Add a field for each, such as {{}}, and do not use an "
        "f-string: it formats the tracer when the program is traced."
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
