"""`custom_gradient`: a function that gives its own backward function along with its result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from calque_autodiff.custom.custom_call import Signature
from calque_autodiff.custom.custom_vjp import custom_vjp
from calque_core import eval_jaxpr, hoist_tracers, stage, typeof
from calque_core.calls.api_util import FlatFunction, call, check_callable, describe_value
from calque_core.frames.source import describe_function
from calque_core.jaxprs.captured import captured_tracers
from calque_pytree import tree_flatten, tree_leaves, tree_map

P = ParamSpec("P")
R = TypeVar("R")
Value = Any


def custom_gradient(fun: Callable[P, tuple[R, Callable[[Any], Any]]]) -> Callable[P, R]:
    """Make of `fun`, which returns a pair `(out, vjp)`, a function that returns `out` and is differentiated by `vjp`.

    `vjp(ct)` takes a cotangent of the output and gives a tuple of cotangents, one per argument; a function of one
    argument may give it bare.  It may refer to whatever `fun` has computed.
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
                "pair: the output, and a function from its cotangent to those of the arguments."
            )
        return pair

    @functools.wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[0]

    @functools.wraps(fun)
    def fwd(*args: Any) -> tuple[Any, Any]:
        out, vjp = both(*tree_map(_own, args))
        return out, _closed(_tupled(vjp, len(args)), out)

    @functools.wraps(fun)
    def bwd(residuals: Any, ct: Any) -> tuple[Any, ...]:
        cotangents, held = residuals
        return cotangents(held, ct)  # type: ignore[no-any-return]

    function = custom_vjp(value)
    function.signature = Signature("custom_gradient", value, (), ())
    function.defvjp(fwd, bwd)
    return function


def _own(x: Value) -> Value:
    """Return a copy of what the user can write to: a backward function may hold it until it is called."""
    return x.copy() if type(x) is np.ndarray else x


def _tupled(vjp: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """Return a backward function that gives a tuple, also for one argument."""

    @functools.wraps(vjp)
    def cotangents(ct: Any) -> Any:
        given = vjp(ct)
        return (given,) if count == 1 and not isinstance(given, tuple) else given

    return cotangents


def _closed(vjp: Callable[[Any], Any], out: Any) -> tuple[Callable[..., Any], list[Value]]:
    """Return a backward function of the tracers it holds and a cotangent, and these tracers.

    It is called when the trace of the forward half may have ended.
    """
    if not captured_tracers([vjp]):
        return lambda _, ct: vjp(ct), []
    _, in_tree = tree_flatten(((out,), {}))
    flat = FlatFunction(vjp, in_tree, "custom_gradient")
    avals = [typeof(x).strip_weak_type().to_tangent_aval() for x in tree_leaves(out)]
    jaxpr, held = hoist_tracers(stage(flat, avals, verb="custom_gradient", user_fun=vjp))

    def run(values: list[Value], ct: Any) -> Any:
        return flat.out_tree.unflatten(eval_jaxpr(jaxpr, jaxpr.consts, *values, *tree_leaves(ct)))

    return run, list(held)
