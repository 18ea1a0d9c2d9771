"""Names of `jax.core` and `jax.extend.core` that differ from calque's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import calque_core
from calque_core import Jaxpr, Literal, ShapedArray, Var, check_jaxpr, current_trace, typeof
from calque_core.compat import find_top_trace, raise_to_shaped
from calque_core.lax import jit_p

__all__ = [
    "Atom", "CallPrimitive", "ClosedJaxpr", "DropVar", "JaxprTypeError", "Literal", "ParamDict", "Primitive", "Value",
    "Var", "call_p", "closed_call_p", "concrete_or_error", "find_top_trace", "get_aval", "get_opaque_trace_state",
    "jaxpr_as_fun", "mapped_aval", "no_effects", "primal_dtype_to_tangent_dtype", "raise_to_shaped", "typecheck_jaxpr",
    "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE", "valid_jaxtype",
]  # fmt: skip

Atom = Var | Literal
Value = Any
ParamDict = dict
JaxprTypeError = calque_core.JaxprTypeError
jaxpr_as_fun = calque_core.jaxpr_as_fun
typecheck_jaxpr = check_jaxpr
call_p = closed_call_p = jit_p
no_effects: frozenset[Any] = frozenset()


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
        """Define the type rule."""
        self.def_rule("abstract_eval", function, override=True)
        return function

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the functions and the parameters with which `bind` makes an equation again."""
        return [], dict(params)


CallPrimitive = Primitive


class _ClosedJaxprType(type):
    """The type of `ClosedJaxpr`: each of calque's jaxprs is closed."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Jaxpr)

    def __call__(cls, jaxpr: Jaxpr, consts: Any = ()) -> Jaxpr:
        return jaxpr.replace(consts=list(consts)) if len(jaxpr.constvars) else jaxpr


class ClosedJaxpr(metaclass=_ClosedJaxprType):
    """A program with its constants, which is calque's `Jaxpr`."""


class DropVar(Var):
    """A result that is not used; calque's equations have no such variables."""


def get_aval(x: Any) -> Any:
    """Return the type of a value."""
    return typeof(x)


def get_opaque_trace_state(convention: Any = None) -> Any:
    """Return a value that is equal in two places if one trace is current in both."""
    del convention
    return current_trace()


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> Any:
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
    return ShapedArray((), dtype).to_tangent_aval().dtype if hasattr(ShapedArray, "to_tangent_aval") else dtype


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
