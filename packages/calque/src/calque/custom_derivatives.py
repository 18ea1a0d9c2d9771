"""Functions with derivative rules of their own, under jax's module path."""

from calque_autodiff import (
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_rules,
    custom_vjp,
    linear_call,
)

__all__ = [
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_rules",
    "custom_vjp",
    "linear_call",
]
