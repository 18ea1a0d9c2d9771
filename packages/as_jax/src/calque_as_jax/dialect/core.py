"""Names of `jax.core` and `jax.extend.core` that differ from calque's, save those of programs.

Read next: `programs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import calque_core
from calque_as_jax.dialect.types import tangent_type
from calque_as_jax.keys import KEY_DTYPES, KeyType
from calque_as_jax.values import NoSharding
from calque_core import current_trace, typeof
from calque_core.compat import find_top_trace, raise_to_shaped
from calque_core.engine import entered
from calque_core.extend import JaxprTrace

__all__ = [
    "CallPrimitive", "ParamDict", "Primitive", "ShapedArray", "TraceTag", "Value", "concrete_or_error",
    "find_top_trace", "get_aval", "get_opaque_trace_state", "mapped_aval", "primal_dtype_to_tangent_dtype",
    "raise_to_shaped", "set_current_trace", "take_current_trace", "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE", "valid_jaxtype",
]  # fmt: skip

Value = Any
ParamDict = dict


class _ShapedArrayType(type):
    """The type of `ShapedArray`: calque's types of arrays are instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (calque_core.ShapedArray, KeyType))

    def __call__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None, **options: Any) -> Any:
        asked = {name: x for name, x in {"sharding": sharding, **options}.items() if x and type(x) is not NoSharding}
        if asked:
            raise NotImplementedError(
                f"ShapedArray got {asked}, but types hold no places here. Leave these options out."
            )
        impl = next((key_dtype.impl for key_dtype in KEY_DTYPES.values() if key_dtype == dtype), None)
        if impl is not None:
            return KeyType(tuple(shape), impl)
        return calque_core.ShapedArray(shape, dtype, weak_type)


class ShapedArray(metaclass=_ShapedArrayType):
    """The type of an array, made with jax's options."""


class _PrimitiveType(type):
    """The type of `Primitive`: calque's own primitives are instances, too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, calque_core.Primitive)


class Primitive(calque_core.Primitive, metaclass=_PrimitiveType):
    """An operation with rules, as jax lets a library define it: a second definition replaces the first."""

    __slots__ = ()

    def __init__(self, name: str, multiple_results: bool = False) -> None:
        super().__init__(name, multiple_results)

    def def_impl(self, function: Any, **options: Any) -> Any:
        """Define the evaluation."""
        self.def_rule("impl", function, override=True)
        return function

    def def_abstract_eval(self, function: Any = None, *, cached: bool = False) -> Any:
        """Define the type rule, after `multiple_results` is set."""
        self.def_rule("partial_eval", partial(_stage_whole, self), override=True)
        self.def_rule("abstract_eval", function, override=True)
        return function


def _stage_whole(primitive: Primitive, known: Any, *operands: Any, **params: Any) -> Any:
    """Record an operation on tangents as it is, as jax does, even where its parameters hold a program."""
    del known
    trace: Any = current_trace()
    outs = JaxprTrace.process_primitive(trace, primitive, operands, params)
    return outs if primitive.multiple_results else outs[0]


CallPrimitive = Primitive


def get_aval(x: Any) -> Any:
    """Return the type of a value."""
    return typeof(x)


def get_opaque_trace_state(convention: Any = None) -> Any:
    """Return a value that is equal in two places if one trace is current in both."""
    del convention
    return current_trace()


class TraceTag:
    """A mark that the traces of one transformation share."""


@contextmanager
def take_current_trace() -> Iterator[Any]:
    """Yield the current trace; operations in the block are evaluated."""
    trace = current_trace()
    with calque_core.eval_context():
        yield trace


set_current_trace = entered  # a context: a trace is current in the block


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the type of one element along an axis."""
    del size
    return aval if axis is None else aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(size: int, axis: int | None, *rest: Any) -> Any:
    """Return the type of `size` elements, stacked along an axis.  In older versions a name stood before the axis."""
    (aval,) = rest[-1:]
    place = axis if len(rest) == 1 else rest[0]
    return aval if place is None else aval.update(shape=(*aval.shape[:place], size, *aval.shape[place:]))


def concrete_or_error(force: Callable[[Any], Any] | None, x: Any, context: str = "") -> Any:
    """Return a known value, converted by `force`.  Raises: ConcretizationTypeError for a traced one."""
    if calque_core.is_tracer(x):
        raise calque_core.ConcretizationTypeError(f"a traced value of type {typeof(x)} is not known here. {context}")
    return x if force is None else force(x)


def primal_dtype_to_tangent_dtype(dtype: Any) -> Any:
    """Return the dtype of tangents of values of a dtype."""
    return tangent_type(calque_core.ShapedArray((), dtype)).dtype


def valid_jaxtype(x: Any) -> bool:
    """Tell whether a value has a type."""
    try:
        typeof(x)
    except TypeError:
        return False
    return True


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Tell whether a program is being staged."""
    return not calque_core.trace_state_clean() and "Jaxpr" in type(current_trace()).__name__


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Tell whether a function is being mapped."""
    return "Batch" in type(current_trace()).__name__
