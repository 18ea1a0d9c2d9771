"""`custom_rules`: rules for every transformation on one function, none of which is obligatory.

Read next: `custom_jvp.py` and `custom_vjp.py`, for functions that need one kind of rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calque_autodiff.custom.custom_call import CustomCall, CustomFunction, given_tangent
from calque_autodiff.custom.custom_jvp import flat_jvp
from calque_autodiff.custom.custom_vjp import cotangents, flat_fwd, ill_typed_cotangent, leaves_like
from calque_autodiff.verbs.forward import jvp
from calque_core import CustomRules, UndefinedPrimal, Zero, add_tangents, instantiate_zeros, typeof
from calque_core.calls.api_util import call as call_user
from calque_core.calls.api_util import check_arrays, check_callable, describe_value, normalize_argnums
from calque_core.frames.source import describe_function
from calque_core.ops.linear import zero_tangent
from calque_pytree import flatten_axes, tree_flatten, tree_leaves, tree_map

P = ParamSpec("P")
R = TypeVar("R")
Value = Any
Rule = Callable[..., Any]


class custom_rules(CustomFunction[P, R]):
    """Make of `fun` a function that transformations treat by the rules given for it, and otherwise as it is written.

    Forward mode takes the jvp rule, reverse mode the vjp rule, or else the transpose of the jvp rule.  `vmap` takes the
    batching rule, and batches the others.  Static arguments may be anything; rules of derivatives take them in front.

    >>> from calque_autodiff import custom_rules, grad, jvp
    >>> from calque_core import lax
    >>> f = custom_rules(lambda x: lax.sin(x))
    >>> _ = f.def_jvp(lambda primals, tangents: (f(*primals), tangents[0] * lax.cos(primals[0])))
    >>> f.def_vjp(lambda x: (f(x), lax.cos(x)), lambda cos_x, ct: (ct * cos_x,))
    >>> jvp(f, (0.0,), (2.0,))[1], grad(f)(0.0)
    (np.float64(2.0), np.float64(1.0))
    """

    verb = "custom_rules"
    jvp: Rule | None = None
    jvp_zeros = False
    vjp: tuple[Rule, Rule, bool] | None = None
    batch: Rule | None = None
    transpose: Rule | None = None
    linear_argnums: tuple[int, ...] = ()

    def def_jvp(self, rule: Rule, symbolic_zeros: bool = False) -> Rule:
        """Give the rule for forward mode, as `custom_jvp.defjvp` takes it; return it, so this is a decorator."""
        check_callable(rule, "def_jvp")
        self.jvp, self.jvp_zeros = rule, symbolic_zeros
        return rule

    def def_linearize(self, fwd: Rule, apply: Rule) -> None:
        """Give the rule for forward mode in two halves: `fwd(*args) -> (out, residuals)`, `apply(residuals, *dots)`.

        The second is linear in the tangents `dots` of the arguments that are not static, and gives that of `out`.

        >>> from calque_autodiff import custom_rules, jvp
        >>> square = custom_rules(lambda x: x * x)
        >>> square.def_linearize(lambda x: (x * x, 2.0 * x), lambda slope, x_dot: slope * x_dot)
        >>> jvp(square, (3.0,), (1.0,))
        (9.0, np.float64(6.0))
        """
        check_callable(fwd, "def_linearize")
        check_callable(apply, "def_linearize")

        def rule(*given: Any) -> tuple[Any, Any]:
            *statics, primals, tangents = given
            pair = fwd(*self.signature.merged(statics, primals))
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
                raise TypeError(
                    f"the first half {describe_function(fwd)} of the rule of {self.signature.what} returned "
                    f"{describe_value(pair)}. Return a pair: the output, and the residuals for the second half."
                )
            out, residuals = pair
            return out, apply(*statics, residuals, *tangents)

        self.def_jvp(rule)

    def def_vjp(self, fwd: Rule, bwd: Rule, symbolic_zeros: bool = False) -> None:
        """Give the rule for reverse mode, as `custom_vjp.defvjp` takes it."""
        check_callable(fwd, "def_vjp")
        check_callable(bwd, "def_vjp")
        self.vjp = fwd, bwd, symbolic_zeros

    def def_transpose(self, rule: Rule, argnums: int | Sequence[int] = 0) -> Rule:
        """Say that the function is linear in some arguments together, and give its transpose in them; return the rule.

        `rule(ct, *others)` takes a cotangent of the result and the arguments that are not linear, in order, and gives a
        cotangent for each linear argument: a tuple, or one bare.  Derivatives need no other rule then.

        >>> from calque_autodiff import custom_rules, linear_transpose
        >>> scale = custom_rules(lambda x, factor: factor * x)
        >>> _ = scale.def_transpose(lambda ct, factor: scale(ct, factor))
        >>> linear_transpose(lambda x: scale(x, 3.0), 1.0)(2.0)
        (np.float64(6.0),)
        """
        check_callable(rule, "def_transpose")
        self.transpose = rule
        self.linear_argnums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        return rule

    def def_batch(self, rule: Rule) -> Rule:
        """Give the rule for `vmap`: `rule(axis_size, in_batched, *args) -> (out, out_batched)`; return it.

        Batched arguments have their batch axis in front; `in_batched` is a tuple with a bool in place of each array.
        `out_batched` is a bool, or a pytree of them like `out`.

        >>> from calque_autodiff import custom_rules
        >>> double = custom_rules(lambda x: x + x)
        >>> _ = double.def_batch(lambda size, in_batched, x: (2.0 * x, True))
        >>> double(3.0)  # nothing is mapped
        6.0
        """
        check_callable(rule, "def_batch")
        self.batch = rule
        return rule

    def rules(self, call: CustomCall) -> CustomRules:
        """Return the rules, on lists, for one call."""
        forwards = flat_jvp(call, self.jvp, self.jvp_zeros) if self.jvp is not None else None
        if self.transpose is not None and self.jvp is None and self.vjp is None:
            forwards = flat_jvp(call, self._linear_jvp, symbolic_zeros=True)
        given = (self.jvp, self.vjp, self.batch, self.transpose)
        return call.rules(
            given,
            jvp=forwards,
            fwd=None if self.vjp is None else flat_fwd(call, *self.vjp),
            batch=None if self.batch is None else flat_batch(call, self.batch),
            transpose=None if self.transpose is None else flat_transpose(call, self.transpose, self._linear(call)),
        )

    def _linear(self, call: CustomCall) -> list[bool]:
        """Return which of the arguments that are not static are linear.

        Raises: ValueError for an argument that does not exist, or is static.
        """
        what = f"def_transpose of {describe_function(self.fun)}"
        count = len(call.statics) + len(call.in_tree.children())
        linear = normalize_argnums(self.linear_argnums, count, what)
        static = normalize_argnums(self.signature.argnums, count, what, "static_argnums")
        if set(linear) & set(static):
            raise ValueError(f"{what}: argument {min(set(linear) & set(static))} is static. Name arguments of arrays.")
        return [i in linear for i in range(count) if i not in static]

    def _linear_jvp(self, *given: Any) -> tuple[Any, Any]:
        """Differentiate: in the linear arguments the function is its own derivative."""
        *statics, primals, tangents = given
        count = len(statics) + len(primals)
        linear = normalize_argnums(self.linear_argnums, count, self.signature.what)
        static = normalize_argnums(self.signature.argnums, count, self.signature.what, "static_argnums")
        is_linear = [i in linear for i in range(count) if i not in static]
        out = self(*self.signature.merged(statics, primals))  # type: ignore[call-arg]
        out_dot: Any = tree_map(zero_tangent, out)
        if any(is_perturbed(t) for t, yes in zip(tangents, is_linear) if yes):
            moved = [tree_map(instantiate_zeros, t) if yes else x for x, t, yes in zip(primals, tangents, is_linear)]
            out_dot = self(*self.signature.merged(statics, moved))  # type: ignore[call-arg]
        if any(is_perturbed(t) for t, yes in zip(tangents, is_linear) if not yes):
            fixed = [tree_map(zero_tangent, x) if yes else t for x, t, yes in zip(primals, tangents, is_linear)]
            dots = tree_map(instantiate_zeros, tuple(fixed))
            by_others = jvp(lambda *xs: self.fun(*self.signature.merged(statics, xs)), primals, dots)[1]  # type: ignore[call-arg]
            out_dot = tree_map(add_tangents, out_dot, by_others)
        return out, out_dot


def is_perturbed(tangent: Any) -> bool:
    """Tell whether a tangent has a leaf that is not a symbolic zero."""
    return any(type(t) is not Zero for t in tree_leaves(tangent))


def flat_batch(call: CustomCall, rule: Rule) -> Any:
    """Return a user's batching rule as a function of lists."""

    def batch(size: int, is_mapped: Sequence[bool], leaves: Sequence[Value]) -> tuple[list[Value], list[bool]]:
        args = call.signature.merged(call.statics, call.in_tree.unflatten(leaves))
        mapped = call.signature.merged([False] * len(call.statics), call.in_tree.unflatten(is_mapped))
        pair = call_user(rule, "the batching rule", size, tuple(mapped), *args)
        who = f"the batching rule {describe_function(rule)} of {call.name}"
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise TypeError(
                f"{who} returned {describe_value(pair)}. Return a pair: the output, and whether it is batched."
            )
        outs, tree = tree_flatten(pair[0])
        try:
            out_batched = flatten_axes("out_batched", tree, pair[1])
        except ValueError as error:
            raise TypeError(f"{who}: {error}") from None
        check_arrays(outs, lambda: [f"output {i}" for i in range(len(outs))], who, "Return arrays and scalars.")
        call.check_form(tree, [_element(who, x, m, size) for x, m in zip(outs, out_batched)], who)
        return outs, out_batched

    return batch


def _element(who: str, out: Value, is_batched: Any, size: int) -> Any:
    """Return the type of one element of an output of a batching rule.

    Raises: TypeError if the rule does not say whether it is batched; ValueError if it is not of the batch's size.
    """
    if not isinstance(is_batched, (bool, np.bool_)):
        raise TypeError(f"{who} returned out_batched={is_batched!r}. Return True or False for each output.")
    aval = typeof(out).strip_weak_type()
    if not is_batched:
        return aval
    if aval.shape[:1] != (size,):
        raise ValueError(
            f"{who} returned {aval} as a batch of {size}. Put the batch axis, of size {size}, in front, or "
            "return False for an output that has none."
        )
    return aval.update(shape=aval.shape[1:])


def flat_transpose(call: CustomCall, rule: Rule, is_linear: Sequence[bool]) -> Any:
    """Return a user's transpose rule as a function of lists."""

    def transpose(cts: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
        assert call.out_tree is not None
        args = call.in_tree.unflatten(operands)
        others = [x for x, yes in zip(args, is_linear) if not yes]
        who = f"the transpose rule {describe_function(rule)} of {call.name}"
        if any(type(x) is UndefinedPrimal for x in tree_leaves(others)):
            raise TypeError(f"{who} was asked for the transpose in an argument in which the function is not linear.")
        ct = call.out_tree.unflatten([instantiate_zeros(ct) for ct in cts])
        given = call_user(rule, "the transpose rule", *call.statics, ct, *others)
        wanted = sum(is_linear)
        given = (given,) if wanted == 1 and not isinstance(given, tuple) else given
        if not isinstance(given, (tuple, list)) or len(given) != wanted:
            raise TypeError(f"{who} returned {describe_value(given)}. Return a tuple of {cotangents(wanted)}.")
        rest = iter(given)
        found: list[Value] = []
        for i, (tree, yes) in enumerate(zip(call.in_tree.children(), is_linear)):
            ct = next(rest) if yes else None
            found += leaves_like(tree, ct, f"{who} returned, for argument {i},")
        return [_cotangent(call, who, i, ct, x) for i, (ct, x) in enumerate(zip(found, operands))]

    return transpose


def _cotangent(call: CustomCall, who: str, i: int, ct: Value, operand: Value) -> Value:
    if type(operand) is not UndefinedPrimal:
        return None
    aval = operand.aval
    return given_tangent(ct, aval, lambda given: ill_typed_cotangent(who, given, call.arg_names()[i], aval))
