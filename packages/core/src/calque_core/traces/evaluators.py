"""Evaluation of values that are not NumPy's: array classes with an evaluator, own types, unusual arrays.

One idea: the class of an operand decides who computes.  `EvalTrace` runs implementations on the classes in
`plain_types`; for an operand of another class it asks `evaluate_other`, which refuses tracers.

Read next: `trace.py` for `EvalTrace`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.context import DEFAULT_SETTINGS, entered, here
from calque_core.errors import UnexpectedTracerError
from calque_core.frames.source import where
from calque_core.hooks import result_checks
from calque_core.traces.tracer import Tracer, escape_message
from calque_core.types.avals import NUMPY_SCALARS, _refusal, is_array_like, own_types, reference_types
from calque_core.types.dtypes import canonicalize_dtype, native_array, scalar_dtype
from calque_core.types.numbers import is_number, plain_number
from calque_core.types.stand_in import ShapeDtypeStruct

Value = Any
Evaluator = Callable[[Any, Sequence[Value], dict[str, Any]], list[Value]]
FunctionEvaluator = Callable[[Callable[..., Value], Sequence[Value]], Value]

PYTHON_SCALARS = frozenset((bool, int, float, complex))
plain_types: dict[type, bool] = dict.fromkeys((*PYTHON_SCALARS, np.ndarray, *NUMPY_SCALARS), True)
_evaluators: dict[type, Evaluator] = {}
function_evaluators: dict[type, FunctionEvaluator] = {}


def register_evaluator(array_type: type, evaluator: Evaluator) -> None:
    """Let `evaluator(primitive, args, params) -> list` compute primitives with an operand of class `array_type`.

    Raises: ValueError if the class has one already, or is NumPy's.
    """
    if array_type in _evaluators or array_type in plain_types:
        raise ValueError(f"{array_type.__name__} already has an evaluator. Register a class of your own instead.")
    _evaluators[array_type] = evaluator


def register_function_evaluator(array_type: type, evaluator: FunctionEvaluator) -> None:
    """Let `evaluator(function, args)` return `function(*args)`, where an argument is of class `array_type`.

    A front asks it for functions whose operations depend on the types of their arguments alone, while no task traces
    or has settings of its own; so the evaluator may remember what a function does, and leave its Python out.
    Raises: ValueError if the class has one already.

    >>> from calque_core.extend import register_function_evaluator
    >>> class Tape:
    ...     pass
    >>> register_function_evaluator(Tape, lambda function, args: function(*args))
    """
    if array_type in function_evaluators:
        raise ValueError(
            f"{array_type.__name__} already has an evaluator of functions. Register a class of your own instead."
        )
    function_evaluators[array_type] = evaluator


def evaluate_other(evaluation: Any, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Evaluate operands that are not all NumPy's: refuse tracers, and call the evaluator of a foreign class.

    `evaluation` is the trace that evaluates.
    """
    evaluators = {_evaluators.get(type(x)) for x in args if type(x) not in plain_types}
    evaluator = evaluators.pop() if evaluators else None
    if own_types and any(type(x) in own_types for x in args):
        evaluator = partial(_evaluate_own, evaluation)
    elif reference_types and any(type(x) in reference_types for x in args):
        evaluator = next(_evaluators[type(x)] for x in args if type(x) in reference_types)
    elif evaluator is None or evaluators:
        evaluator = _only_evaluator(evaluation, primitive, args)
        if evaluator is None:
            outs: list[Value] = evaluation.process_primitive(primitive, [_base_array(x) for x in args], params)
            return outs
    context = here()
    if context.trace is evaluation:
        outs = evaluator(primitive, args, params)
    else:
        with entered(evaluation):  # `hand_down` does not switch for a leaf, but an evaluator may bind primitives
            outs = evaluator(primitive, args, params)
    if context.settings is not DEFAULT_SETTINGS:
        for check in result_checks():
            check(primitive, args, params, outs)
    return outs


def _evaluate_own(evaluation: Any, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Evaluate an operation on a value of an own type, whose arrays decide how they compute."""
    for x in args:
        if isinstance(x, Tracer):
            raise UnexpectedTracerError(escape_message(x, evaluation))
    out = primitive.impl(*args, **params)
    return out if primitive.multiple_results else [out]


def _only_evaluator(evaluation: Any, primitive: Any, args: Sequence[Value]) -> Evaluator | None:
    """Return the evaluator of the foreign class among operands, None if all are NumPy's.

    Raises: UnexpectedTracerError for a tracer; TypeError for two foreign classes, and for values that are no arrays.
    """
    foreign: dict[Evaluator, type] = {}
    for x in args:
        if isinstance(x, Tracer):
            raise UnexpectedTracerError(escape_message(x, evaluation))
        evaluator = _evaluators.get(type(x))
        if evaluator is not None:
            foreign[evaluator] = type(x)
        elif not is_array_like(x):
            raise TypeError(f"{primitive.name}{where()}: {_refusal(x)}")
    if len(foreign) > 1:
        names = " and ".join(sorted(t.__name__ for t in foreign.values()))
        raise TypeError(
            f"{primitive.name}{where()} got operands of the classes {names}. Convert them to one of the two."
        )
    return next(iter(foreign), None)


def _base_array(x: Value) -> Value:
    """Return an unusual value (of a subclass, of another byte order, ...) as a plain array or number."""
    if type(x) in plain_types and (type(x) is not np.ndarray or x.dtype.isnative):
        return x
    if is_number(x):
        return plain_number(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return native_array(x).view(np.ndarray)
    raise TypeError(no_value_message(x))


def no_value_message(x: Value) -> str:
    """Return the message for a value that cannot be computed with: a stand-in, or a value of an unknown class."""
    if isinstance(x, ShapeDtypeStruct):
        return f"{x!r} is a type and has no elements. Pass an array, or trace the function with make_jaxpr."
    return (
        f"an operand of class {type(x).__name__} cannot be evaluated. Give the class an evaluator, with "
        f"calque_core.register_evaluator({type(x).__name__}, evaluator)."
    )


def canonical_value(x: Value) -> Value:
    """Return `x` in the dtype that the current settings give it; Python scalars become NumPy scalars."""
    if type(x) in PYTHON_SCALARS:
        return scalar_dtype(type(x)).type(x)
    dtype = canonicalize_dtype(x.dtype)
    return x if dtype == x.dtype else x.astype(dtype)


def are_canonical(args: Sequence[Value]) -> bool:
    """Tell whether NumPy's values among `args` have the dtypes that the current settings give them.

    >>> import numpy as np
    >>> from calque_core.config import enable_x64
    >>> from calque_core.traces.evaluators import are_canonical
    >>> with enable_x64(False):
    ...     are_canonical([np.float32(1.0), 1.0]), are_canonical([np.float64(1.0)])
    (True, False)
    """
    if here().settings.enable_x64:
        return True
    return all(canonicalize_dtype(x.dtype) == x.dtype for x in args if isinstance(x, (np.ndarray, np.generic)))
