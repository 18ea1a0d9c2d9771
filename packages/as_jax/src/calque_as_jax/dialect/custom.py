"""Names of `jax.custom_derivatives` that calque lacks elsewhere."""

from __future__ import annotations

from typing import Any

from calque_autodiff import CustomVJPPrimal
from calque_core import ShapedArray, Zero, lax, typeof
from calque_core.extend import is_float
from calque_pytree import tree_map

__all__ = ["custom_jvp_call_p", "custom_vjp_call_p", "custom_vjp_primal_tree_values", "zero_from_primal"]

custom_jvp_call_p = lax.custom_jvp_call_p
custom_vjp_call_p = lax.custom_vjp_call_p


def zero_from_primal(x: Any, symbolic_zeros: bool = False) -> Any:
    """Return a zero tangent of the type of `x`: an array, or a symbolic zero."""
    aval = typeof(x)
    tangent = aval if is_float(aval.dtype) else ShapedArray(aval.shape, "float0")
    return Zero(tangent) if symbolic_zeros else lax.zeros_like(x)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return a pytree of primals of a rule with symbolic zeros as their values."""
    return tree_map(lambda leaf: leaf.value if isinstance(leaf, CustomVJPPrimal) else leaf, tree)
