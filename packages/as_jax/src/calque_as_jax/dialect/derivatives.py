"""The derivatives of `jax`: calque's, with device arrays, and weak where the number is that they belong to, as in jax.

Read next: `transformations.py`, for what returns device arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

import calque
from calque_as_jax.dialect.transformations import arrays_of, on_arrays
from calque_as_jax.values import as_weak, tree_to_arrays
from calque_core import float0, typeof
from calque_pytree import Partial, tree_flatten, tree_leaves

__all__ = [
    "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize", "value_and_grad", "vjp",
]  # fmt: skip

Tree = Any
Function = Callable[..., Any]


def _weak_as(derivatives: Tree, numbers: Tree) -> Tree:
    """Return derivatives, weak where the numbers that they belong to are."""
    return _weakened(derivatives, _weakness(numbers))


def _weakness(numbers: Tree) -> tuple[bool, ...]:
    return tuple(bool(typeof(x).weak_type) for x in tree_leaves(numbers))


def _weakened(derivatives: Tree, weakness: tuple[bool, ...]) -> Tree:
    if not any(weakness):
        return derivatives
    leaves, tree = tree_flatten(derivatives)
    made = [as_weak(x) if weak and x.dtype != float0 else x for x, weak in zip(leaves, weakness, strict=True)]
    return tree.unflatten(made)


def _chosen(args: Any, argnums: Any) -> Tree:
    """Return the arguments of a function for which derivatives are made."""
    return args[argnums] if hasattr(argnums, "__index__") else tuple(args[i] for i in argnums)


def grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    """Return the function of the gradient of `fun`.

    >>> grad(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    options.pop("reduce_axes", None)
    function = calque.grad(fun, argnums, has_aux, **options)

    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        out = arrays_of(function, *args, **kwargs)
        numbers = _chosen(args, argnums)
        return (_weak_as(out[0], numbers), out[1]) if has_aux else _weak_as(out, numbers)

    return call


def value_and_grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    """Return the function of the value and the gradient of `fun`.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    options.pop("reduce_axes", None)
    function = calque.value_and_grad(fun, argnums, has_aux, **options)

    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        value, gradient = arrays_of(function, *args, **kwargs)
        return value, _weak_as(gradient, _chosen(args, argnums))

    return call


grad.__module__ = value_and_grad.__module__ = "jax"  # pickled by the names there
jacfwd = on_arrays(calque.jacfwd)
jacrev = on_arrays(calque.jacrev)
jacobian = jacrev
hessian = on_arrays(calque.hessian)


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative along `tangents`.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    out, out_dot, *aux = arrays_of(calque.jvp, fun, primals, tangents, has_aux=has_aux)
    return (out, _weak_as(out_dot, out), *aux)


def vjp(fun: Function, *primals: Tree, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """Return the result of `fun` and its backward pass, a pytree as in jax.

    >>> vjp(lambda x: x * x, 3.0)[1](1.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    del reduce_axes
    with np.errstate(all="ignore"):
        out, pullback, *aux = calque.vjp(fun, *primals, has_aux=has_aux)
    return (tree_to_arrays(out), Partial(Linear(_weakness(primals)), pullback), *map(tree_to_arrays, aux))


def linearize(fun: Function, *primals: Tree, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative, a pytree as in jax.

    >>> linearize(lambda x: x * x, 3.0)[1](1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    with np.errstate(all="ignore"):
        out, pushforward, *aux = calque.linearize(fun, *primals, has_aux=has_aux)
    out = tree_to_arrays(out)
    return (out, Partial(Linear(_weakness(out)), pushforward), *map(tree_to_arrays, aux))


def linear_transpose(fun: Function, *primals: Tree, reduce_axes: Any = ()) -> Function:
    """Return the transpose of a linear function."""
    del reduce_axes
    return Partial(Linear(()), Partial(calque.linear_transpose(fun, *primals)))


@dataclass(frozen=True)
class Linear:
    """Calls a linear function, whose results are weak where `weakness` says so; equal ones have one trace."""

    weakness: tuple[bool, ...]

    def __call__(self, linear: Function, *args: Tree) -> Tree:
        """Return the results for `args`."""
        return _weakened(arrays_of(linear, *args), self.weakness)
