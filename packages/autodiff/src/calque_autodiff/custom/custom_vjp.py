"""`custom_vjp`: a function with its own rule for reverse mode; `fwd` returns the residuals that `bwd` needs.

`custom_gradient`: a function that returns its own backward function beside its result.

Read next: `custom_rules.py`, for functions with rules of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calque_autodiff.custom.custom_jvp import checked_tangent, flat_jvp, rule_tangents, run_rule
from calque_autodiff.custom.optimized_fwd import optimized_fwd
from calque_autodiff.verbs.forward import jvp
from calque_core import CustomRules, UnexpectedTracerError, eval_jaxpr, hoist_tracers, stage, typeof
from calque_core.engine import (
    CustomCall,
    CustomFunction,
    FlatFunction,
    Signature,
    add_remedy,
    captured_tracers,
    describe_value,
    has_tangent,
    is_array_like,
    named_after,
    returned_pair,
)
from calque_core.engine import call as call_user
from calque_core.extend import check_callable, describe_function, marked
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
    optimize_remat = False

    def defvjp(
        self,
        fwd: Rule,
        bwd: Rule,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        *,
        jvp: Rule | str | None = None,
    ) -> None:
        """Give the rule: `fwd(*args) -> (out, residuals)`, `bwd(*static, residuals, ct) -> tuple of cotangents`.

        `bwd` returns one per argument that is not static; None stands for zero.  Residuals are any pytree.  With
        `symbolic_zeros`, `fwd` takes `CustomVJPPrimal`s in place of arguments, and zero cotangents are `SymbolicZero`s.
        With `optimize_remat`, a program calls the function in place of `fwd` where nobody uses the residuals, as in
        the first pass of `checkpoint`; `fwd` must then have no effect, and the function's results.
        `jvp` makes forward mode work too: a rule as `custom_jvp.defjvp` takes it, or "fwd" to differentiate `fwd`.
        """
        for rule in (fwd, bwd):
            check_callable(rule, "defvjp")
        if isinstance(jvp, str) and jvp != "fwd":
            raise ValueError(f'defvjp got jvp={jvp!r}. Give a rule, or "fwd" to differentiate fwd.')
        if jvp is not None and jvp != "fwd":
            check_callable(jvp, "defvjp")
        self.fwd, self.bwd, self.symbolic_zeros, self.optimize_remat = fwd, bwd, symbolic_zeros, optimize_remat
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
            raise self._without_rule("defvjp")
        return call.rules(
            (self.fwd, self.bwd, self.jvp),
            jvp=None if self.jvp is None else flat_jvp(call, self.jvp, symbolic_zeros=False),
            fwd=self._forward(call, flat_fwd(call, self.fwd, self.bwd, self.symbolic_zeros)),
        )

    def _forward(self, call: CustomCall, fwd: Any) -> Any:
        """Return the forward half of one call, on lists."""
        if not self.optimize_remat:
            return fwd
        function = lambda *leaves: tree_leaves(call.bind(leaves, self.rules(call)))
        return optimized_fwd(call.name.split(" ")[0], fwd, function, self.signature.fun)


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
    advice = "None, because it has no derivative" if not has_tangent(aval) else str(tangent_aval)
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


def custom_gradient(fun: Callable[P, tuple[R, Callable[[Any], Any]]]) -> Callable[P, R]:
    """Return a function of `out` with a derivative of its own, from `fun`, which returns the pair `(out, vjp)`.

    `vjp(ct)` takes a cotangent of the output and returns a tuple of cotangents, one per argument; for one argument it
    may return the cotangent bare.  It may use any value that `fun` has computed.  Forward mode needs a rule of its
    own: `custom_vjp` takes one for each mode.
    Raises: TypeError if `fun` returns no such pair.

    >>> from calque_autodiff import custom_gradient, grad
    >>> @custom_gradient
    ... def square(x):
    ...     return x * x, lambda ct: ct * 2.0 * x
    >>> square(3.0), grad(square)(3.0)
    (9.0, np.float64(6.0))
    """
    check_callable(fun, "custom_gradient")

    def both(*args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], Any]]:
        pair = call_user(fun, "custom_gradient", *args, **kwargs)
        if not (isinstance(pair, tuple) and len(pair) == 2 and callable(pair[1])):
            raise TypeError(
                f"custom_gradient of {describe_function(fun)}: the function returned {describe_value(pair)}. Return a "
                "pair: the output, and a function from its cotangent to the cotangents of the arguments."
            )
        return pair

    @named_after(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[0]

    @named_after(fun)
    def fwd(*args: Any) -> tuple[Any, Any]:
        out, vjp = both(*tree_map(_writable_copy, args))
        return out, _close_over_tracers(_with_tuple_result(vjp, len(args)), out)

    @named_after(fun)
    def bwd(residuals: Any, ct: Any) -> tuple[Any, ...]:
        cotangents, tracers = residuals
        return cotangents(tracers, ct)  # type: ignore[no-any-return]

    function = custom_vjp(value)
    function.signature = Signature("custom_gradient", value, (), ())
    function.defvjp(fwd, bwd)
    return function


def _writable_copy(x: Value) -> Value:
    """Return a copy of an array that the user can write to: the backward function may use it later."""
    return x.copy() if type(x) is np.ndarray else x


def _with_tuple_result(vjp: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """Return a backward function that returns a tuple, also for one argument."""

    @named_after(vjp)
    def cotangents(ct: Any) -> Any:
        cts = vjp(ct)
        return (cts,) if count == 1 and not isinstance(cts, tuple) else cts

    return cotangents


def _close_over_tracers(vjp: Callable[[Any], Any], out: Any) -> tuple[Callable[..., Any], list[Value]]:
    """Return a backward function of its captured tracers and a cotangent, and these tracers.

    The trace of the forward half may have ended when it is called.
    """
    if not captured_tracers([vjp]):
        return lambda _, ct: vjp(ct), []
    _, in_tree = tree_flatten(((out,), {}))
    flat = FlatFunction(vjp, in_tree, "custom_gradient")
    avals = [typeof(x).strip_weak_type().to_tangent_aval() for x in tree_leaves(out)]
    jaxpr, tracers = hoist_tracers(stage(flat, avals, verb="custom_gradient", user_fun=vjp))

    def run(values: list[Value], ct: Any) -> Any:
        return flat.out_tree.unflatten(eval_jaxpr(jaxpr, jaxpr.consts, *values, *tree_leaves(ct)))

    return run, list(tracers)
