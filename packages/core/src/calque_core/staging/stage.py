"""Staging: recording the operations of a function on abstract values, as a jaxpr.

One idea: a tracer holds its variable, and an equation is recorded in its final form, so that the end of a trace costs
nothing per equation.  Every operation in the context of the trace is recorded, also operations on constants.

Read next: `known/operation.py` for functions, recorded by copies; `interpret.py` for running a jaxpr, `api_util.py` for
pytrees of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from calque_core.calls.api_util import advice_for
from calque_core.context import DEFAULT_SETTINGS, here, own_context
from calque_core.errors import ConcretizationTypeError, add_remedy
from calque_core.frames.names import name_of
from calque_core.frames.source import Position, current_position, resolve
from calque_core.hooks import program_check
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from calque_core.jaxprs.masks import marked, unmarked
from calque_core.known.operands import Call
from calque_core.known.operation import known_of
from calque_core.known.record import recorder
from calque_core.known.table import Known, KnownOperations
from calque_core.memory.captures import Captures, as_read_only
from calque_core.primitives.conversion import convert_element_type_p
from calque_core.primitives.own_values import each_one_value, raise_impl, raise_p
from calque_core.primitives.primitive import Primitive, decompose
from calque_core.staging.jit_tracer import NO_PARAMS, JitTracer, jit_tracer, new_eqn, new_object
from calque_core.traces.evaluators import canonical_value, no_value_message
from calque_core.traces.trace import Trace, Value, current_trace, hand_down, record_call, tracing
from calque_core.traces.tracer import Tracer, check_lift, unknown
from calque_core.types.avals import (
    NUMPY_SCALARS,
    ShapedArray,
    is_array_like,
    own_types,
    reference_types,
    short_repr,
    typeof,
)
from calque_core.types.avals import _aval_functions as aval_functions
from calque_core.types.dtypes import canonicalize_dtype
from calque_core.types.numbers import is_number, plain_number
from calque_core.types.stand_in import ShapeDtypeStruct
from calque_core.types.type_queries import arrays_of

SCALAR_TYPES = frozenset((bool, int, float, complex, *NUMPY_SCALARS))
aval_of = attrgetter("aval")


class JaxprTrace(Trace):
    """Records every primitive as an equation; a transformation asks it whether its parent records.

    >>> from calque_core import current_trace, make_jaxpr
    >>> from calque_core.extend import JaxprTrace
    >>> parents = []
    >>> _ = make_jaxpr(lambda x: parents.append(current_trace()) or x)(1.0)
    >>> isinstance(parents[0], JaxprTrace)
    True
    """

    verb = "make_jaxpr"
    tracer_type = JitTracer
    gives_back = True  # whether captured arrays are released when it closes

    def __init__(self, parent: Trace, captures: Captures | None = None) -> None:
        Trace.__init__(self, parent)  # `super()` takes 0.1 us more, also below
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Value, Var]] = {}
        self.captures = Captures(parent) if captures is None else captures
        self.arg_names: Callable[[], Sequence[str]] | None = None
        self.memo: dict[Any, Any] = {}  # derived results; they may refer to tracers of this trace, and die with it
        if records_alone(self):
            self.known, self.recording = recorded, type(self)

    def value_asked(self) -> Any:
        """Return `unknown`: a tracer was asked for its value."""
        return unknown

    def new_arg(self, aval: Any) -> JitTracer:
        """Return a tracer for a new argument of the program."""
        var = Var(aval)
        self.invars.append(var)
        return JitTracer(self, aval, var, None) if type(aval) is ShapedArray else jit_tracer(self, var, None)

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """Append an equation; return tracers for its results."""
        invars: list[Atom] = []
        for x in args:  # a comprehension takes 0.15 us more
            invars.append(x.variable if type(x) is JitTracer and x._trace is self else self.constant(x))  # noqa: PERF401
        abstract = primitive.abstract
        if abstract is None:
            return decompose(self, primitive, [self.tracer(x) for x in invars], params, "abstract_eval")
        position = current_position(2)  # skips its own frame and this one
        if not here().settings.enable_x64 and not _narrows(primitive, invars, params):
            invars, params = self._in_32_bits(invars, params, position, primitive.takes_weak)
        try:
            avals = abstract(*map(aval_of, invars), **params)
        except Exception as error:
            _add_place(error, primitive, position)
            raise
        if len(avals) == 1:  # nearly always; this way without comprehensions takes 0.3 us less
            (aval,) = avals
            var = new_object(Var)
            var.aval = aval
            self.eqns.append(new_eqn((primitive, invars, [var], params or NO_PARAMS, position)))
            if type(aval) is not ShapedArray:
                return [jit_tracer(self, var, position)]
            out = new_object(JitTracer)
            out._trace, out.aval, out.variable, out.position = self, aval, var, position
            return [out]
        outvars = [Var(aval) for aval in avals]
        self.eqns.append(new_eqn((primitive, invars, outvars, params or NO_PARAMS, position)))
        return [jit_tracer(self, var, position) for var in outvars]

    def run_known(self, record: Callable[..., list[Value]], operands: Sequence[JitTracer]) -> list[Value]:
        """Append the equations of a known operation; return tracers for its results."""
        return record(self, current_position(4), *operands)

    def _in_32_bits(
        self, invars: list[Atom], params: dict[str, Any], position: Position | None, takes_weak: bool
    ) -> tuple[list[Atom], dict[str, Any]]:
        """Return operands and parameters in 32 bits, as evaluation does; a program declares its own types."""
        if next(jaxprs_in_params(params), None) is None:
            invars = [self._narrow(x, position) for x in invars]
            params = {name: _canonical_parameter(value) for name, value in params.items()}
        is_weak = takes_weak or all(getattr(x.aval, "weak_type", False) for x in invars)
        return invars if is_weak else list(map(_as_32_bits, invars)), params

    def _narrow(self, x: Atom, position: Position | None) -> Atom:
        """Return an operand in 32 bits; if needed, record an equation that converts it, as evaluation does."""
        aval = x.aval
        dtype = canonicalize_dtype(aval.dtype) if type(aval) is ShapedArray else None
        if dtype is None or dtype == aval.dtype:
            return x
        params = {"new_dtype": dtype, "weak_type": aval.weak_type}
        var = Var(convert_element_type_p.abstract(aval, **params)[0])
        self.eqns.append(new_eqn((convert_element_type_p, [x], [var], params, position)))
        return var

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        """Record one equation that holds the jaxpr of the function and its rules."""
        jaxpr, rules, captured = params["rules"].staged(fun, [typeof(x) for x in args])
        return self.process_primitive(primitive, [*captured, *args], {"jaxpr": jaxpr, "rules": rules})

    def tracer(self, atom: Atom) -> Value:
        """Return a tracer for a variable, the value of a literal."""
        return atom.val if type(atom) is Literal else jit_tracer(self, atom, None)  # type: ignore[arg-type]

    def constant(self, x: Value) -> Atom:
        """Return a literal for a scalar, a constant variable for an array or a tracer of an outer trace."""
        kind = type(x)
        if kind in SCALAR_TYPES:
            aval = aval_functions[kind](x)
            is_canonical = aval.weak_type or here().settings is DEFAULT_SETTINGS
            return Literal(x if is_canonical else canonical_value(x), aval)
        if isinstance(x, np.ndarray) and x.ndim:
            x = self.captures.use(x)
        key = id(x) if here().settings.enable_x64 else ~id(x)  # an array has another type while 64 bits are off
        entry = self.constants.get(key)
        if entry is not None:
            return entry[1]
        if kind in own_types:
            return self._own_atom(x, key)
        if isinstance(x, Tracer):
            check_lift(x, self)
            x = self.narrowed_constant(x)
            aval = x.aval
        else:
            aval = typeof(x)
            if kind is ShapeDtypeStruct:
                raise TypeError(f"{self.describe()}: {no_value_message(x)}")
            if is_number(x):
                return self.constant(plain_number(x))
            if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim):
                return Literal(canonical_value(x)[()], aval)
        var = Var(aval)
        self.constants[key] = (x, var)
        return var

    def _own_atom(self, x: Value, key: int) -> Atom:
        """Return the variable of a tracer of an own type, or a constant for a value, with its arrays as they are now.

        A value made of tracers becomes the result of an equation.
        """
        aval = typeof(x)
        if isinstance(x, Tracer):
            if isinstance(x, JitTracer) and x._trace is self:
                return x.variable
            check_lift(x, self)
        else:
            arrays = arrays_of(x)
            if any(isinstance(a, Tracer) for a in arrays):
                (value,) = hand_down(self, raise_p, arrays, {"aval": aval})
                return self.constant(value)
            self.memo["own", key] = x  # which keeps the id its own
            kept = [as_read_only(self.captures.use(a)) if isinstance(a, np.ndarray) else a for a in arrays]
            x = raise_impl(*kept, aval=aval)
        var = Var(aval)
        self.constants[key] = (x, var)
        return var

    def narrowed_constant(self, x: Tracer) -> Tracer:
        """Return a tracer of an outer trace, in 32 bits while 64 are off, as a program takes its arguments."""
        aval = x.aval
        if here().settings.enable_x64 or type(aval) is not ShapedArray or canonicalize_dtype(aval.dtype) == aval.dtype:
            return x
        pair: tuple[Tracer, Tracer] | None = self.memo.get(("narrow", id(x)))
        if pair is None:
            assert self.parent is not None
            params = {"new_dtype": canonicalize_dtype(aval.dtype), "weak_type": aval.weak_type}
            (narrow,) = hand_down(self.parent, convert_element_type_p, [x], params)
            pair = self.memo["narrow", id(x)] = x, narrow  # the memo keeps the tracer, so that its id stays its own
        return pair[1]

    def finish(self, outs: Sequence[Value], debug_name: str = "") -> Jaxpr:
        """Return the recorded program, with the results `outs`.  Its constants no longer share the user's memory."""
        return Jaxpr(*self.contents(outs), debug_name=debug_name)

    def contents(self, outs: Sequence[Value]) -> tuple[Any, ...]:
        """Return the constant variables, arguments, equations, results and constants of the recorded program."""
        outvars = [x.variable if type(x) is JitTracer and x._trace is self else self.constant(x) for x in outs]
        if not self.constants:  # often in eager derivatives; 0.5 us sooner
            return [], self.invars, self.eqns, outvars, []
        constants = self.constants.values()
        consts = [
            self.captured_const(in_dtype(x, v.aval.dtype)) if isinstance(x, np.ndarray) else x for x, v in constants
        ]
        return [v for _, v in constants], self.invars, self.eqns, outvars, consts

    def captured_const(self, x: np.ndarray[Any, Any]) -> Value:
        """Return a captured array as a constant of the finished program, which nobody can change."""
        return np.asarray(as_read_only(x))

    def explain_refused_write(self, error: ValueError) -> None:
        if self.captures.held:
            add_remedy(
                error,
                f"{self.describe()} captured large NumPy arrays and makes them read-only until it ends: a write would "
                "silently change the numbers of its result. Copy the array before writing to it, or make a new one.",
            )

    def close(self) -> None:
        Trace.close(self)
        if self.gives_back:
            self.captures.release()
        self.memo.clear()
        self.constants = {}

    def dependence(self, x: Tracer) -> str:
        """Return the clause of a message that names the arguments on which `x` depends."""
        if not isinstance(x, JitTracer) or self.arg_names is None:
            return ""
        needed = {x.variable}
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outvars):
                needed.update(v for v in eqn.invars if type(v) is Var)
        names = [name for name, var in zip(self.arg_names(), self.invars) if var in needed]
        if not names:
            return ""
        return f"; it depends on the value of the argument{'s' * (len(names) > 1)} {' and '.join(names[:5])}"


def records_alone(trace: Any) -> bool:
    """Tell whether a trace records operations and does nothing else with them, so that copies may take their place."""
    return isinstance(trace, JaxprTrace) and type(trace).process_primitive is JaxprTrace.process_primitive


def _recorded(*facts: Any) -> Known | None:
    """Return an operation with the function that records its equations; None if it has to run at each call."""
    call = Call(*facts)
    return known_of(call, call.trace.recording, lambda operation, _: recorder(operation.program))


recorded = KnownOperations(_recorded)


class CodeTrace(JaxprTrace):
    """Records a function that becomes code for operands with values, and so may not look at a value of an operand.

    A function that checks known values, say, runs at each call: its code would check nothing.
    """

    def value_asked(self) -> Any:
        raise ConcretizationTypeError("a function that looks at the value of an operand becomes no code")


def _narrows(primitive: Primitive, invars: Sequence[Atom], params: dict[str, Any]) -> bool:
    """Tell whether an operation is the conversion of its operand to 32 bits."""
    if primitive is not convert_element_type_p:
        return False
    return canonicalize_dtype(invars[0].aval.dtype) == params["new_dtype"]  # type: ignore[no-any-return]


def _canonical_parameter(value: Any) -> Any:
    """Return a parameter of an operation; a dtype becomes canonical under the current settings."""
    return canonicalize_dtype(value) if isinstance(value, np.dtype) else value


def _as_32_bits(x: Atom) -> Atom:
    """Return a Python scalar as a NumPy scalar of 32 bits, so that it fits arrays under all settings."""
    if type(x) is Literal and type(x.val) in (int, float, complex):
        return Literal(x.aval.dtype.type(x.val), x.aval)
    return x


def in_dtype(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a captured array in the dtype that it had at its capture."""
    return x if x.dtype == dtype else x.astype(dtype)


def _add_place(error: Exception, primitive: Primitive, position: Position | None) -> None:
    info = resolve(position)
    if info is not None and not any(str(info) in note for note in getattr(error, "__notes__", ())):
        error.add_note(f"'{primitive.name}' was bound at {info}.")


def stage(
    fun: Callable[..., Sequence[Value]],
    in_avals: Sequence[Any],
    *,
    verb: str = "make_jaxpr",
    user_fun: Any = None,
    arg_names: Callable[[], Sequence[str]] | None = None,
    trace_type: Callable[[Trace], JaxprTrace] = JaxprTrace,
) -> Jaxpr:
    """Return the jaxpr of `fun`, which takes one value per aval and returns a list of values.

    Constants may be tracers of outer traces: `hoist_tracers` makes them operands.

    >>> from calque_core import ShapedArray, lax, stage
    >>> stage(lambda x, y: [lax.mul(x, y)], [ShapedArray((2,), "float64"), ShapedArray((), "float64")])
    { lambda ; a:f64[2] b:f64[]. let c:f64[2] = mul a b in (c,) }
    """
    trace = trace_type(current_trace())
    record_call(trace, user_fun if user_fun is not None else fun)
    trace.verb, trace.arg_names = verb, arg_names
    with tracing(trace):
        own_context().scopes = ()  # the names in a program are relative to the equation that holds the program
        outs = fun(*[trace.new_arg(aval) for aval in in_avals])
        for x in outs:
            if not is_array_like(x):
                raise TypeError(
                    f"{trace.describe()} returned {short_repr(x)} of type {type(x).__name__}. "
                    f"{advice_for(x, 'Return arrays and scalars.')}"
                )
        jaxpr = trace.finish(each_one_value(outs), debug_name=name_of(trace.fun, ""))
    if here().settings.enable_checks:
        program_check()(jaxpr)
    return jaxpr


def hoist_tracers(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Value]]:
    """Turn the constants of `jaxpr` that are tracers into leading arguments; return the jaxpr and the tracers.

    The new jaxpr is closed: it may be cached, and used under any trace.  References are hoisted, too.
    """
    is_hoisted = [isinstance(c, Tracer) or type(c) in reference_types for c in jaxpr.consts]
    if not any(is_hoisted):
        return jaxpr, []
    program = jaxpr.replace(
        constvars=unmarked(jaxpr.constvars, is_hoisted),
        consts=unmarked(jaxpr.consts, is_hoisted),
        invars=(*marked(jaxpr.constvars, is_hoisted), *jaxpr.invars),
    )
    return program, marked(jaxpr.consts, is_hoisted)
