"""The two primitives between a value of an own type and its arrays.

`lower` gives the arrays of a value, `raise` makes a value of arrays.  Tracers of own types bind them, so they live
below staging.

Read next: `ops/calls/own_values.py`, zeros, sums and axes of such values; `types/own_types.py`, the types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.primitives.primitive import Primitive
from calque_core.traces.trace import evaluation
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import own_types, typeof
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import arrays_of, check_arrays_of

Value = Any

lower_p = Primitive("lower", multiple_results=True)
raise_p = Primitive("raise")
for _primitive in (lower_p, raise_p):
    _primitive.family = _primitive.adapted.family = "calque_core.ops.calls.own_values"


@lower_p.def_abstract_eval
def lower_abstract_eval(aval: Any) -> list[Any]:
    if not is_own(aval):
        raise TypeError(f"the arrays of {aval}{where()} were asked for, but it is an array itself. Use it as it is.")
    return list(aval.arrays().values())


@lower_p.def_impl
def lower_impl(x: Value) -> list[Value]:
    return arrays_of(x)


@raise_p.def_abstract_eval
def raise_abstract_eval(*avals: Any, aval: Any) -> Any:
    check_arrays_of(aval, avals)
    return aval


@raise_p.def_impl
def raise_impl(*arrays: Value, aval: Any) -> Value:
    return aval.make(**dict(zip(aval.arrays(), arrays)))


def lowered(x: Value) -> list[Value]:
    """Return the arrays of a value or a tracer of an own type; an array alone in a list.

    >>> from calque_core.engine import lowered
    >>> lowered(1.0)
    [1.0]
    """
    if type(x) not in own_types:
        return [x]
    return list(lower_p.bind(x)) if isinstance(x, Tracer) else arrays_of(x)


def raised(arrays: Sequence[Value], aval: Any) -> Value:
    """Return the value of a type with these arrays, the first of them if the type is an array's.

    >>> from calque_core import typeof
    >>> from calque_core.engine import raised
    >>> raised([2.0], typeof(1.0))
    2.0
    """
    if not is_own(aval):
        return arrays[0]
    if here().trace is evaluation and not any(isinstance(x, Tracer) for x in arrays):  # a fifth of the time
        return raise_impl(*arrays, aval=aval)
    return raise_p.bind(*arrays, aval=aval)


def array_of(x: Value, name: str) -> Value:
    """Return the array `name` of a tracer of an own type, the same one each time under the trace of the tracer.

    So an operator in place on it is seen by whoever asks for the array later.
    """
    position = list(typeof(x).arrays()).index(name)
    if here().trace is not x._trace:
        return lower_p.bind(x)[position]
    try:
        arrays = object.__getattribute__(x, "_arrays")
    except AttributeError:  # a slot that is not set yet
        arrays = x._arrays = tuple(lower_p.bind(x))
    return arrays[position]


def one_value(x: Value) -> Value:
    """Return a value of an own class that holds tracers as one traced value; any other value unchanged.

    A function on such values may call their class with traced arrays: the result becomes an operand so.
    """
    if type(x) not in own_types or isinstance(x, Tracer):
        return x
    aval = typeof(x)
    arrays = [getattr(x, name) for name in aval.arrays()]
    return raise_p.bind(*arrays, aval=aval) if any(isinstance(a, Tracer) for a in arrays) else x


def each_one_value(values: Sequence[Value]) -> Sequence[Value]:
    """Return values with `one_value` applied to each."""
    return [one_value(x) for x in values] if own_types else values
