"""Branches and loops as Python runs them: what those of core have to compute.

One idea: a program that takes its control flow as an argument runs on core's operations and on these.  Derivatives
follow Python's control flow on the values, so these serve `jvp` and `vjp` too, but neither `jit` nor `vmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from custom_program import A_LITTLE, off

from calque_core import lax, typeof
from calque_pytree import tree_leaves, tree_map

Value = Any


def jit(fun: Callable[..., Any]) -> Callable[..., Any]:
    return fun


def ruled(kind: str, fun: Callable[..., Any], factor: float = A_LITTLE) -> Callable[..., Any]:
    return off(fun)(factor)


def cond(
    pred: Value, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, batched: str = "select"
) -> Any:
    return (true_fun if pred else false_fun)(*operands)


def switch(index: Value, branches: Sequence[Callable[..., Any]], *operands: Any, batched: str = "select") -> Any:
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoints: int | None = None,
    batched: str = "select",
) -> Any:
    value, steps = strong(init_val), 0
    while steps != max_steps and cond_fun(value):
        value, steps = like(value, body_fun(value)), steps + 1
    return value


def fori_loop(lower: Value, upper: Value, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    number, value = typeof(upper).dtype.type, strong(init_val)
    for i in range(int(lower), int(upper)):
        value = like(value, body_fun(number(i), value))
    return value


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    carry = strong(init)
    steps = length if length is not None else len(tree_leaves(xs)[0])
    if not steps:
        return carry, no_rows(f, carry, xs)
    ys: list[Any] = [None] * steps
    for i in reversed(range(steps)) if reverse else range(steps):
        after, ys[i] = f(carry, tree_map(lambda x: x[i], xs))  # noqa: B023
        carry = like(carry, after)
    return carry, tree_map(lambda *rows: stacked(rows), *ys)


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Combine one slice after the other, in the order of the definition."""
    size = np.shape(tree_leaves(elems)[0])[axis]
    if not size:
        return elems
    rows = [tree_map(lambda x: row(x, i, axis), elems) for i in range(size)][:: -1 if reverse else 1]  # noqa: B023
    for i in range(1, size):
        rows[i] = fn(rows[i - 1], rows[i])
    return tree_map(lambda *parts: lax.concatenate(parts, axis), *rows[:: -1 if reverse else 1])


def row(x: Value, i: int, axis: int) -> Value:
    """Return the slice of length 1 at `i`."""
    return x[(slice(None),) * axis + (slice(i, i + 1),)]


def strong(tree: Any) -> Any:
    """Return the leaves with Python scalars as NumPy's."""
    return tree_map(lambda x: np.asarray(x)[()] if type(x) in (bool, int, float) else x, tree)


def like(before: Any, after: Any) -> Any:
    """Return the next carry, with Python scalars of the dtypes of the last one."""
    return tree_map(lambda x, y: typeof(x).dtype.type(y) if type(y) in (bool, int, float) else y, before, after)


def stacked(rows: Sequence[Value]) -> Value:
    """Return the rows along a new leading axis."""
    return lax.concatenate([lax.reshape(strong(x), (1, *np.shape(x))) for x in rows], 0)


def no_rows(f: Callable[[Any, Any], Any], carry: Any, xs: Any) -> Any:
    """Return the results of a loop without steps: none of what a step would give."""
    _, y = f(carry, tree_map(lambda x: np.ones(np.shape(x)[1:], typeof(x).dtype), xs))
    return tree_map(lambda x: np.empty((0, *np.shape(x)), typeof(x).dtype), y)
