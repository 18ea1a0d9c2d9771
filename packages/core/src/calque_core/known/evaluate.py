"""Functions whose operations types decide: `by_types`.

One idea: such a function needs to run only until its equations are known.  A trace copies them, or transforms them as
one operation; without a trace they run as straight-line code, which calls NumPy and checks nothing again.

Read next: `functions.py`, for the equations of a function; `run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from calque_core.context import active, here, merely_evaluates
from calque_core.frames.source import mark_wrapper
from calque_core.jaxprs.jaxpr import Var
from calque_core.known.functions import add_option, add_options, function_program
from calque_core.known.run import StraightLine, is_straight
from calque_core.known.table import Plans
from calque_core.staging.jit_tracer import JitTracer
from calque_core.staging.stage import CodeTrace
from calque_core.traces.trace import are_canonical, evaluation
from calque_core.types.avals import is_array_like, typeof

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
    >>> from calque_core.extend import evaluate_by_types
    >>> [evaluate_by_types(lax.sin, (np.zeros(2),), {}) for _ in range(3)][-1]
    array([0., 0.])
    """
    key: list[Any] = [function]
    arrays: list[Value] = []
    for x in args:
        if type(x) is np.ndarray and is_array_like(x):
            key.append(typeof(x))
            arrays.append(x)
        elif not add_option(key, x):
            return function(*args, **options)
    if not arrays or (options and not add_options(key, options)) or not are_canonical(arrays):
        return function(*args, **options)
    code = _codes.find(key, function, args, options)
    if code is not None:
        try:
            return code(*arrays)
        except Exception:  # noqa: BLE001, S110  the function raises it again, where the user's line is known
            pass
    return function(*args, **options)


def _code_of(
    function: Callable[..., Value], args: Sequence[Value], options: Mapping[str, Any]
) -> Callable[..., Value] | None:
    """Return a function of the arrays among `args` with the results of `function`; None if it has to run."""
    trace = CodeTrace(evaluation)
    operands = [JitTracer(trace, typeof(x), Var(typeof(x)), None) if type(x) is np.ndarray else x for x in args]
    known = function_program(trace, function, operands, options)
    if known is None or not known.is_new_array or not is_straight(known.program):
        return None
    code = StraightLine()
    arguments = code.arguments(known.program.invars)
    return code.function(arguments, *code.results(known.program))


_codes = Plans(_code_of)
