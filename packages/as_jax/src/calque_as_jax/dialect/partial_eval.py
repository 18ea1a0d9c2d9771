"""`jax.interpreters.partial_eval`: known values are computed, operations on unknown ones are recorded.

One idea: a trace records the operations on its own tracers, and hands all other operations to its parent.  A jitted
function with one unknown argument is recorded whole, so all of its results are unknown; jax computes the results that
do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import calque_core
from calque_as_jax.dialect.programs import Jaxpr, opened, program_of
from calque_core import Primitive, current_trace, hand_custom_down, hand_down, tracing
from calque_core.extend import JaxprTrace

__all__ = [
    "JaxprTracer", "PartialVal", "close_jaxpr", "convert_constvars_jaxpr", "dce_jaxpr", "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]  # fmt: skip

Value = Any


class PartialVal(NamedTuple):
    """A known value, as `(None, value)`, or the type of an unknown one, as `(aval, None)`."""

    aval: Any
    value: Value

    @classmethod
    def known(cls, value: Value) -> PartialVal:
        """Return a known value."""
        return cls(None, value)

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """Return an unknown value of a type."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Tell whether the value is known."""
        return self.aval is None

    def get_aval(self) -> Any:
        """Return the type of an unknown value, None for a known one."""
        return self.aval


class PartialTrace(JaxprTrace):
    """Records operations on unknown values; hands all other operations to its parent."""

    verb = "partial evaluation"
    parent: Any

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        if any(map(self.owns, args)):
            return super().process_primitive(primitive, args, params)
        return hand_down(self.parent, primitive, args, params)

    def process_custom_derivative(
        self, primitive: Primitive, fun: Callable[..., Sequence[Value]], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        if any(map(self.owns, args)):
            return super().process_custom_derivative(primitive, fun, args, params)
        return hand_custom_down(self.parent, primitive, fun, args, params)


class _TracerType(type):
    """The type of `JaxprTracer`."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(getattr(value, "_trace", None), PartialTrace)


class JaxprTracer(metaclass=_TracerType):
    """An unknown value, as a class to ask for."""


def trace_to_jaxpr_nounits(
    wrapped: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Value]]:
    """Return the program on the unknown values, the results as partial values, and the program's constants.

    >>> from calque_core import ShapedArray
    >>> from calque_as_jax.dialect.linear_util import wrap_init
    >>> f = wrap_init(lambda x, y: [x + 1, x * y])
    >>> arguments = [PartialVal.known(2), PartialVal.unknown(ShapedArray((), "float32"))]
    >>> trace_to_jaxpr_nounits(f, arguments)[1]
    [PartialVal(aval=None, value=3), PartialVal(aval=float32[], value=None)]
    """
    with tracing(PartialTrace(current_trace())) as trace:
        args = [value if aval is None else trace.new_arg(aval) for aval, value in pvals]
        outs = list(wrapped.call_wrapped(*args))
        is_staged = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
        is_unknown = [trace.owns(x) or each for x, each in zip(outs, is_staged, strict=True)]
        jaxpr = trace.finish([x for x, unknown in zip(outs, is_unknown, strict=True) if unknown])
    types = iter([x.aval for x in jaxpr.outvars])
    results = [
        PartialVal(next(types), None) if unknown else PartialVal(None, x)
        for x, unknown in zip(outs, is_unknown, strict=True)
    ]
    return opened(jaxpr), results, list(jaxpr.consts)


def trace_to_jaxpr_dynamic(wrapped: Any, in_avals: Sequence[Any], *_: Any, **__: Any) -> tuple[Jaxpr, list[Any], Any]:
    """Return the program of a wrapped function on arguments of these types, the types of results, and its constants."""
    jaxpr = calque_core.stage(wrapped.call_wrapped, [getattr(aval, "aval", aval) for aval in in_avals])
    return opened(jaxpr), jaxpr.out_avals, list(jaxpr.consts)


def dce_jaxpr(
    jaxpr: Any, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return a program reduced to some results, and the mask of the arguments that it keeps."""
    used = [used_outputs] * len(jaxpr.outvars) if isinstance(used_outputs, bool) else used_outputs
    smaller, used_inputs = calque_core.dce_jaxpr(program_of(jaxpr), used, instantiate)
    return opened(smaller), used_inputs


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program whose constants are its first arguments."""
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


def close_jaxpr(jaxpr: Jaxpr) -> Any:
    """Return the closed form of a program without constants."""
    return program_of(jaxpr)
