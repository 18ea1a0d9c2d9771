"""`jax.experimental.checkify`: `check` and `checkify` by calque's checks, which raise from the call.

One idea: the error of a failed check is caught around the whole function, so its results are None then, where jax gives
them with the error.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import wraps
from typing import Any

from calque_core import CheckError, config
from calque_core import check as core_check

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check", "check_error", "checkify",
    "div_checks", "float_checks", "index_checks", "nan_checks", "user_checks",
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


def check(pred: Any, msg: str, *args: Any, debug: bool = False, **kwargs: Any) -> None:
    """Check that `pred` holds: the call of the program raises otherwise, or `checkify` returns the message."""
    del debug
    core_check(pred, msg, *args, **kwargs)


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
            return Error(str(error)), None

    return checked
