"""Finding the operation that made a nan or an infinity, while `config.debug_nans` or `config.debug_infs` is on.

One idea: an operation is at fault if a result has a nan (or an infinity) and no operand has one.  Evaluation calls
`check_results` after every operation.  `check_program` checks the results of a compiled program, and evaluates the
program operation by operation if one is bad.  Bad arguments (a missing value, the infinity of a mask) raise nothing.

Read next: `trace.py`, where evaluation calls this; `source.py` for how an equation knows its pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.context import here
from calque_core.errors import MissingRuleError
from calque_core.frames.source import current_position, place_and_pass
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr, Literal, jaxprs_in_params
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.traces.trace import eval_context
from calque_core.types.avals import own_types, typeof
from calque_core.types.dtypes import is_float
from calque_core.types.type_queries import arrays_of

Value = Any
Array = np.ndarray[Any, Any]

_TESTS: dict[str, Callable[[Array], Array]] = {"nan": np.isnan, "inf": np.isinf}


def is_debugging() -> bool:
    """Tell whether the settings of this thread ask for checks of results.

    >>> from calque_core.engine import is_debugging
    >>> is_debugging()
    False
    """
    return here().settings.debug_nans or here().settings.debug_infs


def _kinds() -> list[str]:
    settings = here().settings
    return [kind for kind, is_on in (("nan", settings.debug_nans), ("inf", settings.debug_infs)) if is_on]


def check_results(primitive: Any, args: Sequence[Value], params: dict[str, Any], outs: Sequence[Value]) -> None:
    """Check that an operation made no nan and no infinity that the settings forbid.

    An operation that holds programs is not checked: their operations are.
    Raises: FloatingPointError that names the operation, its operands, the user's line and the pass.
    """
    for kind in _kinds() if is_debugging() else ():
        bad_result = next((x for x in outs if _has(kind, x)), None)
        if bad_result is not None and not any(_has(kind, x) for x in args) and not any(jaxprs_in_params(params)):
            raise FloatingPointError(_message(primitive.name, kind, args, np.asarray(bad_result)))


def check_program(name: str, jaxpr: Jaxpr, args: Sequence[Value], outs: Sequence[Value]) -> None:
    """Check the results of a compiled program; if it made a nan or an infinity, find the operation by evaluation.

    Raises: FloatingPointError, about the operation; about the program, if none of its operations is at fault.
    """
    kinds_in_results = {kind for kind in _TESTS if any(_has(kind, x) for x in outs)}
    kinds = [kind for kind in _kinds() if kind in kinds_in_results]
    if not kinds and "nan" not in kinds_in_results:  # infinities often make a nan
        return
    try:
        # NumPy's warnings say less than our error, and would take its place where warnings are errors.
        with eval_context(), np.errstate(all="ignore"):
            eval_jaxpr(jaxpr, jaxpr.consts, *[np.asarray(x, v.aval.dtype) for x, v in zip(args, jaxpr.invars)])
    except FloatingPointError as error:
        error.add_note(
            f"The compiled program of {name} was run again, operation by operation, to locate this operation."
        )
        raise
    except MissingRuleError as error:
        raise FloatingPointError(
            f"the compiled program of {name} gave {' and '.join(sorted(kinds_in_results))}. The operation that "
            f"made it cannot be located, because '{error.primitive}' has no evaluation rule. Define one: "
            f"{error.primitive}_p.def_impl(fn)."
        ) from error
    inputs = [*args, *_constants(jaxpr)]
    for kind in kinds:
        if not any(_has(kind, x) for x in inputs):
            raise FloatingPointError(
                f"the compiled program of {name} gave {kind}, but no operation gives it when calque runs them "
                "one by one. The compiler computes in another order. Keep intermediate results smaller, or use a "
                "wider dtype."
            )


def _constants(jaxpr: Jaxpr) -> list[Value]:
    """Return the literals and constants of a program and of the programs inside it."""
    programs = list(nested_jaxprs(jaxpr))
    atoms = [x for inner in programs for xs in (*(eqn.invars for eqn in inner.eqns), inner.outvars) for x in xs]
    return [*(x.val for x in atoms if type(x) is Literal), *(const for inner in programs for const in inner.consts)]


def _has(kind: str, x: Value) -> bool:
    if type(x) in own_types:
        return any(_has(kind, array) for array in arrays_of(x))
    return is_float(typeof(x).dtype) and bool(_TESTS[kind](np.asarray(x)).any())


def _message(name: str, kind: str, args: Sequence[Value], result: Array) -> str:
    index = tuple(map(int, np.argwhere(_TESTS[kind](result))[0]))
    operands = " and ".join(_operand(np.asarray(x), result.shape, index) for x in args)
    element = f", element {list(index)} of its result {typeof(result)}" if index else ""
    return (
        f"{name}{f' of {operands}' if operands else ''} gave "
        f"{_number(result[index])}{element}{place_and_pass(current_position())}. Replace operands outside the domain "
        f"of the operation by numpy.where before it, or turn debug_{kind}s off."
    )


def _operand(x: Array, shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """Return the element of an operand at the bad index of the result; its type and range if the shapes differ."""
    if not x.shape:
        return _number(x[()])
    kind: str = str(typeof(x))
    if x.shape == shape:
        return f"{_number(x[index])} (in {kind})"
    if not x.size or x.dtype.kind == "c":
        return kind
    return f"{kind} with values from {_number(x.min())} to {_number(x.max())}"


def _number(x: Value) -> str:
    text: str = str(x if x.dtype.kind in "biufc" else float(x))
    return text
