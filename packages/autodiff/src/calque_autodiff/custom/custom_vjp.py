"""`custom_vjp`: a function with its own rule for reverse mode; `fwd` returns the residuals that `bwd` needs.

Read next: `custom_rules.py`, for functions with rules of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from calque_autodiff.custom.custom_jvp import flat_jvp, rule_tangents
from calque_autodiff.custom.returned import checked_cotangents, one_each
from calque_autodiff.verbs.forward import jvp
from calque_core import CustomRules, UnexpectedTracerError, typeof
from calque_core.extend import (
    CustomCall,
    CustomFunction,
    add_remedy,
    check_callable,
    describe_value,
    is_array_like,
    marked,
    returned_pair,
    run_rule,
)
from calque_core.extend import call as call_user
from calque_pytree import PyTreeDef, tree_flatten, tree_map

P = ParamSpec("P")
R = TypeVar("R")
Value = Any
Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class CustomVJPPrimal:
    """An argument of `fwd` under `symbolic_zeros`: its value, and whether it is differentiated."""

    value: Any
    perturbed: bool


class custom_vjp(CustomFunction[P, R]):
    """Return `fun` as a function whose derivative in reverse mode is the rule of `defvjp`.

    Every transformation uses the rule: `grad` and `vjp`, under `vmap`, `jit`, `scan`, at any order; forward mode needs
    a jvp rule beside it.  The arguments named by `static_argnums` (or `static_argnames`; also accepted under
    the field's names `nondiff_argnums` and `nondiff_argnames`) may be any objects: `fwd` takes them in their places,
    `bwd` in front.
    Raises, when called under a transformation: AttributeError if it has no rule; TypeError if an argument is not an
    array.

    >>> from calque_autodiff import custom_vjp, grad
    >>> from calque_core import lax
    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (lax.clamp(-1.0, ct, 1.0),))
    >>> grad(lambda x: 100.0 * clip_gradient(x))(3.0)
    np.float64(1.0)
    """

    verb = "custom_vjp"
    fwd: Rule | None = None
    bwd: Rule | None = None
    jvp: Rule | None = None
    symbolic_zeros = False

    def defvjp(self, fwd: Rule, bwd: Rule, symbolic_zeros: bool = False, jvp: Rule | str | None = None) -> None:
        """Give the rule: `fwd(*args) -> (out, residuals)`, `bwd(*static, residuals, ct) -> tuple of cotangents`.

        `bwd` returns one per argument that is not static; None stands for zero.  Residuals are any pytree.  With
        `symbolic_zeros`, `fwd` takes `CustomVJPPrimal`s in place of arguments, and zero cotangents are `SymbolicZero`s.
        `jvp` makes forward mode work too: a rule as `custom_jvp.defjvp` takes it, or "fwd" to differentiate `fwd`.
        """
        for rule in (fwd, bwd):
            check_callable(rule, "defvjp")
        if isinstance(jvp, str) and jvp != "fwd":
            raise ValueError(f'defvjp got jvp={jvp!r}. Give a rule, or "fwd" to differentiate fwd.')
        if jvp is not None and jvp != "fwd":
            check_callable(jvp, "defvjp")
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros
        self.jvp = self._jvp_of_fwd if isinstance(jvp, str) else jvp

    def _jvp_of_fwd(self, *args: Any) -> tuple[Any, Any]:
        """Differentiate `fwd` forwards."""
        *statics, primals, tangents = args

        def value(*dynamic: Any) -> Any:
            assert self.fwd is not None
            args_of_fwd = tree_map(lambda x: CustomVJPPrimal(x, True), dynamic) if self.symbolic_zeros else dynamic
            return self.fwd(*self.signature.merged(statics, args_of_fwd))[0]

        return jvp(value, primals, tangents)

    def rules(self, call: CustomCall) -> CustomRules:
        """Return the rules, on lists, for one call."""
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"{self.signature.caller} has no rule. Give one with defvjp, or leave custom_vjp out.")
        return call.rules(
            (self.fwd, self.bwd, self.jvp),
            jvp=None if self.jvp is None else flat_jvp(call, self.jvp, symbolic_zeros=False),
            fwd=flat_fwd(call, self.fwd, self.bwd, self.symbolic_zeros),
        )


def flat_fwd(call: CustomCall, fwd: Rule, bwd: Rule, symbolic_zeros: bool) -> Any:
    """Return a user's pair of rules as a function of lists."""

    def forward(primals: Sequence[Value], nonzeros: Sequence[bool]) -> tuple[list[Value], list[Value], Any]:
        leaves_of_fwd = [CustomVJPPrimal(x, n) for x, n in zip(primals, nonzeros)] if symbolic_zeros else primals
        args = call.signature.merged(call.statics, call.in_tree.unflatten(leaves_of_fwd))
        returned = run_rule(fwd, "the fwd rule", *args)
        out, residuals = returned_pair(call.rule_name("fwd rule", fwd), returned, "the residuals for bwd")
        outs = call.outputs(out, fwd)
        leaves, tree = tree_flatten(residuals)
        is_array = [is_array_like(x) for x in leaves]
        static_leaves = [None if a else x for x, a in zip(leaves, is_array)]
        backward = flat_bwd(call, bwd, symbolic_zeros, tree, static_leaves, [typeof(x) for x in primals])
        return outs, marked(leaves, is_array), backward

    return forward


def flat_bwd(
    call: CustomCall,
    bwd: Rule,
    symbolic_zeros: bool,
    tree: PyTreeDef,
    static_leaves: Sequence[Any],
    in_avals: Sequence[Any],
) -> Any:
    """Return a user's backward half as a function of lists; residuals have the structure `tree`."""

    def backward(residuals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        arrays = iter(residuals)
        residual_tree = tree.unflatten([next(arrays) if x is None else x for x in static_leaves])
        assert call.out_tree is not None
        ct = call.out_tree.unflatten(rule_tangents(cts, symbolic_zeros))
        try:
            returned = call_user(bwd, "the bwd rule", *call.statics, residual_tree, ct)
        except UnexpectedTracerError as error:
            static = [x for x in static_leaves if x is not None]
            if static:
                add_remedy(
                    error,
                    f"The residuals of {call.name} hold {describe_value(static[0])}, which may close over traced "
                    "values. Return these values themselves from fwd.",
                )
            raise
        who, count = call.rule_name("bwd rule", bwd), len(call.in_tree.children())
        if not isinstance(returned, (tuple, list)) or len(returned) != count:
            raise TypeError(
                f"{who} returned {describe_value(returned)}, but it needs a tuple of {one_each(count)}, one for each "
                "argument that is not static. Return None for a zero cotangent."
            )
        return checked_cotangents(call, who, returned, in_avals)

    return backward
