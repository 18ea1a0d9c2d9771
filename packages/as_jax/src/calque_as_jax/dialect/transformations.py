"""The transformations of `jax`: functions that they return give device arrays, and take jax's options.

One idea: calque's transformation computes, and its results pass `tree_to_arrays`.

Read next: `derivatives.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

import calque
from calque_as_jax.dialect.programs import eval_jaxpr
from calque_as_jax.dialect.types import ShapeDtypeStruct, struct_of
from calque_as_jax.values import to_array, tree_to_arrays
from calque_core import eval_shape as core_eval_shape
from calque_core import make_jaxpr as core_make_jaxpr
from calque_core import trace_state_clean
from calque_pytree import tree_flatten, tree_map

__all__ = [
    "checkpoint", "closure_convert", "eval_shape", "jit", "make_jaxpr", "pmap", "pure_callback", "remat", "vmap",
]  # fmt: skip

Tree = Any
Function = Callable[..., Any]


def on_arrays(transform: Function) -> Function:
    """Return a transformation whose functions return device arrays."""

    @wraps(transform)
    def transformed(fun: Function, *args: Any, **options: Any) -> Function:
        options.pop("reduce_axes", None)
        return returning_arrays(transform(fun, *args, **options))

    transformed.__module__ = "jax"  # pickled by the name there
    return transformed


def returning_arrays(function: Function) -> Function:
    """Return a function whose results are device arrays."""

    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        return arrays_of(function, *args, **kwargs)

    return call


def arrays_of(function: Function, *args: Any, **options: Any) -> Tree:
    """Return the result of a call, with device arrays; like XLA, which computes in jax, it warns of no number."""
    with np.errstate(all="ignore"):
        return tree_to_arrays(function(*args, **options))


def pmap(fun: Function, axis_name: Any = None, *, backend: str | None = None, **options: Any) -> Function:
    """Return `fun`, mapped over an axis of its arguments, one element on each device of a platform."""
    options.pop("global_arg_shapes", None)
    if backend is not None and options.get("devices") is None:
        options["devices"] = calque.devices(backend)
    return returning_arrays(calque.pmap(fun, axis_name, **options))


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
    return returning_arrays(mapped)


def jit(fun: Function | None = None, /, **options: Any) -> Any:
    """Return `fun` compiled; without `fun`, a decorator.

    >>> jit(lambda x: x + 1)(1.0)
    Array(2., dtype=float32, weak_type=True)
    """
    if fun is None:
        return partial(jit, **options)
    jitted: Any = calque.jit(fun, **options)
    info = jitted.cache_info
    jitted._cache_size = lambda: info().traces  # programs ask jax so how often a function was traced
    return jitted


def closure_convert(fun: Function, *example_args: Tree) -> tuple[Function, list[Any]]:
    """Return a function that takes the traced values which `fun` closes over as arguments, and a list of these."""
    converted, values = calque.closure_convert(fun, *example_args)
    return returning_arrays(converted), values


def checkpoint(fun: Function, *, concrete: Any = False, **options: Any) -> Function:
    """Return `fun`, whose residuals a derivative computes again; a call traces it where nothing is traced, too."""
    del concrete
    recomputed = calque.checkpoint(fun, **options)
    flat, trees = _flattened(recomputed)

    @wraps(fun)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        if not trace_state_clean():
            return arrays_of(recomputed, *args, **kwargs)
        jaxpr = core_make_jaxpr(lambda: flat(*args, **kwargs))()
        return trees[0].unflatten(eval_jaxpr(jaxpr, jaxpr.consts))

    return call


remat = checkpoint


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
    flat, trees = _flattened(fun)
    staged = core_make_jaxpr(flat, static_argnums, axis_env=axis_env, **options)

    def call(*args: Tree, **kwargs: Tree) -> Any:
        jaxpr = staged(*args, **kwargs)
        return (jaxpr, trees[0].unflatten(map(struct_of, jaxpr.out_avals))) if return_shape else jaxpr

    return call


def _flattened(fun: Function) -> tuple[Function, list[Any]]:
    """Return a function of the leaves of `fun`'s result, and a list that has their structure after a call."""
    trees: list[Any] = []

    @wraps(fun)
    def flat(*args: Tree, **kwargs: Tree) -> Tree:
        leaves, tree = tree_flatten(fun(*args, **kwargs))
        trees[:] = [tree]
        return leaves

    return flat, trees


def pure_callback(callback: Function, result_shape_dtypes: Any, *args: Tree, **options: Any) -> Tree:
    """Call Python from a program: `callback` gets device arrays, as in jax."""
    options.pop("sharding", None)

    def on_arrays(*args: Tree, **kwargs: Tree) -> Tree:
        return tree_map(_as_numpy, callback(*tree_map(to_array, args), **kwargs))

    return tree_to_arrays(calque.pure_callback(on_arrays, result_shape_dtypes, *args, **options))


def _as_numpy(x: Any) -> Any:
    return calque.device_get(x)
