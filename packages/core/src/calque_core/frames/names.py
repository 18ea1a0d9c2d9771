"""Names of users' functions, which may be any objects that can be called.

One idea: a name is for messages alone, so an object whose name is no text, or whose attributes raise errors, is called
all the same.

Read next: `source.py`, which adds the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import WRAPPER_ASSIGNMENTS, partial
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def name_of(fun: Any, default: str | None = None) -> str:
    """Return the name of a function; `default`, or the name of its class, where it has none.

    >>> from calque_core.engine import name_of
    >>> name_of(len), name_of(print.__call__), name_of(5), name_of(5, "")
    ('len', '__call__', 'int', '')
    """
    if type(fun) is FunctionType:
        return fun.__name__
    name = None
    with suppress(Exception):
        name = fun.__name__
    return name if isinstance(name, str) else type(fun).__name__ if default is None else default


def named_after(fun: Any, has_attributes: bool = True) -> Callable[[F], F]:
    """Return a decorator like `functools.wraps`, for any object that can be called.

    A name that is no text is left out, and so is an attribute that raises an error when it is read.  With
    `has_attributes`, the user's attributes are copied, too.

    >>> from calque_core.engine import named_after
    >>> @named_after(5)
    ... def function(x):
    ...     return x
    >>> function.__name__, function.__wrapped__
    ('function', 5)
    """
    return partial(_named, fun, has_attributes)


def _named(fun: Any, has_attributes: bool, function: F) -> F:
    for attribute in WRAPPER_ASSIGNMENTS:
        with suppress(Exception):
            setattr(function, attribute, getattr(fun, attribute))
    if has_attributes:
        with suppress(Exception):
            function.__dict__.update(fun.__dict__)
    function.__wrapped__ = fun  # type: ignore[attr-defined]
    return function
