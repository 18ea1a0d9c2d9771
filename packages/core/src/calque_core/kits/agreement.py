"""Checks that an operation refuses the same calls, and gives the same types, whether it is evaluated or traced.

One idea: the type rule is asked first; evaluation must give arrays of these types, or refuse where the rule does.

Read next: `testing.py`, the page of all checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from calque_core.frames.names import name_of
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.types.avals import is_array_like, typeof
from calque_pytree import tree_leaves

Value = Any
_UNFORESEEN = (IndexError, AttributeError, KeyError, AssertionError)


class Operand(NamedTuple):
    """An argument of `check_calls` that is traced where it can be; other arguments of a call are static."""

    value: Value


def check_calls(fun: Callable[..., Any], pools: Iterable[Iterable[Any]]) -> None:
    """Call `fun` evaluated and traced with each combination of arguments, one from each pool.

    Both calls must give the same types, or errors of one class with the same first line, places left out.  An
    `Operand` is traced if it holds an array or a number.
    Raises: AssertionError with the first call that differs, or that raises an IndexError, AttributeError, KeyError or
    AssertionError, which say that nobody has looked at the arguments.

    >>> from calque_core.lax import expand_dims
    >>> from calque_core.testing import Operand, check_calls
    >>> check_calls(expand_dims, [[Operand(1.0), Operand("text")], [(0,), (5,), None]])
    """
    for arguments in product(*pools):
        evaluated, traced = _both_outcomes(fun, arguments)
        if evaluated != traced:
            raise AssertionError(
                f"{_call_text(fun, arguments)} gives {evaluated}, but {traced} while it is traced. Make them agree."
            )
        if isinstance(evaluated, tuple) and evaluated[0] in _UNFORESEEN:
            kind, words = evaluated
            raise AssertionError(
                f"{_call_text(fun, arguments)} raises {kind.__name__}: {words}. Check the arguments before their use."
            )


def _call_text(fun: Callable[..., Any], arguments: Sequence[Any]) -> str:
    return f"{name_of(fun)}{tuple(x.value if isinstance(x, Operand) else x for x in arguments)}"


def _both_outcomes(fun: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Any]:
    values = [x.value if isinstance(x, Operand) else x for x in arguments]
    places = [i for i, x in enumerate(arguments) if isinstance(x, Operand) and _is_traceable(x.value)]

    def traced(*tracers: Value) -> Any:
        filled = dict(zip(places, tracers))
        return fun(*[filled.get(i, value) for i, value in enumerate(values)])

    return (
        _outcome(lambda: [typeof(x) for x in tree_leaves(fun(*values))]),
        _outcome(lambda: make_jaxpr(traced)(*[values[i] for i in places]).out_avals),
    )


def _is_traceable(x: Value) -> bool:
    try:
        return is_array_like(x) and bool(typeof(x))
    except OverflowError:  # an integer that no dtype holds
        return False


def _outcome(call: Callable[[], Sequence[Any]]) -> Any:
    """Return the types that a call gives, or the class and the words of its error, without places."""
    try:
        return [(aval.shape, aval.dtype) for aval in call()]
    except Exception as error:  # noqa: BLE001 -- any class of error is an outcome
        words = re.sub(r" at \S+:\d+( \([^()]*\))?", "", str(error).split("\n")[0])
        return type(error), words.replace("~", "")  # a Python scalar is weak where it is traced alone


def check_types(fun: Callable[[Value], Any], x: Value) -> None:
    """Check that evaluation of `fun` at an array gives an array of the type that the type rules say, or refuses it too.

    `fun` has one result.  Its program is evaluated as well.
    Raises: AssertionError with both types, or the classes of the errors.

    >>> import numpy as np
    >>> from calque_core.lax import sin
    >>> from calque_core.testing import check_types
    >>> check_types(sin, np.ones(2, np.float16))
    """
    program, out = _result_or_error(make_jaxpr(fun), x), _result_or_error(fun, x)
    if isinstance(program, type) or isinstance(out, type):
        _require_equal("evaluation", out, program)
        return
    (aval,) = program.out_avals
    (again,) = eval_jaxpr(program, program.consts, x.astype(program.in_avals[0].dtype))
    for evaluation, result in (("evaluation", out), ("evaluation of the program", again)):
        if not isinstance(result, (np.ndarray, np.generic)):
            raise AssertionError(f"{evaluation} gives {result!r}, which is not an array of NumPy. Return one.")
        _require_equal(evaluation, (result.dtype, result.shape), (aval.dtype, aval.shape))


def _result_or_error(fun: Callable[[Value], Any], x: Value) -> Any:
    """Return the result of `fun`, or TypeError or ValueError, the class of its error."""
    try:
        return fun(x)
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


def _require_equal(evaluation: str, actual: Any, expected: Any) -> None:
    if actual is not expected and actual != expected:
        raise AssertionError(f"{evaluation} gives {actual}, but the type rules give {expected}. Make them agree.")
