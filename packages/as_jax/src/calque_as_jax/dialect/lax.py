"""Names of `jax.lax` that differ from calque's: operands of branches and loops are device arrays, as in jax."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

import calque
import calque.lax as clax
from calque_as_jax.values import tree_to_arrays
from calque_core import is_tracer, typeof

__all__ = [
    "associative_scan", "cond", "custom_linear_solve", "dtype", "fori_loop", "map", "scan", "switch", "while_loop",
]  # fmt: skip

Tree = Any
Function = Callable[..., Any]


def _with_arrays(function: Function, first: int) -> Function:
    """Return a function of programs and operands; operands, from position `first`, and results are device arrays."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Tree:
        operands = [tree_to_arrays(x) if i >= first and not callable(x) else x for i, x in enumerate(args)]
        options = {k: x if callable(x) else _option(k, x) for k, x in options.items() if k not in _LEFT_OUT}
        return tree_to_arrays(function(*operands, **options))

    return call


_LEFT_OUT = frozenset(("_split_transpose", "linear"))
_OPERANDS = frozenset(("operand", "init", "xs", "init_val", "elems"))


def _option(name: str, x: Any) -> Any:
    return tree_to_arrays(x) if name in _OPERANDS else x


switch = _with_arrays(clax.switch, 2)
scan = _with_arrays(clax.scan, 1)
while_loop = _with_arrays(clax.while_loop, 2)
_fori_loop = _with_arrays(clax.fori_loop, 3)
associative_scan = _with_arrays(clax.associative_scan, 1)
custom_linear_solve = _with_arrays(clax.custom_linear_solve, 1)
_cond = _with_arrays(clax.cond, 3)


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Tree, **options: Any) -> Tree:
    """Return one branch's result; a number as the predicate counts as true unless it is zero, as in jax.

    >>> cond(1, lambda x: x + 1, lambda x: x, 2)
    Array(3, dtype=int32, weak_type=True)
    """
    options.pop("linear", None)
    is_number = type(pred) not in (bool, np.bool_) and typeof(pred).dtype != np.bool_
    return _cond(clax.ne(pred, 0) if is_number else pred, true_fun, false_fun, *operands, **options)


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Tree, **options: Any) -> Tree:
    """Return what `body_fun(i, value)` makes of `init_val` for each i from `lower` to `upper`, which may be floats.

    Known floats lose their fractions, as in jax; beside traced ones, i is a float.

    >>> fori_loop(np.float32(0), np.float32(2.5), lambda i, x: x + i, 1)
    Array(2, dtype=int32)
    """
    if typeof(lower).kind != "f" or typeof(upper).dtype != typeof(lower).dtype:
        return _fori_loop(lower, upper, body_fun, init_val, **options)
    if not is_tracer(lower) and not is_tracer(upper):
        return _fori_loop(int(lower), int(upper), body_fun, init_val, **options)
    below = lambda state: state[0] < state[1]
    step = lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2]))
    return while_loop(below, step, (lower, upper, init_val))[2]


def map(f: Function, xs: Tree, *, batch_size: int | None = None) -> Tree:
    """Return the results of `f` for each element along the first axes, computed one after the other or by batches."""
    mapped = clax.map(f, tree_to_arrays(xs)) if batch_size is None else calque.map(f, xs, batch_size=batch_size)
    return tree_to_arrays(mapped)


def dtype(x: Any) -> Any:
    """Return the dtype of an array or a number."""
    return typeof(x).dtype
