"""`jax.experimental.checkify`: `check` and `checkify` by calque's checks, which raise from the call.

One idea: the error of a failed check is caught around the whole function, so its results are None then, where jax gives
them with the error; inside a compiled function, it comes out of the call of that function.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from functools import wraps
from string import Formatter
from typing import Any

from calque_core import CheckError, config
from calque_core import check as core_check
from calque_pytree import register_pytree_node

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check", "check_error", "checkify",
    "debug_check", "div_checks", "float_checks", "index_checks", "init_error", "nan_checks", "user_checks",
]  # fmt: skip


class ErrorCategory(enum.Enum):
    """Kinds of checks."""

    USER = "user"
    NAN = "nan"
    DIV = "division"
    OOB = "index"


JaxRuntimeError = ValueError
user_checks = frozenset((ErrorCategory.USER,))
nan_checks = frozenset((ErrorCategory.NAN,))
div_checks = frozenset((ErrorCategory.DIV,))
index_checks = frozenset((ErrorCategory.OOB,))
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class Error:
    """The result of the checks of a call: a message, or None."""

    def __init__(self, message: str | None) -> None:
        self.message = message

    def get(self) -> str | None:
        """Return the message of the first check that failed, or None."""
        return self.message

    def throw(self) -> None:
        """Raise ValueError if a check failed."""
        if self.message is not None:
            raise ValueError(self.message)


register_pytree_node(Error, lambda error: ((), error.message), lambda message, _: Error(message))

# The words that calque puts before the message of a check.
_PLACE = re.compile(r"check[^\n]*? failed(?: for element \[[^]]*\] of vmap)?(?: at index \[[^]]*\])?: ")


def check(pred: Any, msg: str, *args: Any, debug: bool = False, **kwargs: Any) -> None:
    """Check that `pred` holds: the call of the program raises otherwise, or `checkify` returns the message.

    >>> error, _ = checkify(lambda x: check(x > 0, "{x} is no length", x=x))(-1)
    >>> error.get()
    '-1 is no length'
    """
    del debug
    names = list(kwargs)
    core_check(pred, _by_position(msg, names, len(args)) if names else msg, *args, *kwargs.values())


debug_check = check
init_error = Error(None)


def _by_position(message: str, names: list[str], first: int) -> str:
    """Return a message whose fields with names have the positions that follow `first`."""
    text, automatic = "", iter(range(first))
    for literal, field, layout, conversion in Formatter().parse(message):
        text += literal.replace("{", "{{").replace("}", "}}")
        if field is not None:
            stem = re.split(r"[.\[]", field, maxsplit=1)[0]
            place = str(next(automatic)) if not stem else str(first + names.index(stem)) if stem in names else stem
            ending = (f"!{conversion}" if conversion else "") + (f":{layout}" if layout else "")
            text += "{" + place + field[len(stem) :] + ending + "}"
    return text


def check_message(error: Exception) -> str:
    """Return the message of a failed check without its place."""
    return _PLACE.sub("", str(error), count=1) if isinstance(error, CheckError) else str(error)


def check_error(error: Error) -> None:
    """Raise the error of a call."""
    error.throw()


def checkify(function: Callable[..., Any], errors: Any = user_checks) -> Callable[..., Any]:
    """Return a function that gives an error beside its result; the result is None where a check failed.

    >>> checkify(lambda x: check(x > 0, "too small"))(1.0)[0].get() is None
    True
    """

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        try:
            with config.debug_nans(ErrorCategory.NAN in errors), config.enable_checks(ErrorCategory.OOB in errors):
                return Error(None), function(*args, **kwargs)
        except (CheckError, FloatingPointError, IndexError, ZeroDivisionError) as error:
            return Error(check_message(error)), None

    return checked
