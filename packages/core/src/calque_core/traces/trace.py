"""Traces: the objects that process the operations of a thread.

One idea: a thread has one current trace.  `bind` hands it the primitive, and the trace computes (evaluation, at the
bottom), records (staging), or applies a rule under its parent (the transformations).  A value belongs to a trace if
`x._trace is trace`; for every other trace it is a constant.

To write a transformation, subclass `Trace` and `Tracer`, and run the function under `tracing(trace)`; `ValueTrace` does
most of the work.

Read next: `tracer.py` for the values under a trace, `primitive.py` for `bind` and the rule tables, `stage.py` for the
trace that records, `value_trace.py` for your own transformations.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from numpy import ndarray

from calque_core.context import DEFAULT_SETTINGS, RESTING, entered, here, own_context
from calque_core.errors import ConcretizationTypeError, UnexpectedTracerError, add_remedy
from calque_core.frames.recursion import refuse_endless_binding
from calque_core.frames.source import Position, current_position, describe_function, mark_wrapper, where
from calque_core.hooks import close_check, result_checks
from calque_core.traces.evaluators import PYTHON_SCALARS, canonical_value, evaluate_other, plain_types
from calque_core.traces.own_results import own_results
from calque_core.traces.tracer import Tracer

Value = Any
T = TypeVar("T", bound="Trace")
Params = Mapping[str, Any]


class Trace:
    """Processes primitives while it is current.  `parent` is the trace that computes its results.

    A subclass must define `process_primitive`.  `tracing(trace)` enters and closes a trace; a tracer of a closed trace
    is refused everywhere.
    """

    verb = ""  # the name of the transformation in messages; if empty, they name the class
    drops_custom_derivatives = False  # whether a function's operations may replace its derivative rules
    known: Any = None  # the table of known operations, `KnownOperations`, if the transformation has one here
    recording: Any = None  # the class of the trace that records the equations of known operations; None: they run
    tracer_type: type | None = None  # the class of its tracers
    form: Any = None  # the function from a tracer to its part of a key; None: the type of the tracer
    captures: Any = None  # the user's arrays that the trace refers to, if it keeps values
    tag: object = None  # shared by traces of one transformation: they own each other's tracers
    is_open = is_closed = False
    fun: Any = None  # the user's function and the position of the call, for messages
    position: Position | None = None

    def __init__(self, parent: Trace | None) -> None:
        self.parent, self.thread = parent, get_ident()

    @property
    def main(self) -> object:
        """What tells the traces of one transformation from others: the tag that they share, or the trace itself."""
        return self if self.tag is None else self.tag

    def process_primitive(self, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Return the results of `primitive` on `args`, which may hold tracers of this trace, as a list."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define process_primitive. Every trace must define this method."
        )

    def process_custom_derivative(
        self, primitive: Any, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        """Return the results of `fun` on `args`, a function with derivative rules of its own: `params["rules"]`.

        A trace that hands the call to its parent adapts the rules to the arguments of the parent.  The default
        processes the operations of `fun` if no trace below can ask for a derivative; otherwise it raises, because the
        rules would be lost.
        Raises: NotImplementedError.
        """
        if not self.drops_custom_derivatives and not only_evaluates(self.parent):
            raise NotImplementedError(
                f"{type(self).__name__} has no method for the derivative rules of {params['rules'].name}{where()}, but "
                f"an outer transformation may need them. Define {type(self).__name__}.process_custom_derivative; or "
                "set drops_custom_derivatives = True, so that the function's operations are differentiated instead."
            )
        return list(fun(*args))

    @mark_wrapper
    def process_function(self, function: Callable[..., Value], args: Sequence[Value], options: Params) -> Value:
        """Return `function(*args, **options)`, a function whose operations depend on types and options alone."""
        known = self.known
        return function(*args, **options) if known is None else known.call(self, function, args, options)

    def owns(self, x: Value) -> bool:
        """Tell whether `x` is a tracer of this trace; any other value is a constant to it."""
        return isinstance(x, Tracer) and (x._trace is self or (self.tag is not None and x._trace.tag is self.tag))

    def close(self) -> None:
        """End the trace: its tracers are refused from here on."""
        self.is_open, self.is_closed = False, True
        self.known = None
        self.process_primitive = _evaluate_instead  # type: ignore[method-assign]

    def explain_refused_write(self, error: ValueError) -> None:
        """Say in NumPy's error for a write into a read-only array what to do, if this trace made it read-only."""

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
            kind = type(x)
            if kind not in plain_types or (kind is ndarray and not x.dtype.isnative):
                return evaluate_other(self, primitive, args, params)
        is_resting = here().settings is DEFAULT_SETTINGS
        if not is_resting and not (primitive.weak_kinds and all(type(x) in PYTHON_SCALARS for x in args)):
            kept = PYTHON_SCALARS if primitive.takes_weak else ()
            args = [x if type(x) in kept else canonical_value(x) for x in args]
        if primitive.is_leaf or here().trace is self:
            out = primitive.impl(*args, **params)
        else:
            with entered(self):
                out = primitive.impl(*args, **params)
        outs = out if primitive.multiple_results else [out]
        if not is_resting:
            for check in result_checks():
                check(primitive, args, params, outs)
        return outs

    def run_known(self, code: Callable[..., Value], operands: Sequence[Value]) -> Value:
        """Return the result of the code of a known operation on NumPy's arrays."""
        return code(*operands)

    @mark_wrapper
    def process_function(self, function: Callable[..., Value], args: Sequence[Value], options: Params) -> Value:
        """Return the results of a function, in the dtypes and of the class of evaluation's results."""
        return own_results(args, options, function(*args, **options))


evaluation = EvalTrace()
RESTING.trace = evaluation


def current_trace() -> Trace:
    """Return the trace that handles the operations of this thread.

    >>> from calque_core import current_trace, evaluation
    >>> current_trace() is evaluation
    True
    """
    trace: Trace = here().trace
    return _leave_closed_trace() if trace.is_closed else trace


def _evaluate_instead(primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Evaluate: a closed trace may still be current in a task that started while it was open."""
    _leave_closed_trace()
    return evaluation.process_primitive(primitive, args, params)


def _leave_closed_trace() -> Trace:
    context = own_context()
    if context.trace.is_closed:
        context.trace = evaluation
    return evaluation


class tracing(entered, Generic[T]):
    """Make `trace` current for a `with` block, and close it afterwards if this block opened it."""

    __slots__ = ("opened",)

    def __init__(self, trace: T) -> None:
        # As in `entered`; to call it takes 0.1 us more.
        self.trace, self.settings, self.axis_env, self.varying_axes = trace, None, None, None
        self.inner = self.presence = self.net = None
        self.opened = False

    def __enter__(self) -> T:
        if self.trace.is_closed:
            raise UnexpectedTracerError(f"{self.trace.describe()} has ended. Make a new trace for each run.")
        self.opened = not self.trace.is_open
        self.trace.is_open = True
        if self.opened and self.trace.position is None:
            self.trace.position = current_position()
        return entered.__enter__(self)  # type: ignore[no-any-return]

    def leave(self, error: object) -> None:
        try:
            entered.leave(self, error)
            if error is not None:
                self._explain(error)
        finally:
            if self.opened:
                self.trace.close()
        if self.opened and error is None and here().settings is not DEFAULT_SETTINGS:
            close_check()(self.trace)

    def _explain(self, error: object) -> None:
        """Say in an error why the array is read-only, why a tracer refused, why a recursion does not end."""
        if isinstance(error, RecursionError):
            refuse_endless_binding(self.trace, error)
        if not isinstance(error, ValueError):
            return
        if "read-only" in str(error):
            self.trace.explain_refused_write(error)
        elif isinstance(error.__cause__, ConcretizationTypeError):
            add_remedy(error, str(error.__cause__))


def hand_down(trace: Trace, primitive: Any, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    """Make `trace` current, let it process a primitive, and return the list of its results.

    Evaluation of a leaf (an implementation that binds nothing) needs no switch: this saves 0.2 us of 0.7.
    """
    if trace is evaluation and primitive.is_leaf:
        return evaluation.process_primitive(primitive, args, params)
    context = own_context()
    before = context.trace
    try:
        context.trace = trace
        return trace.process_primitive(primitive, args, params)
    finally:
        context.trace = before


def hand_custom_down(
    trace: Trace, primitive: Any, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    """Make `trace` current, let it process a function with derivative rules of its own, and return the results."""
    context = own_context()
    before = context.trace
    try:
        context.trace = trace
        return trace.process_custom_derivative(primitive, fun, args, params)
    finally:
        context.trace = before


def run_under(trace: Trace, fun: Callable[..., Any], /, *args: Value, **params: Any) -> Any:
    """Return `fun(*args, **params)`, computed while `trace` is current."""
    context = own_context()
    before = context.trace
    try:
        context.trace = trace
        return fun(*args, **params)
    finally:
        context.trace = before


def only_evaluates(trace: Trace | None) -> bool:
    """Tell whether `trace` only computes values, so that nobody can ask for a derivative of them.

    >>> from calque_core import evaluation
    >>> from calque_core.engine import only_evaluates
    >>> only_evaluates(evaluation)
    True
    """
    while trace is not None and trace.drops_custom_derivatives:
        trace = trace.parent
    return trace is evaluation or trace is None


def eval_context() -> entered:
    """Make evaluation current for a `with` block, also inside another trace."""
    return entered(evaluation)


def trace_state_clean() -> bool:
    """Tell whether this thread merely evaluates.

    >>> from calque_core import trace_state_clean
    >>> trace_state_clean()
    True
    """
    return here().trace is evaluation


def record_call(trace: Trace, fun: Any) -> Trace:
    """Store in `trace` its function and the position of the call, for messages; return it."""
    trace.fun, trace.position = fun, current_position(2)
    return trace
