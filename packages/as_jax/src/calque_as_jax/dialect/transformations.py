"""The transformations of `jax`: functions that they return give device arrays, and take jax's options.

One idea: calque's transformation does the work; what leaves it passes `tree_to_arrays`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

import calque
from calque_as_jax.dialect.core import ClosedJaxpr
from calque_as_jax.dialect.types import ShapeDtypeStruct, struct_of
from calque_as_jax.values import to_array, tree_to_arrays
from calque_core import eval_shape as core_eval_shape
from calque_core import make_jaxpr as core_make_jaxpr
from calque_pytree import Partial, tree_flatten, tree_leaves, tree_map

__all__ = [
    "block_until_ready", "checkpoint", "eval_shape", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "linear_transpose", "linearize", "make_jaxpr", "pmap", "pure_callback", "remat", "value_and_grad", "vjp", "vmap",
]  # fmt: skip

Tree = Any
Function = Callable[..., Any]


def _on_arrays(transform: Function) -> Function:
    """Return a transformation whose functions return device arrays."""

    @wraps(transform)
    def transformed(fun: Function, *args: Any, **options: Any) -> Function:
        options.pop("reduce_axes", None)
        return _returning_arrays(transform(fun, *args, **options))

    transformed.__module__ = "jax"  # pickled by the name there
    return transformed


def _returning_arrays(function: Function) -> Function:
    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        with np.errstate(all="ignore"):
            return tree_to_arrays(function(*args, **kwargs))

    return call


grad = _on_arrays(calque.grad)
value_and_grad = _on_arrays(calque.value_and_grad)
jacfwd = _on_arrays(calque.jacfwd)
jacrev = _on_arrays(calque.jacrev)
jacobian = jacrev
hessian = _on_arrays(calque.hessian)


def pmap(fun: Function, axis_name: Any = None, *, backend: str | None = None, **options: Any) -> Function:
    """Return `fun`, mapped over an axis of its arguments, one element on each device of a platform."""
    options.pop("global_arg_shapes", None)
    if backend is not None and options.get("devices") is None:
        options["devices"] = calque.devices(backend)
    return _returning_arrays(calque.pmap(fun, axis_name, **options))


def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Function:
    """Return `fun`, mapped over axes of its arguments; results are device arrays.

    >>> vmap(lambda x: 2 * x)(calque.numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    del sum_match
    axes = list(in_axes) if isinstance(in_axes, list) else in_axes
    mapped = calque.vmap(fun, axes, out_axes, axis_name, axis_size, spmd_axis_name=spmd_axis_name)
    return _returning_arrays(mapped)


def jit(fun: Function | None = None, /, **options: Any) -> Any:
    """Return `fun` compiled; without `fun`, a decorator.

    >>> jit(lambda x: x + 1)(1.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return calque.jit(**options) if fun is None else calque.jit(fun, **options)


def checkpoint(fun: Function, *, concrete: Any = False, **options: Any) -> Function:
    """Return `fun`, whose residuals a derivative computes again."""
    del concrete
    return _returning_arrays(calque.checkpoint(fun, **options))


remat = checkpoint


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative along `tangents`.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32))
    """
    return tree_to_arrays(calque.jvp(fun, primals, tangents, has_aux=has_aux))


def vjp(fun: Function, *primals: Tree, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """Return the result of `fun` and its backward pass, a pytree as in jax.

    >>> vjp(lambda x: x * x, 3.0)[1](1.0)
    (Array(6., dtype=float32),)
    """
    del reduce_axes
    out, pullback, *aux = calque.vjp(fun, *primals, has_aux=has_aux)
    return (tree_to_arrays(out), Partial(_call, pullback), *map(tree_to_arrays, aux))


def linearize(fun: Function, *primals: Tree, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative, a pytree as in jax.

    >>> linearize(lambda x: x * x, 3.0)[1](1.0)
    Array(6., dtype=float32)
    """
    out, pushforward, *aux = calque.linearize(fun, *primals, has_aux=has_aux)
    return (tree_to_arrays(out), Partial(_call, pushforward), *map(tree_to_arrays, aux))


def linear_transpose(fun: Function, *primals: Tree, reduce_axes: Any = ()) -> Function:
    """Return the transpose of a linear function."""
    del reduce_axes
    return Partial(_call, Partial(calque.linear_transpose(fun, *primals)))


def _call(linear: Function, *args: Tree) -> Tree:
    return tree_to_arrays(linear(*args))


def eval_shape(fun: Function, *args: Tree, **kwargs: Tree) -> Tree:
    """Return the types of the results of `fun`, as ShapeDtypeStructs.

    A result that is itself a ShapeDtypeStruct is kept.

    >>> eval_shape(lambda x: (x, ShapeDtypeStruct((2,), "float32")), 1)
    (ShapeDtypeStruct(shape=(), dtype=int32, weak_type=True), ShapeDtypeStruct(shape=(2,), dtype=float32))
    """
    return _with_structs(core_eval_shape, fun, args, kwargs)


def _with_structs(evaluate: Function, fun: Function, args: Any, kwargs: Any) -> Tree:
    kept: list[Any] = []

    def traced(*args: Tree, **kwargs: Tree) -> Any:
        leaves, tree = tree_flatten(fun(*args, **kwargs))
        kept[:] = [tree, [leaf if isinstance(leaf, ShapeDtypeStruct) else None for leaf in leaves]]
        return [leaf for leaf in leaves if not isinstance(leaf, ShapeDtypeStruct)]

    traced.__name__ = getattr(fun, "__name__", "traced")
    types = map(struct_of, evaluate(traced, *args, **kwargs))
    tree, structs = kept
    return tree.unflatten([next(types) if struct is None else struct for struct in structs])


def make_jaxpr(
    fun: Function, static_argnums: Any = (), axis_env: Any = None, return_shape: bool = False, **options: Any
) -> Function:
    """Return a function that stages `fun` as a jaxpr; with `return_shape`, beside the types of the results."""

    def staged(*args: Tree, **kwargs: Tree) -> Any:
        trees: list[Any] = []

        def structured(*args: Tree, **kwargs: Tree) -> Tree:
            leaves, tree = tree_flatten(fun(*args, **kwargs))
            trees[:] = [tree]
            return leaves

        jaxpr = core_make_jaxpr(structured, static_argnums, axis_env=axis_env, **options)(*args, **kwargs)
        closed = ClosedJaxpr(jaxpr, jaxpr.consts)
        structs = [*map(struct_of, jaxpr.out_avals)]
        return (closed, trees[0].unflatten(structs)) if return_shape else closed

    return staged


def block_until_ready(x: Tree) -> Tree:
    """Wait until the device arrays of a pytree are computed; return the pytree."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def pure_callback(callback: Function, result_shape_dtypes: Any, *args: Tree, **options: Any) -> Tree:
    """Call Python from a program: `callback` gets device arrays, as in jax."""
    options.pop("sharding", None)

    def on_arrays(*args: Tree, **kwargs: Tree) -> Tree:
        return tree_map(_as_numpy, callback(*tree_map(to_array, args), **kwargs))

    return tree_to_arrays(calque.pure_callback(on_arrays, result_shape_dtypes, *args, **options))


def _as_numpy(x: Any) -> Any:
    return calque.device_get(x)
