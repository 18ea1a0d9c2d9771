"""`custom_vjp`: a function with its own rule for reverse mode; `fwd` returns the residuals that `bwd` needs.

Read next: `custom_call.py`, which both kinds of rules share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from calque_autodiff.custom.custom_call import CustomCall, CustomFunction, checked_tangent, rule_tangents, run_rule
from calque_autodiff.custom.custom_jvp import flat_jvp
from calque_autodiff.verbs.forward import jvp
from calque_core import CustomRules, UnexpectedTracerError, float0, typeof
from calque_core.extend import call as call_user
from calque_core.extend import check_callable, describe_function, describe_value, is_array_like, marked
from calque_pytree import PyTreeDef, flatten_axes, tree_flatten, tree_leaves, tree_map, tree_structure

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
    Raises, when called: AttributeError if it has no rule; TypeError if an argument is not an array.

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
        pair = run_rule(fwd, "the fwd rule", *args)
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise TypeError(
                f"the fwd rule {describe_function(fwd)} of {call.name} returned {describe_value(pair)}. Return a pair: "
                "the output, and the residuals for bwd."
            )
        outs = call.outputs(pair[0], fwd)
        leaves, tree = tree_flatten(pair[1])
        is_array = [is_array_like(x) for x in leaves]
        static_residuals = [None if a else x for x, a in zip(leaves, is_array)]
        in_avals = [typeof(x) for x in primals]
        backward = _Backward(call, bwd, symbolic_zeros, tree, static_residuals, in_avals)
        return outs, marked(leaves, is_array), backward

    return forward


class _Backward:
    """The backward half of one call: takes residuals and cotangents as lists."""

    __slots__ = ("call", "in_avals", "rule", "static_residuals", "symbolic_zeros", "tree")

    def __init__(
        self,
        call: CustomCall,
        rule: Rule,
        symbolic_zeros: bool,
        tree: PyTreeDef,
        static_residuals: Sequence[Any],
        in_avals: Sequence[Any],
    ) -> None:
        self.call, self.rule, self.symbolic_zeros = call, rule, symbolic_zeros
        self.tree, self.static_residuals, self.in_avals = tree, static_residuals, in_avals

    def __call__(self, residuals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
        arrays = iter(residuals)
        residual_tree = self.tree.unflatten([next(arrays) if x is None else x for x in self.static_residuals])
        assert self.call.out_tree is not None
        ct = self.call.out_tree.unflatten(rule_tangents(cts, self.symbolic_zeros))
        try:
            returned = call_user(self.rule, "the bwd rule", *self.call.statics, residual_tree, ct)
        except UnexpectedTracerError as error:
            static = [x for x in self.static_residuals if x is not None]
            if static:
                error.add_note(
                    f"The residuals of {self.call.name} hold {describe_value(static[0])}, which may close over traced "
                    "values. Return these values themselves from fwd."
                )
            raise
        return self.cotangents(returned)

    def cotangents(self, returned: Any) -> list[Value]:
        """Return the cotangents in `returned`, the result of the rule: one for each leaf of the arguments.

        Raises: TypeError that names the rule and the argument.
        """
        who = f"the bwd rule {describe_function(self.rule)} of {self.call.name}"
        trees = self.call.in_tree.children()
        if not isinstance(returned, (tuple, list)) or len(returned) != len(trees):
            raise TypeError(
                f"{who} returned {describe_value(returned)}, but it needs a tuple of {cotangents(len(trees))}, one for "
                "each argument that is not static. Return None for a zero cotangent."
            )
        leaves: list[Value] = []
        for i, (tree, ct) in enumerate(zip(trees, returned)):
            leaves += cotangent_leaves(tree, ct, f"{who} returned, for argument {i},")
        avals = [aval.strip_weak_type() for aval in self.in_avals]
        messages = [self._message(who, i, aval) for i, aval in enumerate(avals)]
        is_weak = [aval.weak_type for aval in self.in_avals]
        return list(map(checked_tangent, leaves, avals, messages, is_weak))

    def _message(self, who: str, i: int, aval: Any) -> Callable[[str], str]:
        def message(actual: str) -> str:
            return ill_typed_cotangent(who, actual, self.call.arg_names()[i], aval)

        return message


def cotangents(count: int) -> str:
    """Return '2 cotangents', or '1 cotangent'."""
    return f"{count} cotangent{'s' * (count != 1)}"


def ill_typed_cotangent(who: str, actual: str, name: str, aval: Any) -> str:
    """Return the message for a cotangent whose type is not that of the argument `name`."""
    tangent_aval = aval.to_tangent_aval()
    advice = "None, because it has no derivative" if tangent_aval.dtype == float0 else str(tangent_aval)
    return f"{who} returned a cotangent of {actual} for {name}, which is {aval}. Return {advice}."


def cotangent_leaves(tree: PyTreeDef, ct: Any, who: str) -> list[Value]:
    """Return the leaves of `ct`, a cotangent of an argument of structure `tree`; None stands for a zero subtree.

    Raises: TypeError if the structures differ.
    """
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
