"""`custom_jvp`: a function with its own rule for forward mode; reverse mode transposes the same rule.

Read next: `custom_vjp.py`, for rules of reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calque_core import CustomRules, ShapedArray, ShapeError, Zero, add_tangents, float0, instantiate_zeros, typeof
from calque_core.engine import (
    CustomCall,
    CustomFunction,
    copy_writable,
    has_tangent,
    is_array_like,
    leaf_names,
    own_context,
    returned_pair,
    same_type,
    strong,
    zero_of,
)
from calque_core.engine import call as call_user
from calque_core.extend import check_callable, zero_tangent
from calque_core.lax import convert_element_type
from calque_pytree import tree_flatten, tree_leaves, tree_map

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Value = Any
Rule = Callable[..., Any]


class custom_jvp(CustomFunction[P, R]):
    """Return `fun` as a function whose derivative is the rule of `defjvp`.

    Every transformation uses the rule: `jvp` and `grad`, under `vmap`, `jit`, `scan`, at any order.  The arguments
    named by `static_argnums` (or `static_argnames`; also accepted under the field's names `nondiff_argnums` and
    `nondiff_argnames`) may be any objects; the rule takes them unchanged, in front.
    Raises, when called under a transformation: AttributeError if it has no rule; TypeError if an argument is not an
    array.

    >>> from calque_autodiff import custom_jvp, grad
    >>> from calque_core import lax
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return lax.log1p(lax.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), x_dot * (1.0 - 1.0 / (1.0 + lax.exp(x)))
    >>> grad(log1pexp)(0.0)
    np.float64(0.5)
    """

    verb = "custom_jvp"
    rule: Rule | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: F, symbolic_zeros: bool = False) -> F:
        """Give the rule: `jvp(*static, primals, tangents) -> (out, out_dot)`; return it, so this is a decorator.

        `primals` and `tangents` are tuples of the arguments that are not static.  Tangents that are zero are arrays of
        zeros (of dtype `float0` for integers), or, with `symbolic_zeros`, of class `SymbolicZero`.
        """
        check_callable(jvp, "defjvp")
        self.rule, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Rule | None) -> None:
        """Give a rule for each argument, or None for zero: `rule(x_dot, out, *primals)`, one term of the tangent.

        >>> from calque_autodiff import custom_jvp, grad
        >>> times = custom_jvp(lambda x, y: x * y)
        >>> times.defjvps(lambda x_dot, out, x, y: x_dot * y, None)
        >>> grad(times, argnums=(0, 1))(2.0, 3.0)
        (np.float64(3.0), np.float64(0.0))
        """
        for rule in jvps:
            if rule is not None:
                check_callable(rule, "defjvps")
        if self.signature.argnums:
            raise TypeError(f"defjvps of {self.signature.caller} does not support static arguments. Use defjvp.")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise TypeError(
                    f"defjvps of {self.signature.caller} got {len(jvps)} rules for {len(primals)} arguments. Give one "
                    "rule, or None, per argument."
                )
            out = self(*primals)  # type: ignore[call-arg]
            out_dot = tree_map(zero_tangent, out)
            for rule, x_dot in zip(jvps, tangents):
                if rule is not None and type(x_dot) is not Zero:
                    out_dot = tree_map(add_tangents, out_dot, rule(x_dot, out, *primals))
            return out, out_dot

        self.defjvp(jvp, symbolic_zeros=True)

    def rules(self, call: CustomCall) -> CustomRules:
        """Return the rule, on lists, for one call."""
        if self.rule is None:
            raise self._without_rule("defjvp")
        return call.rules((self.rule,), jvp=flat_jvp(call, self.rule, self.symbolic_zeros))


def run_rule(rule: Rule, caller: str, *args: Any) -> Any:
    """Return the result of a user's rule; its operations are reported at its own lines, not at the function's call."""
    context = own_context()
    before = context.source
    try:
        context.source = None
        return call_user(rule, caller, *args)
    finally:
        context.source = before


def flat_jvp(call: CustomCall, rule: Rule, symbolic_zeros: bool) -> Any:
    """Return a user's jvp rule as a function of lists."""

    def jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        args = call.in_tree.unflatten(primals)
        dots = call.in_tree.unflatten(rule_tangents(tangents, symbolic_zeros))
        who = call.rule_name("jvp rule", rule)
        out, out_dot = returned_pair(who, run_rule(rule, "the jvp rule", *call.statics, args, dots), "its tangent")
        outs = call.outputs(out, rule)
        is_weak = any(typeof(x).weak_type for x in primals)
        return outs, _out_tangents(call, who, out, out_dot, is_weak)

    return jvp


def rule_tangents(tangents: Sequence[Value], symbolic_zeros: bool) -> list[Value]:
    """Return tangents or cotangents for a rule: zeros as arrays, or as `SymbolicZero`s if `symbolic_zeros`."""
    return list(tangents) if symbolic_zeros else [instantiate_zeros(t) for t in tangents]


def _out_tangents(call: CustomCall, who: str, out: Any, out_dot: Any, is_weak: bool) -> list[Value]:
    """Return the leaves of `out_dot`, the tangent that a rule returned beside `out`: one for each output.

    Raises: TypeError that names the rule and the output.
    """
    out_dots, tree = tree_flatten(out_dot)
    if tree != call.out_tree:
        raise TypeError(
            f"{who} returned a tangent of the structure {tree} for an output of the structure {call.out_tree}. Return "
            "one tangent for each output."
        )

    avals = [typeof(x).strip_weak_type() for x in tree_leaves(out)]
    messages = [partial(_ill_typed, who, out, i, aval) for i, aval in enumerate(avals)]
    return [checked_tangent(t, a, message, is_weak) for t, a, message in zip(out_dots, avals, messages)]


def _ill_typed(who: str, out: Any, i: int, aval: Any, actual: str) -> str:
    """Return the message for a tangent that does not have the type of leaf `i` of the output."""
    tangent_aval = aval.to_tangent_aval()
    advice = "zeros of dtype float0" if not has_tangent(aval) else str(tangent_aval)
    path = list(leaf_names("", out))[i]
    return f"{who} returned a tangent of {actual} for the output{path}, which is {aval}. Return {advice}."


def checked_tangent(t: Value, aval: Any, message: Callable[[str], str], is_weak: bool = False) -> Value:
    """Return `t`, which a rule returned as tangent or cotangent of a value of type `aval`; a `Zero` for None.

    `is_weak` marks a Python scalar: it has no dtype of its own but its tangents have one, so `t` is converted.  An
    array that is writable is copied: the rule may have kept it.
    Raises: TypeError, with `message` of the type of `t`, if `t` does not fit; ShapeError if its shape does not.
    """
    tangent_aval = aval.to_tangent_aval()
    if t is None or type(t) is Zero:
        return zero_of(tangent_aval)
    if not is_array_like(t) and getattr(t, "dtype", None) != float0:
        raise TypeError(message(f"a value of type {type(t).__name__}"))
    if not has_tangent(aval):
        if getattr(t, "dtype", None) == float0:
            return zero_of(tangent_aval)
        raise TypeError(message(str(typeof(t))))
    actual = typeof(t)
    if type(tangent_aval) is not ShapedArray:
        if not same_type(actual, tangent_aval):
            raise TypeError(message(str(actual)))
        return t
    if type(t) in _PYTHON_NUMBERS and not tangent_aval.shape and np.can_cast(type(t), tangent_aval.dtype, "same_kind"):
        return tangent_aval.dtype.type(t)
    if is_weak and actual.shape == tangent_aval.shape and np.can_cast(actual.dtype, tangent_aval.dtype, "same_kind"):
        return convert_element_type(t, tangent_aval.dtype)
    if (actual.shape, actual.dtype) != (tangent_aval.shape, tangent_aval.dtype):
        raise (TypeError if actual.shape == tangent_aval.shape else ShapeError)(message(str(actual)))
    (t,) = copy_writable([t])
    return strong(t)


_PYTHON_NUMBERS = (int, float, complex)
