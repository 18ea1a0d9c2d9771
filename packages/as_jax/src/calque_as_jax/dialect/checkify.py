"""`jax.experimental.checkify`: `check` is a check of calque's, and `checkify` makes its failure a value.

One idea: an `Error` is a pytree of arrays, the number of the check that failed first and what its message shows; so it
leaves compiled functions and batches as any result does.  Outside of `checkify`, a check raises from the call.

Read next: `checks.py`, which runs a program so.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from string import Formatter
from typing import Any

import numpy as np

from calque_as_jax.dialect.checks import (
    AutomaticMessage,
    Failure,
    outside_p,
    run_with_checks,
    with_automatic_checks,
    without_checks,
)
from calque_as_jax.values import tree_to_arrays
from calque_core import CheckError, is_tracer, lax, stage, typeof
from calque_core import check as core_check
from calque_core.engine import Check, is_array_like
from calque_pytree import PyTreeDef, register_pytree_node, tree_flatten

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
    """The result of the checks of a call: which check failed first, and the operands of all of them.

    Under `vmap` the arrays have axes of batches in front.
    """

    def __init__(self, failure: Failure) -> None:
        self.failure = failure

    def get(self) -> str | None:
        """Return the message of the first check that failed, a line for each failure of a batch; None without one."""
        numbers = np.asarray(self.failure.number)
        if not numbers.ndim:
            return self._message(int(numbers), ()) if numbers else None
        places = zip(*numbers.nonzero())
        lines = [f"at mapped index {', '.join(map(str, i))}: {self._message(int(numbers[i]), i)}" for i in places]
        return "\n".join(lines) or None

    def throw(self) -> None:
        """Raise ValueError if a check failed."""
        check_error(self)

    def __repr__(self) -> str:
        number = self.failure.number
        is_known = hasattr(number, "__array__") and not is_tracer(number)
        return f"Error({self.get() if is_known else number})"

    def _message(self, number: int, place: Any) -> str:
        """Return the words of a check that failed at a place of the batch."""
        made = self.failure.checks[number - 1]
        try:
            made(*[np.asarray(x)[place] for x in self.failure.operands[number - 1]])
        except CheckError as error:
            words = _PLACE.sub("", str(error), count=1)
        return words if type(made.message) is AutomaticMessage else f"{words} (`check` failed)"


register_pytree_node(
    Error,
    lambda error: (error.failure[1:], error.failure.checks),
    lambda checks, arrays: Error(Failure(checks, *arrays)),
)

# The words that calque puts before the message of a check.
_PLACE = re.compile(r"check[^\n]*? failed(?: for element \[[^]]*\] of vmap)?(?: at index \[[^]]*\])?: ")


def check(pred: Any, msg: str, *args: Any, debug: bool = False, **kwargs: Any) -> None:
    """Check that `pred` holds: the call of the program raises otherwise, or `checkify` returns the message.

    >>> error, _ = checkify(lambda x: check(x > 0, "{x} is no length", x=x))(-1)
    >>> error.get()
    '-1 is no length (`check` failed)'
    """
    names = list(kwargs)
    pred = lax.bitwise_or(pred, outside_p.bind()) if debug else pred
    core_check(pred, _by_position(msg, names, len(args)) if names else msg, *args, *kwargs.values())


def debug_check(pred: Any, msg: str, *args: Any, **kwargs: Any) -> None:
    """Check that `pred` holds inside of `checkify`; outside, the check is never made.

    >>> debug_check(False, "never seen")
    """
    check(pred, msg, *args, debug=True, **kwargs)


init_error = Error(Failure((), np.int32(0), ()))


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


def check_error(error: Error) -> None:
    """Raise ValueError if a check failed; in a program, check it there once more, for an outer `checkify`."""
    if not is_tracer(error.failure.number):
        message = error.get()
        if message is not None:
            raise JaxRuntimeError(message)
        return
    for number, (made, operands) in enumerate(zip(error.failure.checks, error.failure.operands), 1):
        _check_again(made, lax.ne(error.failure.number, number), *operands)


def _check_again(made: Check, is_other: Any, predicate: Any, *operands: Any) -> None:
    """Make a check with the operands that it had; it holds where another one failed."""
    batch, shape = typeof(is_other).shape, typeof(predicate).shape
    axes = range(len(batch))
    holds = lax.bitwise_or(predicate, lax.broadcast_in_dim(is_other, shape, axes))
    rows = ((True,) * len(operands),) * len(batch)
    lax.check_p.bind(holds, *operands, check=replace(made, batch=(*rows, *made.batch)))


def checkify(function: Callable[..., Any], errors: Any = user_checks) -> Callable[..., Any]:
    """Return a function that gives an error beside its result, which is there where a check failed, too.

    >>> error, x = checkify(lambda x: check(x > 0, "too small") or 2 * x)(-1.0)
    >>> error.get(), x
    ('too small (`check` failed)', Array(-2., dtype=float32, weak_type=True))
    """
    automatic = frozenset(kind.value for kind in errors if kind is not ErrorCategory.USER)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree_flatten(tree_to_arrays((args, kwargs)))
        arrays = [x for x in leaves if is_array_like(x)]
        out_trees: list[PyTreeDef] = []

        def flat(*arrays: Any) -> list[Any]:
            traced = iter(arrays)
            operands, options = in_tree.unflatten([next(traced) if is_array_like(x) else x for x in leaves])
            outs, out_tree = tree_flatten(function(*operands, **options))
            out_trees.append(out_tree)
            return outs

        jaxpr = stage(flat, [*map(typeof, arrays)], verb="checkify")
        jaxpr = jaxpr if ErrorCategory.USER in errors else without_checks(jaxpr)
        jaxpr = with_automatic_checks(jaxpr, automatic) if automatic else jaxpr
        outs, failure = run_with_checks(jaxpr, *arrays)
        return tree_to_arrays(Error(failure)), out_trees[-1].unflatten(tree_to_arrays(outs))

    return checked
