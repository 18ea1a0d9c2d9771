"""Checks of the results of users' rules: tangents and cotangents.

One idea: the user wrote the rule, so each error names the rule, and the argument or the output that its value does not
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core import Zero, float0, typeof
from calque_core.extend import CustomCall, copy_writable, is_array_like, strong, zero_of
from calque_core.lax import convert_element_type
from calque_pytree import PyTreeDef, flatten_axes, tree_leaves, tree_structure

Value = Any


def checked_tangent(t: Value, aval: Any, message: Callable[[str], str], is_weak: bool = False) -> Value:
    """Return `t`, which a rule returned as tangent or cotangent of a value of type `aval`; a `Zero` for None.

    `is_weak` marks a Python scalar: it has no dtype of its own but its tangents have one, so `t` is converted.  An
    array that is writable is copied: the rule may have kept it.
    Raises: TypeError, with `message` of the type of `t`, if `t` does not fit.
    """
    tangent_aval = aval.to_tangent_aval()
    if t is None or type(t) is Zero:
        return zero_of(tangent_aval)
    if not is_array_like(t) and getattr(t, "dtype", None) != float0:
        raise TypeError(message(f"a value of type {type(t).__name__}"))
    if tangent_aval.dtype == float0:
        if getattr(t, "dtype", None) == float0:
            return zero_of(tangent_aval)
        raise TypeError(message(str(typeof(t))))
    if type(t) in _PYTHON_NUMBERS and not tangent_aval.shape and np.can_cast(type(t), tangent_aval.dtype, "same_kind"):
        return tangent_aval.dtype.type(t)
    actual = typeof(t)
    if is_weak and actual.shape == tangent_aval.shape and np.can_cast(actual.dtype, tangent_aval.dtype, "same_kind"):
        return convert_element_type(t, tangent_aval.dtype)
    if (actual.shape, actual.dtype) != (tangent_aval.shape, tangent_aval.dtype):
        raise TypeError(message(str(actual)))
    (t,) = copy_writable([t])
    return strong(t)


_PYTHON_NUMBERS = (int, float, complex)


def checked_cotangents(call: CustomCall, who: str, cts: Sequence[Any], avals: Sequence[Any]) -> list[Value]:
    """Return the cotangents that a rule returned, a tree for each argument, as a list of one for each leaf.

    Raises: TypeError that names the rule and the argument.
    """
    leaves: list[Value] = []
    for i, (tree, ct) in enumerate(zip(call.in_tree.children(), cts)):
        leaves += cotangent_leaves(tree, ct, f"{who} returned, for argument {i},")
    messages = [partial(_ill_typed, call, who, i, aval) for i, aval in enumerate(avals)]
    is_weak = [aval.weak_type for aval in avals]
    return list(map(checked_tangent, leaves, [aval.strip_weak_type() for aval in avals], messages, is_weak))


def _ill_typed(call: CustomCall, who: str, i: int, aval: Any, actual: str) -> str:
    """Return the message for a cotangent that does not have the type of leaf `i` of the arguments."""
    aval, name = aval.strip_weak_type(), call.arg_names()[i]
    tangent_aval = aval.to_tangent_aval()
    advice = "None, because it has no derivative" if tangent_aval.dtype == float0 else str(tangent_aval)
    return f"{who} returned a cotangent of {actual} for {name}, which is {aval}. Return {advice}."


def one_each(count: int) -> str:
    """Return '2 cotangents', or '1 cotangent'."""
    return f"{count} cotangent{'s' * (count != 1)}"


def cotangent_leaves(tree: PyTreeDef, ct: Any, who: str) -> list[Value]:
    """Return the leaves of `ct`, a cotangent of an argument of structure `tree`; None stands for a zero subtree.

    Raises: TypeError if the structures differ.
    """
    if tree.is_leaf and is_array_like(ct):  # nearly always
        return [ct]
    nonzero_leaves = [x for x in tree_leaves(ct, is_leaf=lambda x: x is None) if x is not None]
    try:
        leaves = flatten_axes("the cotangent", tree, ct)
        fits = len(nonzero_leaves) == sum(x is not None for x in leaves)  # only None may stand for more than one leaf
    except ValueError:
        fits = False
    if not fits:
        raise TypeError(
            f"{who} a cotangent of the structure {tree_structure(ct)}, but the argument has the structure {tree}. "
            "Return one cotangent for each leaf; None stands for zero."
        )
    return leaves
