"""`custom_gradient`: a function that returns its own backward function beside its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calque_autodiff.custom.custom_vjp import custom_vjp
from calque_core import eval_jaxpr, hoist_tracers, stage, typeof
from calque_core.extend import (
    FlatFunction,
    Signature,
    call,
    captured_tracers,
    check_callable,
    describe_function,
    describe_value,
    named_after,
)
from calque_pytree import tree_flatten, tree_leaves, tree_map

P = ParamSpec("P")
R = TypeVar("R")
Value = Any


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
        pair = call(fun, "custom_gradient", *args, **kwargs)
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
