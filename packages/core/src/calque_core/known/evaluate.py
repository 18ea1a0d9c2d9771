"""Functions whose operations types decide: `by_types`.

One idea: such a function needs to run only until its equations are known.  A trace copies them, or transforms them as
one operation; without a trace they run as straight-line code, which calls NumPy and checks nothing again.

Read next: `operation.py`, for the equations of a function; `run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from calque_core.context import active, here, merely_evaluates
from calque_core.frames.source import mark_wrapper
from calque_core.known.operands import Call, TypedCall
from calque_core.known.operation import Operation, known_of
from calque_core.known.run import StraightLine, is_straight
from calque_core.known.table import Known, KnownOperations
from calque_core.staging.stage import CodeTrace
from calque_core.traces.trace import evaluation

F = TypeVar("F", bound=Callable[..., Any])
Value = Any


def by_types(function: F) -> F:
    """Return `function`, which runs only until its operations are known: types and options decide them.

    After a few calls with arrays of the same types and equal options, a trace may record or transform its operations,
    and NumPy compute them, without a run of `function`; it runs once more on tracers, which tells its operations.  So
    it binds the same operations at each such call, reads nothing that changes, and has no effect.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr
    >>> from calque_core.extend import by_types
    >>> @by_types
    ... def mean_of_squares(x):
    ...     return lax.div(lax.reduce_sum(lax.square(x)), x.size)
    >>> len(make_jaxpr(mean_of_squares)(np.ones(3)).eqns)
    3
    """

    @mark_wrapper
    @wraps(function)
    def known(*args: Any, **options: Any) -> Any:
        if active and not merely_evaluates():
            return here().trace.process_function(function, args, options)
        return evaluate_by_types(function, args, options)

    return known  # type: ignore[return-value]


@mark_wrapper
def evaluate_by_types(function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]) -> Value:
    """Return `function(*args, **options)` in evaluation, by code if its operands are NumPy's arrays of known types.

    >>> import numpy as np
    >>> from calque_core import lax
    >>> from calque_core.engine import evaluate_by_types
    >>> [evaluate_by_types(lax.sin, (np.zeros(2),), {}) for _ in range(3)][-1]
    array([0., 0.])
    """
    return evaluated.call(evaluation, function, args, options)


def _evaluated(*call: Any) -> Known | None:
    """Return a function with the code of its results from arrays; None if it has to run at each call."""
    return known_of(Call(*call), CodeTrace, _code_of)


def _code_of(operation: Operation, _: TypedCall) -> Callable[..., list[Value]] | None:
    if not operation.is_new_array or not is_straight(operation.program):
        return None
    code = StraightLine()
    arguments = code.arguments(operation.program.invars)
    return code.function(arguments, f"[{', '.join(code.results(operation.program))}]")


evaluated = KnownOperations(_evaluated)
