"""Transformations with their own values: dual numbers, intervals, units, expressions.

One idea: under a `ValueTrace`, a tracer stands for a value that the author of the transformation defines.  A rule takes
values and returns values, and runs under the parent.  So it uses ordinary operations, and composes with every other
transformation, inside and outside.

For inner programs the author defines more: the arrays of a value (`to_arrays`, `from_arrays`), and the array that
decides a branch (`predicate`).

Read next: `value_programs.py` for `jit`, branches and loops; `value_custom.py` for functions with custom rules.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from calque_core.arrays import Tracer
from calque_core.errors import MissingRuleError, add_remedy
from calque_core.frames.source import where
from calque_core.jaxprs.captured import captured_tracers
from calque_core.jaxprs.jaxpr import Jaxpr, has_jaxpr
from calque_core.ops.calls.jit import run_program
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.primitives.primitive import Primitive, decompose
from calque_core.primitives.rules import missing_rule, rules
from calque_core.traces.trace import Trace, hand_custom_down, hand_down, only_evaluates, run_under
from calque_core.traces.tracer import check_lift, known, unknown
from calque_core.types.avals import is_array_like, short_repr, typeof
from calque_core.values import value_programs as _value_programs  # noqa: F401  the rules of programs inside programs
from calque_core.values import value_shards as _value_shards  # noqa: F401  the rule of shard_map
from calque_core.values.value_custom import custom_call_on_values
from calque_core.values.value_layouts import Layouts, Program, Targets, cached_program

Value = Any
Array = Any
ArraysAndStatic = tuple[Sequence[Array], Hashable]


class ValueTracer(Tracer):
    """An array to the user's function; a value to the rules of the transformation."""

    __slots__ = ("aval", "value")

    def __init__(self, trace: Trace, value: Value, aval: Any) -> None:
        self._trace, self.value, self.aval = trace, value, aval

    @property
    def known_value(self) -> Array:
        """The predicate of the value, for Python control flow; `unknown` if the trace defines none."""
        trace = self._trace
        if not isinstance(trace, ValueTrace) or not trace.has_predicate:
            return unknown
        return known(run_under(trace.parent, trace.predicate, self.value))

    @property
    def control_flow_advice(self) -> str:
        """How the author of the trace lets its values decide a branch; '' if they do."""
        trace = self._trace
        if not isinstance(trace, ValueTrace) or trace.has_predicate:
            return ""
        name = type(trace).__name__
        return f"Define {name}.predicate(value) if a value of {name} has a truth value"

    @property
    def inner_values(self) -> tuple[Array, ...]:
        """The arrays of the value; none if the trace does not define them."""
        trace = self._trace
        if not isinstance(trace, ValueTrace) or not trace.has_arrays:
            return ()
        return tuple(run_under(trace.parent, trace.to_arrays, self.value)[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class ValueTrace(Trace):
    """A transformation whose tracers stand for its own values.  Subclass it, and define `lift` and rules.

    `kind` names the table of rules: `prim.def_rule(kind, fn)`, where `fn(*values, **params)` returns a value (a list of
    values for a primitive with `multiple_results`) and runs under the parent.  An operation on constants alone goes to
    the parent; a primitive without a rule is replaced by its decomposition.  A conversion of a value to its own dtype
    keeps the value.

    `keeps_custom_derivatives` says that tangents and cotangents of a value are values, so that derivative rules can run
    on values, like functions.  `key` is a hashable object; traces of the class have different keys if their programs
    differ.  With a key, the program of a jitted function or a loop is made once, and without it (None) once per run.

    >>> import numpy as np
    >>> from calque_core import ValueTrace, current_trace, lax, tracing, typeof
    >>> class Formula(ValueTrace):
    ...     kind = "formula"
    ...     def lift(self, x):
    ...         return str(x)
    >>> _ = lax.sin_p.def_rule("formula", lambda x: f"sin({x})")
    >>> _ = lax.mul_p.def_rule("formula", lambda x, y: f"{x} * {y}")
    >>> with tracing(Formula(current_trace())) as trace:
    ...     print(trace.unwrap(3.0 * np.sin(trace.wrap("x", typeof(1.0)))))
    3.0 * sin(x)
    """

    kind = ""
    keeps_custom_derivatives = False
    key: Hashable = None
    parent: Trace

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tag = object()
        self.programs: dict[Any, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kind:
            rules(cls.kind)  # registers the kind, so that no message calls it misspelt

    # Methods that an author defines

    def lift(self, x: Array) -> Value:
        """Return the value of an array that is a constant of the transformation."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot lift a constant of type {typeof(x)}{where()}. Define "
            f"{type(self).__name__}.lift(x), which returns its value."
        )

    def apply(self, primitive: Primitive, values: Sequence[Value], params: dict[str, Any]) -> Any:
        """Return the list of the results of a primitive on values, or `NotImplemented` to have it decomposed.

        The default applies the rule of the table `kind`.  A transformation that treats all primitives alike defines
        this method and needs no table.  It runs under the parent.
        """
        if not self.kind:
            name = type(self).__name__
            raise NotImplementedError(
                f"{name} has no rule for '{primitive.name}'{where()}. Set {name}.kind, the name of a table of rules, "
                f"or define {name}.apply."
            )
        rule = primitive.adapted[self.kind]
        if rule is None:
            return NotImplemented
        outs = rule(*values, **params)
        return outs if primitive.multiple_results else [outs]

    def applies(self, primitive: Primitive) -> bool:
        """Tell whether `apply` processes a primitive also where it holds programs; if not, their operations are.

        The default asks whether the table `kind` has a rule for it.  A transformation that differentiates answers yes
        for a solver with a derivative rule: the steps of a solver have other derivatives than the solution.
        """
        return primitive.adapted[self.kind] is not None

    def to_arrays(self, value: Value) -> ArraysAndStatic:
        """Return the arrays of a value and its static item: a hashable object, or None.

        The number and the types of the arrays must follow from the type of the value.  It runs under the parent.
        """
        raise NotImplementedError(self._without_arrays())

    def from_arrays(self, static: Hashable, arrays: Sequence[Array]) -> Value:
        """Return the value with these arrays and this static item."""
        raise NotImplementedError(self._without_arrays())

    def join(self, first: Hashable, second: Hashable) -> Hashable:
        """Return one static item for two values, which two branches or two steps of a loop return.

        The default needs equal static items.
        Raises: TypeError.
        """
        if first != second:
            name = type(self).__name__
            raise TypeError(
                f"two branches, or two steps of a loop, return values of {name} with different static items{where()}: "
                f"{short_repr(first)} and {short_repr(second)}. Return equal static items, or define "
                f"{name}.join(first, second)."
            )
        return first

    def predicate(self, value: Value) -> Array:
        """Return the array that decides a branch or a loop in place of the value."""
        name = type(self).__name__
        raise TypeError(
            f"a value of {name} is the predicate of a cond or a loop{where()}, but {name} does not define its truth "
            f"value. Define {name}.predicate(value), which returns a scalar or raises."
        )

    # Methods that an author calls

    def wrap(self, value: Value, aval: Any) -> ValueTracer:
        """Return a tracer for `value`; the user's function sees an array of type `aval`."""
        return ValueTracer(self, value, aval)

    def unwrap(self, x: Value) -> Value:
        """Return the value of a tracer of this trace; a constant is lifted.

        Raises: UnexpectedTracerError for a tracer that is no constant here; TypeError if `x` is no array.
        """
        if self.owns(x):
            return x.value
        if isinstance(x, Tracer):
            check_lift(x, self)
        elif not is_array_like(x):
            raise TypeError(
                f"{self.describe()} got {short_repr(x)} of type {type(x).__name__}{where()}. Give arrays and scalars."
            )
        return run_under(self.parent, self.lift, x)

    @property
    def has_predicate(self) -> bool:
        """Whether the class defines `predicate`; if not, a value decides no branch."""
        return type(self).predicate is not ValueTrace.predicate

    @property
    def has_arrays(self) -> bool:
        """Whether the class defines `to_arrays`; if not, inner programs run step by step."""
        return type(self).to_arrays is not ValueTrace.to_arrays

    def over(self, parent: Trace) -> ValueTrace:
        """Return this trace with another parent, for an inner program; the user sees one trace."""
        trace = object.__new__(type(self))
        trace.__dict__.update(self.__dict__)
        trace.__dict__.pop("process_primitive", None)  # a closed trace has this method on the instance
        trace.parent, trace.thread = parent, get_ident()
        trace.is_open = trace.is_closed = False
        return trace

    # Programs inside programs

    def _run_program(self, jaxpr: Jaxpr, *args: Array) -> list[Array]:
        """Return the results of an inner program, whose equations run as part of the outer program."""
        return run_program(jaxpr, args)

    def _array_program(self, jaxpr: Jaxpr, layouts: Layouts, targets: Targets | None) -> Program:
        """Return an inner program as a program on the arrays of values; without `targets` it is a condition."""
        return cached_program(self, jaxpr, layouts, targets)

    # The trace

    def process_primitive(self, primitive: Primitive, args: Sequence[Array], params: dict[str, Any]) -> list[Array]:
        if not any(map(self.owns, args)):
            return hand_down(self.parent, primitive, args, params)
        if not self.applies(primitive):
            value_rule = primitive.adapted["value"]
            if value_rule is not None:
                return value_rule(self, tuple(args), **params)  # type: ignore[no-any-return]
            if primitive is convert_element_type_p and params["new_dtype"] == args[0].aval.dtype:
                return [ValueTracer(self, args[0].value, *self._types(primitive, args, params))]  # weak or strong
            if params and has_jaxpr(params):
                return self._run_inline(primitive, args, params)
        outs = run_under(self.parent, self.apply, primitive, tuple([self.unwrap(x) for x in args]), params)
        if outs is NotImplemented:
            if primitive.adapted["decomposition"] is None:
                raise self._missing(primitive)
            return decompose(self, primitive, args, params, self.kind)
        avals = self._types(primitive, args, params)
        if not isinstance(outs, (list, tuple)) or len(outs) != len(avals):
            raise TypeError(self._wrong_number(primitive, outs, len(avals)))
        return [ValueTracer(self, out, aval) for out, aval in zip(outs, avals)]

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Array]], args: Sequence[Array], params: dict[str, Any]
    ) -> list[Array]:
        """Return the results of a function with custom derivative rules, which an outer transformation may use.

        A call without values goes to the parent unchanged.  If no transformation can use the rules, the function runs;
        if tangents of values are values, the parent gets a function and rules of arrays.
        Raises: NotImplementedError otherwise.
        """
        custom_rules = params["rules"]
        if self.drops_custom_derivatives or only_evaluates(self.parent):
            return list(fun(*args))
        if not any(map(self.owns, (*args, *captured_tracers(custom_rules.functions)))):
            return hand_custom_down(self.parent, primitive, fun, args, params)
        if self.keeps_custom_derivatives:
            return custom_call_on_values(self, primitive, fun, args, custom_rules)
        try:
            return super().process_custom_derivative(primitive, fun, args, params)
        except NotImplementedError as error:
            add_remedy(error, "If its tangents and cotangents are values too, set keeps_custom_derivatives = True.")
            raise

    def _run_inline(self, primitive: Primitive, args: Sequence[Array], params: dict[str, Any]) -> list[Array]:
        """Run the main program of a primitive, if no transformation can use its other programs."""
        if primitive.adapted["decomposition"] is not None:
            return decompose(self, primitive, args, params, self.kind)
        rule = primitive.adapted["interpret"]
        if rule is None:
            raise missing_rule(primitive, self.kind or "value")
        if not self.drops_custom_derivatives and not only_evaluates(self.parent):
            name = type(self).__name__
            raise NotImplementedError(
                f"{name} has no rule for '{primitive.name}'{where()}, but an outer transformation may differentiate "
                f'it. Give a rule, {primitive.name}_p.def_rule("value", fn); or set {name}.drops_custom_derivatives = '
                "True, so that its operations are differentiated instead."
            )
        return list(rule(self._run_program, *args, **params))

    def _types(self, primitive: Primitive, args: Sequence[Array], params: dict[str, Any]) -> list[Any]:
        if primitive.abstract is None:
            raise missing_rule(primitive, "abstract_eval")
        return list(primitive.abstract(*map(typeof, args), **params))

    def _missing(self, primitive: Primitive) -> MissingRuleError:
        if self.kind:
            return missing_rule(primitive, self.kind)
        name = type(self).__name__
        return MissingRuleError(
            f"{name} has no rule for '{primitive.name}'{where()}. Return its results from {name}.apply, or set "
            f"{name}.kind and give a rule of that kind.",
            primitive=primitive.name,
            kind="value",
            package=name,
        )

    def _wrong_number(self, primitive: Primitive, outs: Any, count: int) -> str:
        results = f"{len(outs)} values" if isinstance(outs, (list, tuple)) else short_repr(outs)
        return (
            f"the rule of {self.kind or type(self).__name__!r} for '{primitive.name}'{where()} returned {results}, but "
            f"'{primitive.name}' has {count} result{'s' * (count != 1)}. Return a list with one value for each."
        )

    def _without_arrays(self) -> str:
        name = type(self).__name__
        return (
            f"{name} cannot split a value into arrays{where()}. A branch or loop with an unknown predicate is staged "
            f"on arrays. Define {name}.to_arrays(value) and {name}.from_arrays(static, arrays)."
        )
