"""What a program with derivative rules of its own is: one whose rules can be told to be off by a factor.

One idea: where a rule is right, nobody can tell whether it was used.  So a program is made with a factor, by which its
rules are too large; the same program without rules gets such derivatives by `stretched`, which knows nothing of rules.
Under every transformation the two have to agree, and with a factor of 1 the rules are right.

Read next: `custom.py`, `custom_backwards.py`, `custom_batches.py`, `custom_insides.py` and `custom_places.py`, the
table; `test_custom.py`, the law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from program import FLOATS, Program, always, numbers

from calque_autodiff import custom_jvp, custom_rules, custom_vjp, jvp, linearize, vjp
from calque_batching import sequential_vmap, vmap
from calque_core import lax, typeof
from calque_pytree import tree_map

VECTOR, MATRIX, NUMBER = numbers((3,)), numbers((4, 3)), numbers(())
POSITIVE = numbers((3,), 0.5, 2.0)
COUNT, COUNTS = always("int32", ()), always("int32", (3,))
A_LITTLE = 1.25  # a factor that may be applied often without numbers that rounding errors hide in


class Row(NamedTuple):
    """A program: `ruled(factor)` and `plain(factor)` give its function with rules and without.

    `calls` is how many functions with rules lie on the way from any argument to any result, 0 if that differs.
    """

    name: str
    ruled: Callable[[float], Callable[..., Any]]
    plain: Callable[[float], Callable[..., Any]]
    makers: Sequence[Callable[..., Any]]
    calls: int = 1
    dtypes: Sequence[str] = FLOATS

    def on(self, fun: Callable[..., Any]) -> Program:
        """Return the program that computes `fun`, which is one of the two."""
        return Program(self.name, fun, self.makers, self.dtypes, 64, True, 64)

    @property
    def right(self) -> Program:
        """The program with right rules."""
        return self.on(self.ruled(1.0))


def stretched(factor: float, tree: Any) -> Any:
    """Return the values of a tree with tangents that are `factor` times as large; exact for a factor of 2."""
    return tree_map(lambda x: _stretched(factor, x) if typeof(x).dtype.kind in "fc" else x, tree)


def _stretched(factor: float, x: Any) -> Any:
    return factor * x + lax.stop_gradient((1.0 - factor) * x)


def off(fun: Callable[..., Any]) -> Callable[[float], Callable[..., Any]]:
    """Return, for a factor, `fun` with derivatives that are off by it."""
    return lambda factor: lambda *args: stretched(factor, fun(*args))


def off_inside(fun: Callable[..., Any]) -> Callable[[float], Callable[..., Any]]:
    """Return the same for a function whose rule uses the function itself: each order of derivative is off once more."""
    return lambda factor: lambda *args: fun(*stretched(factor, args))


# Any function with rules, which are those of its operations


def with_jvp(fun: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return `fun` with a jvp rule."""
    function = custom_jvp(fun)

    @function.defjvp
    def rule(primals, tangents):
        return function(*primals), scaled(factor, jvp(fun, primals, tangents)[1])

    return function


def with_vjp(fun: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return `fun` with a vjp rule, and a jvp rule beside it."""
    function = custom_vjp(fun)

    def forwards(primals, tangents):
        return function(*primals), scaled(factor, jvp(fun, primals, tangents)[1])

    def backwards(args, ct):
        return vjp(fun, *args)[1](scaled(factor, ct))

    function.defvjp(lambda *args: (function(*args), args), backwards, jvp=forwards)
    return function


def with_kept(fun: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return `fun` with a vjp rule whose residuals are those of its own derivative, and a jvp rule."""
    function = with_vjp(fun, factor)

    def forwards(*args):
        return function(*args), vjp(fun, *args)[1]

    function.defvjp(forwards, lambda f_vjp, ct: f_vjp(scaled(factor, ct)), jvp=function.jvp)
    return function


def with_optimized(fun: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return the same, with a forward half that a program replaces by the function where nobody uses its residuals."""
    function = with_kept(fun, factor)
    function.optimize_remat = True
    return function


def with_batch(fun: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """Return `fun`, of one result, with a jvp rule and a batching rule."""
    function = custom_rules(fun)

    @function.def_jvp
    def forwards(primals, tangents):
        return function(*primals), scaled(factor, jvp(fun, primals, tangents)[1])

    @function.def_batch
    def batch(size, in_batched, *args):
        return vmap(fun, in_axes=tuple(0 if m else None for m in in_batched), axis_size=size)(*args), True

    return function


KINDS = {"jvp": with_jvp, "vjp": with_vjp, "kept": with_kept, "optimized": with_optimized, "batch": with_batch}


def ruled(kind: str, fun: Callable[..., Any], factor: float = A_LITTLE) -> Callable[..., Any]:
    """Return `fun` with rules of a kind, which are off by a factor."""
    return KINDS[kind](fun, factor)


def scaled(factor: float, tangents: Any) -> Any:
    """Return tangents times a factor; those of integers as they are."""
    return tree_map(lambda t: factor * t if typeof(t).dtype.kind in "fc" else t, tangents)


def curve(x: Any, y: Any) -> Any:
    return lax.sin(x) * y


# A row for each primitive
CALLS: dict[str, list[Program]] = {
    "custom_jvp_call": [Program("custom_jvp_call", with_jvp(curve), (VECTOR, VECTOR), ulps=8)],
    "custom_vjp_call": [Program("custom_vjp_call", with_vjp(curve), (VECTOR, VECTOR), ulps=8)],
    "custom_vjp_fwd": [
        Program("custom_vjp_fwd", lambda x, y: vjp(with_optimized(curve), x, y)[0], (VECTOR, VECTOR), ulps=8)
    ],
    "custom_vmap_call": [Program("custom_vmap_call", sequential_vmap(curve), (VECTOR, VECTOR), ulps=8)],
    "custom_vjp_linear": [
        Program(
            "custom_vjp_linear",
            lambda x, y: linearize(with_vjp(lax.sin), x)[1](y),
            (VECTOR, VECTOR),
            ulps=8,
        )
    ],
}
