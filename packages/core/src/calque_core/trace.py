"""Traces and tracers: who handles the operations of a thread right now.

One idea: a thread has one current trace.  `bind` gives it the primitive, and the trace decides: compute (evaluation, at
the bottom), record (staging), or apply a rule in the context of its parent (the transformations).  A value belongs to a
trace if `x._trace is trace`; to every other trace it is a constant.

To write a transformation, subclass `Trace` and `Tracer`, and run the function under `tracing(trace)`.
Read next: `primitive.py` for `bind` and the rule tables, `stage.py` for the trace that records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, index
from typing import Any

import numpy as np

from calque_core.array_methods import ArrayMethods
from calque_core.avals import NUMPY_SCALARS, ShapeDtypeStruct, _aval_functions, _refusal, is_array_like
from calque_core.context import DEFAULT_SETTINGS, Context, context, entered
from calque_core.dtypes import canonicalize_dtype, scalar_dtype
from calque_core.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from calque_core.source import Position, current_position, describe_function, resolve, where

Value = Any
Params = Mapping[str, Any]


class Trace:
    """What handles primitives while it is current.  `parent` is the trace that its own results come from.

    A subclass must give `process_primitive`.  It is entered with `tracing(trace)`, which also closes it: a tracer of a
    closed trace is refused everywhere.
    """

    verb = ""  # what the user calls this transformation; without one, messages name the class

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent
        self.thread = threading.get_ident()
        self.is_open = False
        self.is_closed = False
        self.fun: Any = None
        self.position: Position | None = None

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Return the results of `primitive` on `args`, which may hold tracers of this trace, as a list."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define process_primitive. It is the one method that a trace must give."
        )

    def close(self) -> None:
        """End the trace: its tracers are refused from here on."""
        self.is_open, self.is_closed = False, True

    def explain_refused_write(self, error: ValueError) -> None:
        """Add to NumPy's error for writing into a read-only array that this trace made it so, if it did."""

    def describe(self) -> str:
        """Return 'vmap of loss (train.py:41)', for messages."""
        verb = self.verb or type(self).__name__
        return f"{verb} of {describe_function(self.fun)}" if self.fun is not None else verb


class EvalTrace(Trace):
    """The bottom: a primitive's implementation runs on values."""

    verb = "evaluation"

    def __init__(self) -> None:
        super().__init__(None)
        self.is_open = True

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        for x in args:
            if type(x) not in plain_types:
                return _evaluate_other(primitive, args, params)
        if context.settings is not DEFAULT_SETTINGS:
            args = [canonical_value(x) for x in args]
        if primitive.is_leaf or context.trace is self:
            out = primitive.impl(*args, **params)
        else:
            with entered(self):
                out = primitive.impl(*args, **params)
        return out if primitive.multiple_results else [out]


evaluation = EvalTrace()
Context.trace = evaluation


def current_trace() -> Trace:
    """Return the trace that handles the operations of this thread.

    >>> current_trace() is evaluation
    True
    """
    return context.trace  # type: ignore[no-any-return]


class tracing(entered):
    """Make `trace` current for a `with` block, and close it afterwards if this block opened it."""

    __slots__ = ("opened",)

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)

    def __enter__(self) -> Any:
        if self.trace.is_closed:
            raise UnexpectedTracerError(f"{self.trace.describe()} has ended. Make a new trace for a new run.")
        self.opened = not self.trace.is_open
        self.trace.is_open = True
        if self.trace.position is None:
            self.trace.position = current_position()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        try:
            super().__exit__(*exception)
            if isinstance(exception[1], ValueError) and "read-only" in str(exception[1]):
                self.trace.explain_refused_write(exception[1])
        finally:
            if self.opened:
                self.trace.close()


def hand_down(trace: Trace, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Let another trace process a primitive, current for the duration; return the list of its results.

    Evaluating a leaf (an implementation that binds nothing) needs no switch: that saves 0.2 us of 0.7.
    """
    if trace is evaluation and primitive.is_leaf:
        return evaluation.process_primitive(primitive, args, params)
    before = context.trace
    context.trace = trace
    try:
        return trace.process_primitive(primitive, args, params)
    finally:
        context.trace = before


def eval_context() -> entered:
    """Make evaluation current for a `with` block, whatever is being traced around it."""
    return entered(evaluation)


class _CompileTimeTrace(Trace):
    """Computes what involves no tracer at once, and leaves the rest to the trace around it."""

    verb = "ensure_compile_time_eval"

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        assert self.parent is not None
        target = self.parent if any(isinstance(x, Tracer) for x in args) else evaluation
        return hand_down(target, primitive, args, params)


def ensure_compile_time_eval() -> tracing:
    """Compute operations on known values while tracing, for a `with` block; those on tracers are traced as ever."""
    return tracing(_CompileTimeTrace(current_trace()))


def trace_state_clean() -> bool:
    """Tell whether this thread merely evaluates.

    >>> trace_state_clean()
    True
    """
    return context.trace is evaluation


plain_types: dict[type, bool] = dict.fromkeys((bool, int, float, complex, np.ndarray, *NUMPY_SCALARS), True)

Evaluator = Callable[[Any, Sequence[Value], dict[str, Any]], list[Value]]
_evaluators: dict[type, Evaluator] = {}


def register_evaluator(array_type: type, evaluator: Evaluator) -> None:
    """Let `evaluator(primitive, args, params) -> list` compute primitives with an operand of class `array_type`.

    Raises: ValueError if the class has one already, or is NumPy's.
    """
    if array_type in _evaluators or array_type in plain_types:
        raise ValueError(f"{array_type.__name__} has an evaluator already. Register a class of your own instead.")
    _evaluators[array_type] = evaluator


def _evaluate_other(primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Evaluate operands that are not all NumPy's: refuse tracers, find the evaluator of a foreign class."""
    found: dict[Evaluator, type] = {}
    for x in args:
        if isinstance(x, Tracer):
            raise UnexpectedTracerError(escaped(x, evaluation))
        evaluator = _evaluators.get(type(x))
        if evaluator is not None:
            found[evaluator] = type(x)
        elif not is_array_like(x):
            raise TypeError(f"{primitive.name}{where()}: {_refusal(x)}")
    if len(found) > 1:
        names = " and ".join(sorted(t.__name__ for t in found.values()))
        raise TypeError(
            f"{primitive.name}{where()} got operands of the classes {names}. Convert them to one of the two."
        )
    if not found:
        return evaluation.process_primitive(primitive, [_base_array(x) for x in args], params)
    evaluator = next(iter(found))
    if context.trace is evaluation:
        return evaluator(primitive, args, params)
    with entered(evaluation):  # `hand_down` does not switch for a leaf, but an evaluator may bind what it likes
        return evaluator(primitive, args, params)


def _base_array(x: Value) -> Value:
    """Return an unusual NumPy value (a subclass, an ml_dtypes scalar, ...) as a plain array, others as they are."""
    if type(x) in plain_types:
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x).view(np.ndarray)
    raise TypeError(valueless(x))


def valueless(x: Value) -> str:
    """Return the message for something with a type that nobody can compute with: a stand-in, an unknown class."""
    if isinstance(x, ShapeDtypeStruct):
        return f"{x!r} stands for a type and has no elements. Pass an array, or trace the function with make_jaxpr."
    return (
        f"an operand of class {type(x).__name__} cannot be evaluated. Give the class an evaluator: register_evaluator."
    )


def canonical_value(x: Value) -> Value:
    """Return `x` in the dtype it has under the current settings; Python scalars get theirs."""
    kind = type(x)
    if kind is float or kind is int or kind is complex or kind is bool:
        return scalar_dtype(kind).type(x)
    dtype = canonicalize_dtype(x.dtype)
    return x if dtype == x.dtype else x.astype(dtype)


class Tracer(ArrayMethods):
    """A value under a trace.  A subclass says what it knows: at least `aval`."""

    __slots__ = ("__weakref__", "_trace")

    _trace: Trace
    aval: Any

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _aval_functions[cls] = attrgetter("aval")

    @property
    def known_value(self) -> Value:
        """The value that Python control flow may look at, or `unknown`."""
        return unknown

    @property
    def origin(self) -> Position | None:
        """Where in the user's program this value was made, as far as is known."""
        return self._trace.position

    def __bool__(self) -> bool:
        return bool(_known(self, "bool()", TracerBoolConversionError))

    def __int__(self) -> int:
        return int(_known(self, "int()", TracerIntegerConversionError))

    def __index__(self) -> int:
        return index(_known(self, "an integer", TracerIntegerConversionError))

    def __float__(self) -> float:
        raise ConcretizationTypeError(_conversion_message(self, "float()", _ALWAYS))

    def __complex__(self) -> complex:
        raise ConcretizationTypeError(_conversion_message(self, "complex()", _ALWAYS))

    def item(self, *_: int) -> Any:
        """Refuse: a Python number would drop out of the transformation."""
        raise ConcretizationTypeError(_conversion_message(self, "a Python number (.item())", _ALWAYS))

    def tolist(self) -> Any:
        """Refuse: Python numbers would drop out of the transformation."""
        raise ConcretizationTypeError(_conversion_message(self, "a list of Python numbers (.tolist())", _ALWAYS))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TracerArrayConversionError(_conversion_message(self, "a NumPy array", _STACK))

    def __reduce__(self) -> Any:
        raise UnexpectedTracerError(
            f"a traced value of type {self.aval} cannot be pickled: it means something only inside "
            f"{self._trace.describe()}. Return it from the function, and store the result."
        )

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, _: Any) -> Tracer:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval!r})"


def is_tracer(x: object) -> bool:
    """Tell whether `x` stands for a value under some trace.

    >>> is_tracer(1.0)
    False
    """
    return isinstance(x, Tracer)


unknown = object()
_ALWAYS = "The number would drop out of the transformation, and its derivative with it. Keep it an array"
_STACK = (
    "The array would drop out of the transformation. "
    "Build arrays of traced values with numpy.stack or numpy.concatenate"
)
_STAGED = (
    "The value is not known here. "
    "Use lax.cond, lax.select or numpy.where, or make the value that decides it static (static_argnums)"
)


def _known(x: Tracer, wanted: str, error: type[Exception]) -> Any:
    _check_usable(x)
    value = x.known_value
    if value is unknown:
        raise error(_conversion_message(x, wanted, _STAGED))
    return value


def _check_usable(x: Tracer) -> None:
    """Check that the trace of `x` is open and of this thread, where no trace is there to ask."""
    if x._trace.is_closed or x._trace.thread != threading.get_ident():
        raise UnexpectedTracerError(escaped(x, context.trace))


def _conversion_message(x: Tracer, wanted: str, advice: str) -> str:
    _check_usable(x)
    depends = getattr(x._trace, "dependence", lambda _: "")(x)
    return (
        f"{wanted} was asked of a traced value of type {x.aval}{where()}, under {x._trace.describe()}{depends}. "
        f"ShapedArray can't be unambiguously converted to {wanted.removesuffix('()')}. {advice}."
    )


def escaped(x: Tracer, seen_by: Trace) -> str:
    """Return the message for a tracer that turned up where it does not belong."""
    trace = x._trace
    if trace.is_closed:
        what = f"its trace, {trace.describe()}, has ended"
    elif trace.thread != threading.get_ident():
        what = f"it belongs to {trace.describe()} in another thread"
    else:
        what = f"it belongs to {trace.describe()}, which {seen_by.describe()} does not run under"
    origin = resolve(x.origin)
    made = f" It was made at {origin}." if origin else ""
    return (
        f"an escaped tracer of type {x.aval} was used{where()}: {what}.{made} "
        "Return values from a transformed function instead of storing them in a global, an attribute, a cache or a "
        "closure."
    )


def check_lift(x: Tracer, into: Trace) -> None:
    """Check that `x` may be a constant of the trace `into`: open, of this thread, and below it.

    Raises: UnexpectedTracerError, with the place where `x` was made.
    """
    trace = x._trace
    if trace.is_open and trace.thread == into.thread:
        below = into.parent
        while below is not None:
            if below is trace:
                return
            below = below.parent
    raise UnexpectedTracerError(escaped(x, into))


def started(trace: Trace, fun: Any) -> Trace:
    """Note which function a trace runs and where it was started, for messages."""
    trace.fun, trace.position = fun, current_position()
    return trace
