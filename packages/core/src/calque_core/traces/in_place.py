"""`x += y` and the other operators in place on tracers: they return a new value, and later uses of `x` raise.

One idea: NumPy changes an array in place, for every name that refers to it; a tracer cannot change.  So an object that
explains the refusal replaces the trace of the tracer and of the tracers that it views.  Numbers, of rank 0, keep their
traces: Python rebinds the name.  So do all tracers while the setting `in_place_operators` is "rebind", for programs
whose arrays never change, such as those written for jax.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from calque_core.context import here
from calque_core.frames.source import current_position
from calque_core.traces.tracer import Overwritten, Tracer

Value = Any


def overwrite(x: Tracer, symbol: str, out: Value) -> Value:
    """Return `out`, the value of `x` after an operator in place; refuse later uses of `x` and the tracers it views."""
    if not x.aval.shape or here().reports.in_place_operators == "rebind":
        return out
    position = current_position()
    for tracer in (x, *(viewed() for viewed in getattr(x, "_viewed", ()))):
        if tracer is not None and type(tracer._trace) is not Overwritten:
            tracer._trace = Overwritten(tracer._trace, symbol, position)
    return out


def tracer_method(function: Callable[[Tracer, Value], Value]) -> Callable[[Tracer, Value], Value]:
    """Make `function` a method of tracers; device arrays keep Python's default, which rebinds the name."""
    setattr(Tracer, function.__name__, function)
    return function


@tracer_method
def __iadd__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "+=", operator.add(self, other))


@tracer_method
def __isub__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "-=", operator.sub(self, other))


@tracer_method
def __imul__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "*=", operator.mul(self, other))


@tracer_method
def __imatmul__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "@=", operator.matmul(self, other))


@tracer_method
def __itruediv__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "/=", operator.truediv(self, other))


@tracer_method
def __ifloordiv__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "//=", operator.floordiv(self, other))


@tracer_method
def __imod__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "%=", operator.mod(self, other))


@tracer_method
def __ipow__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "**=", operator.pow(self, other))


@tracer_method
def __iand__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "&=", operator.and_(self, other))


@tracer_method
def __ior__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "|=", operator.or_(self, other))


@tracer_method
def __ixor__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "^=", operator.xor(self, other))


@tracer_method
def __ilshift__(self: Tracer, other: Value) -> Value:
    return overwrite(self, "<<=", operator.lshift(self, other))


@tracer_method
def __irshift__(self: Tracer, other: Value) -> Value:
    return overwrite(self, ">>=", operator.rshift(self, other))
