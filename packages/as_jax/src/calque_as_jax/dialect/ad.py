"""Names of `jax.interpreters.ad` that differ from calque's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import calque_autodiff
from calque_core import Primitive, UndefinedPrimal, Zero, add_tangents, instantiate_zeros, lax

__all__ = [
    "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p", "deflinear", "deflinear2",
    "get_primitive_transpose", "instantiate_zeros", "stop_gradient_p", "zeros_like_aval",
]  # fmt: skip


class _TracerType(type):
    """The type of `JVPTracer`."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, calque_autodiff.JVPTracer)


class JVPTracer(metaclass=_TracerType):
    """The tracers of `jvp`, as a class to ask for."""


add_jaxvals = add_tangents
add_jaxvals_p = lax.add_p
deflinear2 = calque_autodiff.deflinear


def deflinear(primitive: Any, transpose_rule: Callable[..., Any]) -> None:
    """Declare a primitive linear, with a transpose rule of the cotangent alone."""
    deflinear2(primitive, lambda x_bar, *operands, **params: transpose_rule(x_bar, **params))


# calque's stop_gradient is a function with a rule of its own: rules of this primitive are kept, and never asked for.
stop_gradient_p = Primitive("stop_gradient")


def get_primitive_transpose(primitive: Any) -> Any:
    """Return the transpose rule of a primitive."""
    return calque_autodiff.primitive_transposes[primitive]


def zeros_like_aval(aval: Any) -> Any:
    """Return zeros of a type."""
    return lax.full(aval.shape, 0, aval.dtype)
