"""`custom_rules`: optional rules for every transformation on one function.

Read next: `custom_jvp.py` and `custom_vjp.py`, for functions that need one kind of rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from calque_autodiff.custom.custom_jvp import flat_jvp
from calque_autodiff.custom.custom_vjp import checked_cotangents, flat_fwd, one_each
from calque_autodiff.verbs.forward import jvp
from calque_core import CustomRules, UndefinedPrimal, Zero, add_tangents, instantiate_zeros, is_undefined_primal, typeof
from calque_core.engine import CustomCall, CustomFunction, describe_value, flat_batch, normalize_argnums, returned_pair
from calque_core.engine import call as call_user
from calque_core.extend import check_callable, describe_function, marked, merged, unmarked, zero_tangent
from calque_pytree import tree_leaves, tree_map

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Value = Any
Rule = Callable[..., Any]


class custom_rules(CustomFunction[P, R]):
    """Return `fun` as a function with optional rules; a transformation without a rule transforms its operations.

    Forward mode takes the jvp rule, reverse mode the vjp rule, or else the transpose of the jvp rule.  `vmap` takes the
    batching rule, and batches the derivative rules.  Static arguments may be any objects; derivative rules take them
    in front.

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

    def def_jvp(self, rule: F, symbolic_zeros: bool = False) -> F:
        """Give the rule for forward mode, as `custom_jvp.defjvp` takes it; return it, so this is a decorator."""
        check_callable(rule, "def_jvp")
        self.jvp, self.jvp_zeros = rule, symbolic_zeros
        return rule

    def def_linearize(self, fwd: Rule, apply: Rule) -> None:
        """Give the rule for forward mode in two halves: `fwd(*args) -> (out, residuals)`, `apply(residuals, *dots)`.

        `apply` is linear in the tangents `dots` of the arguments that are not static, and returns the tangent of `out`.

        >>> from calque_autodiff import custom_rules, jvp
        >>> square = custom_rules(lambda x: x * x)
        >>> square.def_linearize(lambda x: (x * x, 2.0 * x), lambda slope, x_dot: slope * x_dot)
        >>> jvp(square, (3.0,), (1.0,))
        (9.0, np.float64(6.0))
        """
        check_callable(fwd, "def_linearize")
        check_callable(apply, "def_linearize")

        def rule(*args: Any) -> tuple[Any, Any]:
            *statics, primals, tangents = args
            who = f"the function fwd, {describe_function(fwd)}, of the rule of {self.signature.caller}"
            returned = fwd(*self.signature.merged(statics, primals))
            out, residuals = returned_pair(who, returned, "the residuals for apply")
            return out, apply(*statics, residuals, *tangents)

        self.def_jvp(rule)

    def def_vjp(self, fwd: Rule, bwd: Rule, symbolic_zeros: bool = False) -> None:
        """Give the rule for reverse mode, as `custom_vjp.defvjp` takes it."""
        check_callable(fwd, "def_vjp")
        check_callable(bwd, "def_vjp")
        self.vjp = fwd, bwd, symbolic_zeros

    def def_transpose(self, rule: F, argnums: int | Sequence[int] = 0) -> F:
        """Say that the function is linear in some arguments together, and give its transpose in them; return the rule.

        `rule(ct, *args)` takes a cotangent of the result and the arguments that are not linear, in order.  It returns a
        tuple of one cotangent for each linear argument, or a single cotangent bare.  Derivatives need no other rule.

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

    def def_batch(self, rule: F) -> F:
        """Give the rule for `vmap`: `rule(axis_size, in_batched, *args) -> (out, out_batched)`; return it.

        Batched arguments have their batch axis in front; `in_batched` is a list with a bool in place of each array.
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
        rule, count = self.transpose, len(call.statics) + len(call.in_tree.children())
        forwards = None if self.jvp is None else flat_jvp(call, self.jvp, self.jvp_zeros)
        if rule is not None and self.jvp is None and self.vjp is None:
            forwards = flat_jvp(call, self._linear_jvp, symbolic_zeros=True)
        return call.rules(
            (self.jvp, self.vjp, self.batch, rule),
            jvp=forwards,
            fwd=None if self.vjp is None else flat_fwd(call, *self.vjp),
            batch=None if self.batch is None else flat_batch(call, self.batch),
            transpose=None if rule is None else flat_transpose(call, rule, self._linear(count)),
        )

    def _linear(self, count: int) -> list[bool]:
        """Return a mask of the linear arguments, of `count`, without the static arguments.

        Raises: ValueError for an argument that does not exist, or is static.
        """
        caller = f"def_transpose of {describe_function(self.fun)}"
        linear = normalize_argnums(self.linear_argnums, count, caller)
        static = self.signature.static_positions(count)
        if set(linear) & set(static):
            raise ValueError(
                f"{caller}: argument {min(set(linear) & set(static))} is static. Name arguments that hold arrays."
            )
        return [i in linear for i in range(count) if i not in static]

    def _linear_jvp(self, *args: Any) -> tuple[Any, Any]:
        """Differentiate; in the linear arguments the function is its own derivative."""
        *statics, primals, tangents = args
        is_linear = self._linear(len(statics) + len(primals))
        out = self(*self.signature.merged(statics, primals))  # type: ignore[call-arg]
        out_dot: Any = tree_map(zero_tangent, out)
        if any(map(is_perturbed, marked(tangents, is_linear))):
            in_tangents = [tree_map(instantiate_zeros, t) if m else x for x, t, m in zip(primals, tangents, is_linear)]
            out_dot = self(*self.signature.merged(statics, in_tangents))  # type: ignore[call-arg]
        if any(map(is_perturbed, unmarked(tangents, is_linear))):
            other_dots = [tree_map(zero_tangent, x) if m else t for x, t, m in zip(primals, tangents, is_linear)]
            dots = tree_map(instantiate_zeros, tuple(other_dots))
            other_out_dot = jvp(lambda *xs: self.fun(*self.signature.merged(statics, xs)), primals, dots)[1]  # type: ignore[call-arg]
            out_dot = tree_map(add_tangents, out_dot, other_out_dot)
        return out, out_dot


def is_perturbed(tangent: Any) -> bool:
    """Tell whether a tangent has a leaf that is not a symbolic zero."""
    return any(type(t) is not Zero for t in tree_leaves(tangent))


def flat_transpose(call: CustomCall, rule: Rule, is_linear: Sequence[bool]) -> Any:
    """Return a user's transpose rule as a function of lists."""

    def transpose(operands: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        assert call.out_tree is not None
        args = call.in_tree.unflatten(operands)
        known_args = unmarked(args, is_linear)
        who = call.rule_name("transpose rule", rule)
        if any(map(is_undefined_primal, tree_leaves(known_args))):
            raise TypeError(
                f"{who} cannot transpose an argument in which the function is not linear. Name the linear arguments "
                "in def_transpose."
            )
        ct = call.out_tree.unflatten([instantiate_zeros(ct) for ct in cts])
        returned = call_user(rule, "the transpose rule", *call.statics, ct, *known_args)
        num_linear = sum(is_linear)
        returned = (returned,) if num_linear == 1 and not isinstance(returned, tuple) else returned
        if not isinstance(returned, (tuple, list)) or len(returned) != num_linear:
            raise TypeError(f"{who} returned {describe_value(returned)}. Return a tuple of {one_each(num_linear)}.")
        avals = [x.aval if type(x) is UndefinedPrimal else typeof(x) for x in operands]
        bars = checked_cotangents(call, who, merged(is_linear, returned), avals)
        return [ct if type(x) is UndefinedPrimal else None for ct, x in zip(bars, operands)]

    return transpose
