"""Names of `jax.custom_derivatives` that calque lacks elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_as_jax.dialect.types import tangent_type
from calque_autodiff import CustomVJPPrimal
from calque_core import Zero, float0, lax, typeof
from calque_pytree import tree_map

__all__ = ["custom_jvp_call_p", "custom_vjp_call_p", "custom_vjp_primal_tree_values", "zero_from_primal"]

custom_jvp_call_p = lax.custom_jvp_call_p
custom_vjp_call_p = lax.custom_vjp_call_p


def zero_from_primal(tree: Any, symbolic_zeros: bool = False) -> Any:
    """Return a zero tangent for each array of a pytree: an array, or a symbolic zero.

    >>> zero_from_primal((1.0, 2), symbolic_zeros=True)
    (Zero(float32[]), Zero(float0[]))
    """
    return tree_map(_symbolic_zero if symbolic_zeros else _zero, tree)


def _symbolic_zero(x: Any) -> Zero:
    return Zero(tangent_type(typeof(x)))


def _zero(x: Any) -> Any:
    aval = tangent_type(typeof(x))
    return np.zeros(aval.shape, float0) if aval.dtype == float0 else lax.full(aval.shape, 0, aval.dtype)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return a pytree of primals of a rule with symbolic zeros as their values."""
    return tree_map(lambda leaf: leaf.value if isinstance(leaf, CustomVJPPrimal) else leaf, tree)
