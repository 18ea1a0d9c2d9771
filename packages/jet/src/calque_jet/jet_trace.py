"""Values that carry a Taylor series, and the trace that applies Taylor rules to them.

One idea: a value is x(t), a primal and the coefficients of t, t**2, ... up to the order of the trace; an operation
computes y(t) from it.  A coefficient has the type of its primal, so None suffices for a zero coefficient.

A rule is `(primals, series, **params) -> (out, out_series)`, lists with `multiple_results`; each series is a list of
coefficients.  For a primitive without a rule, the rule follows from its declaration: linear, bilinear, constant.
Without a declaration, its derivative rule runs: y'(t) is the tangent along x'(t).

Read next: `expansion.py` for the public function, `series.py` for the arithmetic, `rules` for the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import (
    Primitive,
    Trace,
    Tracer,
    Zero,
    current_trace,
    decompose,
    hand_down,
    tracing,
    typeof,
)
from calque_core.engine import Position, call_by_rules, check_lift, here
from calque_core.extend import zero_tangent
from calque_jet.derived import derived_rules
from calque_jet.series import Series, derivative, instantiate, integral

Value = Any
JvpRule = Callable[[Sequence[Value], Sequence[Value]], tuple[list[Value], list[Value]]]


class JetTracer(Tracer):
    """A primal and its coefficients, not all None: a value without coefficients is no tracer."""

    __slots__ = ("aval", "coefficients", "primal")

    def __init__(self, trace: Trace, primal: Value, coefficients: Series) -> None:
        self._trace, self.primal, self.coefficients = trace, primal, coefficients
        self.aval = typeof(primal)

    @property
    def known_value(self) -> Value:
        """The primal, if it is known: Python control flow may use it."""
        return self.primal.known_value if isinstance(self.primal, Tracer) else self.primal

    @property
    def inner_values(self) -> tuple[Value, ...]:
        """The primal, and the coefficients that are not zero."""
        return self.primal, *(c for c in self.coefficients if c is not None)

    @property
    def origin(self) -> Position | None:
        """The line that made the value, as recorded by the primal."""
        return self.primal.origin if isinstance(self.primal, Tracer) else self._trace.position

    def __repr__(self) -> str:
        return f"JetTracer(primal={self.primal!r}, coefficients={self.coefficients!r})"


class JetTrace(Trace):
    """Applies Taylor rules of one order to values with a series of this trace; hands other operations to its parent."""

    verb = "jet"

    def __init__(self, parent: Trace, order: int) -> None:
        super().__init__(parent)
        self.order = order

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        primals, series = self.split(args)
        if not any(map(self.owns, args)):
            return hand_down(self.parent, primitive, primals, params)  # type: ignore[arg-type]
        if not has_rule(primitive):
            return decompose(self, primitive, args, params, "jet")
        context = here()
        before = context.trace
        try:
            context.trace = self.parent
            outs, out_series = apply_rule(primitive, primals, series, params)
        except FloatingPointError as error:
            error.add_note(f"This happened in the Taylor rule of '{primitive.name}', in {self.describe()}.")
            raise
        finally:
            context.trace = before
        return [self.value(x, s) for x, s in zip(outs, out_series)]

    process_custom_derivative = call_by_rules

    def owns(self, x: Value) -> bool:
        """Tell whether `x` carries a series of this trace."""
        return type(x) is JetTracer and x._trace is self

    def value(self, primal: Value, coefficients: Series) -> Value:
        """Return the value with these coefficients: a tracer, unless all are zero."""
        return primal if all(c is None for c in coefficients) else JetTracer(self, primal, coefficients)

    def split(self, values: Sequence[Value]) -> tuple[list[Value], list[Series]]:
        """Return the primals and the series of `values`.

        Raises: UnexpectedTracerError for a tracer that is no constant here: its zero series would be a wrong number.
        """
        primals, series = [], []
        for x in values:
            if self.owns(x):
                primals.append(x.primal)
                series.append(x.coefficients)
            else:
                if isinstance(x, Tracer):
                    check_lift(x, self)
                primals.append(x)
                series.append([None] * self.order)
        return primals, series


def has_rule(primitive: Primitive) -> bool:
    """Tell whether a primitive has a Taylor rule, its own or a derived one."""
    return primitive.linearity is not None or any(primitive.adapted[kind] is not None for kind in ("jet", "jvp"))


def apply_rule(
    primitive: Primitive, primals: Sequence[Value], series: Sequence[Series], params: dict[str, Any]
) -> tuple[list[Value], list[Series]]:
    """Return the results and their series, by the rule of the primitive, its declaration or its jvp rule."""
    rules = primitive.adapted
    if rules["jet"] is not None:
        return rules["jet"](tuple(primals), tuple(series), **params)  # type: ignore[no-any-return]
    if primitive.linearity is not None:
        return derived_rules[primitive.linearity](primitive, primals, series, params)
    return jet_through_jvp(lambda xs, x_dots: rules["jvp"](xs, x_dots, **params), primals, series)


def jet_through_jvp(
    jvp_rule: JvpRule, primals: Sequence[Value], series: Sequence[Series]
) -> tuple[list[Value], list[Series]]:
    """Return the results and their series by a derivative rule: as y = f(x(t)), y' is the tangent of f along x'.

    In the rule x, x' and y' are series of one order less.  If the rule calls the primitive itself, this function runs
    again, for one order less.  The cost is polynomial if the rule calls it once.
    """
    lower = JetTrace(current_trace(), len(series[0]) - 1)
    with tracing(lower):
        xs = tuple([lower.value(x, s[:-1]) for x, s in zip(primals, series)])
        x_dots = tuple([velocity(lower, x, s) for x, s in zip(primals, series)])
        results, dots = jvp_rule(xs, x_dots)
        outs, _ = lower.split(results)
        slopes = [series_of(lower, t) for t in dots]
    return outs, [integral(None, s)[1:] for s in slopes]


def series_of(trace: JetTrace, x_dot: Value) -> Series:
    """Return the series of a tangent under `trace`, from coefficient 0 on; all are None for a `Zero`."""
    if type(x_dot) is Zero:
        return [None] * (trace.order + 1)
    (primal,), (coefficients,) = trace.split([x_dot])
    return [primal, *coefficients]


def velocity(trace: JetTrace, x: Value, coefficients: Series) -> Value:
    """Return x'(t) as a tangent of `x` under `trace`, one order lower than x(t)."""
    if all(c is None for c in coefficients):
        return zero_tangent(x)
    primal, *slopes = derivative([x, *coefficients])
    return trace.value(instantiate(x, primal), slopes)
