"""Looking at values while a program runs: `print` and `callback`.

One idea: they are calls to Python with an effect, so that they work the same in plain evaluation, under every
transformation and in compiled programs, and are never removed.

Read next: `ops/callback.py`, their primitive.
"""

from __future__ import annotations

import builtins
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.ops.callback import bind_debug_callback

__all__ = ["callback", "print"]


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
    f-string, which has no fields left.  `ordered`, `vmap` and derivatives are as for `callback`.
    Raises: TypeError if `fmt` is no string; ValueError that names the arguments without a field, and the fields without
    an argument.

    >>> from calque_core import debug, make_jaxpr
    >>> debug.print("loss {:.2f} at {step}", 1.0, step=3)
    loss 1.00 at 3
    """
    _check_format(fmt, args, kwargs)
    bind_debug_callback("debug.print", _Printer(fmt), args, kwargs, ordered)


class _Printer:
    """Prints values in a format.  Printers of one format are equal, so that equal programs stay equal."""

    __slots__ = ("__weakref__", "fmt")
    __name__ = "print"

    def __init__(self, fmt: str) -> None:
        self.fmt = fmt

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        builtins.print(self.fmt.format(*args, **kwargs))  # noqa: T201  what the user asks for

    def __eq__(self, other: object) -> bool:
        return type(other) is _Printer and other.fmt == self.fmt

    def __hash__(self) -> int:
        return hash(self.fmt)


def _check_format(fmt: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check that the fields of a format are the arguments.  Raises: TypeError, ValueError."""
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print{where()} got a format of type {type(fmt).__name__}. Give a string.")
    fields = _Fields()
    try:
        fields.vformat(fmt, args, kwargs)
    except (IndexError, KeyError) as error:
        raise ValueError(
            f"debug.print{where()} has no argument for the field {error.args[0]!r} of {fmt!r}. Pass it, or double the "
            "braces to print them."
        ) from None
    unused = [f"argument {i}" for i in range(len(args)) if i not in fields.used]
    unused += [repr(name) for name in kwargs if name not in fields.used]
    if unused:
        raise ValueError(
            f"debug.print{where()} has no field for {', '.join(unused)} in its format. Add a field for each, such as "
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
