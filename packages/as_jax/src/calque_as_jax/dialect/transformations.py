"""The transformations of `jax`: functions that they return give device arrays, and take jax's options.

One idea: calque's transformation computes, and its results pass `tree_to_arrays`.  The derivative by a weak number is
weak, as in jax; calque's derivatives are strong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np

import calque
from calque_as_jax.dialect.programs import eval_jaxpr
from calque_as_jax.dialect.types import ShapeDtypeStruct, struct_of
from calque_as_jax.values import as_weak, to_array, tree_to_arrays
from calque_core import eval_shape as core_eval_shape
from calque_core import float0, trace_state_clean
from calque_core import make_jaxpr as core_make_jaxpr
from calque_core import typeof as core_typeof
from calque_pytree import Partial, tree_flatten, tree_leaves, tree_map

__all__ = [
    "checkpoint", "closure_convert", "eval_shape", "grad", "hessian", "jacfwd", "jacobian",
    "jacrev", "jit", "jvp", "linear_transpose", "linearize", "make_jaxpr", "pmap", "pure_callback", "remat",
    "value_and_grad", "vjp", "vmap",
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


def _weak_as(derivatives: Tree, numbers: Tree) -> Tree:
    """Return derivatives, weak where the numbers that they belong to are."""
    return _weakened(derivatives, _weakness(numbers))


def _weakness(numbers: Tree) -> tuple[bool, ...]:
    return tuple(bool(core_typeof(x).weak_type) for x in tree_leaves(numbers))


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
    function = _returning_arrays(calque.grad(fun, argnums, has_aux, **options))

    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        out = function(*args, **kwargs)
        numbers = _chosen(args, argnums)
        return (_weak_as(out[0], numbers), out[1]) if has_aux else _weak_as(out, numbers)

    return call


def value_and_grad(fun: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    """Return the function of the value and the gradient of `fun`.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    options.pop("reduce_axes", None)
    function = _returning_arrays(calque.value_and_grad(fun, argnums, has_aux, **options))

    @wraps(function)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        value, gradient = function(*args, **kwargs)
        return value, _weak_as(gradient, _chosen(args, argnums))

    return call


grad.__module__ = value_and_grad.__module__ = "jax"  # pickled by the names there
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
    if fun is None:
        return partial(jit, **options)
    jitted: Any = calque.jit(fun, **options)
    info = jitted.cache_info
    jitted._cache_size = lambda: info().traces  # programs ask jax so how often a function was traced
    return jitted


def closure_convert(fun: Function, *example_args: Tree) -> tuple[Function, list[Any]]:
    """Return a function that takes the traced values which `fun` closes over as arguments, and a list of these."""
    converted, values = calque.closure_convert(fun, *example_args)
    return _returning_arrays(converted), values


def checkpoint(fun: Function, *, concrete: Any = False, **options: Any) -> Function:
    """Return `fun`, whose residuals a derivative computes again; a call traces it where nothing is traced, too."""
    del concrete
    recomputed = calque.checkpoint(fun, **options)
    flat, trees = _flattened(recomputed)

    @wraps(fun)
    def call(*args: Tree, **kwargs: Tree) -> Tree:
        if not trace_state_clean():
            return tree_to_arrays(recomputed(*args, **kwargs))
        jaxpr = core_make_jaxpr(lambda: flat(*args, **kwargs))()
        return trees[0].unflatten(eval_jaxpr(jaxpr, jaxpr.consts))

    return call


remat = checkpoint


def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative along `tangents`.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    out, out_dot, *aux = tree_to_arrays(calque.jvp(fun, primals, tangents, has_aux=has_aux))
    return (out, _weak_as(out_dot, out), *aux)


def vjp(fun: Function, *primals: Tree, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """Return the result of `fun` and its backward pass, a pytree as in jax.

    >>> vjp(lambda x: x * x, 3.0)[1](1.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    del reduce_axes
    out, pullback, *aux = calque.vjp(fun, *primals, has_aux=has_aux)
    return (tree_to_arrays(out), Partial(Linear(_weakness(primals)), pullback), *map(tree_to_arrays, aux))


def linearize(fun: Function, *primals: Tree, has_aux: bool = False) -> Any:
    """Return the result of `fun` and its derivative, a pytree as in jax.

    >>> linearize(lambda x: x * x, 3.0)[1](1.0)
    Array(6., dtype=float32, weak_type=True)
    """
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
        return _weakened(tree_to_arrays(linear(*args)), self.weakness)


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
