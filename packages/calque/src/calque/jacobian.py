"""Jacobians and Hessians: what needs differentiation and batching together.

One idea: push every basis vector of the input through `jvp` (`jacfwd`), or pull every basis vector of the output
through `vjp` (`jacrev`), all at once by `vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from calque_autodiff import grad, jvp, vjp
from calque_batching import vmap
from calque_core import register_internal_folder, typeof
from calque_core.api_util import check_arrays, check_callable, normalize_argnums
from calque_core.lax import reshape, slice
from calque_core.source import describe_function
from calque_pytree import tree_flatten, tree_leaves, tree_map, tree_structure, tree_transpose

P = ParamSpec("P")
Value = Any
Argnums = int | Sequence[int]

register_internal_folder(str(Path(__file__).parent))


def jacfwd(
    fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Return a function that gives the Jacobian of `fun`, by forward mode: one pass per element of the input.

    The result has the structure of the output, each leaf of which holds the structure of the argument (a tuple of them
    if `argnums` is a sequence).  Shapes: x [*n], f(x) [*m] -> [*m, *n].  With `has_aux`, `fun` returns a pair, and so
    does this.
    Raises: TypeError if an argument is not floating (complex if `holomorphic`).

    >>> jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable(fun, "jacfwd")

    @functools.wraps(fun)
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Any:
        restricted, chosen, example = _restrict("jacfwd", fun, argnums, args, kwargs)
        _check_dtypes("jacfwd", fun, chosen, holomorphic, allow_int=False)

        def push(*tangents: Any) -> tuple[Any, ...]:
            return jvp(restricted, chosen, tangents, has_aux=has_aux)

        out_axes = (None, -1, None) if has_aux else (None, -1)
        out, columns, *aux = vmap(push, out_axes=out_axes)(*_basis(chosen))
        _check_outputs("jacfwd", fun, out, holomorphic)
        result = tree_map(lambda c: _split(c, example, axis=-1), columns)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """Return a function that gives the Jacobian of `fun`, by reverse mode: one pass per element of the output.

    The result is that of `jacfwd`.  Shapes: x [*n], f(x) [*m] -> [*m, *n].
    Raises: TypeError if an argument is not floating (complex if `holomorphic`; integers pass with `allow_int`).

    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable(fun, "jacrev")

    @functools.wraps(fun)
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Any:
        restricted, chosen, example = _restrict("jacrev", fun, argnums, args, kwargs)
        _check_dtypes("jacrev", fun, chosen, holomorphic, allow_int=allow_int)
        out, pull, *aux = vjp(restricted, *chosen, has_aux=has_aux)
        _check_outputs("jacrev", fun, out, holomorphic)
        rows = vmap(pull)(*_basis((out,)))
        rows = rows if isinstance(argnums, (tuple, list)) else rows[0]
        by_argument = tree_map(lambda r: _split(r, out, axis=0), rows)
        result = tree_transpose(tree_structure(example), tree_structure(out), by_argument)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


jacobian = jacrev


def hessian(
    fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Return a function that gives the Hessian of `fun`, forward over reverse.

    Shapes: x [*n], f(x) [*m] -> [*m, *n, *n].  Arguments and errors are those of `jacfwd`.

    >>> hessian(lambda x: x * x * x)(2.0)
    np.float64(12.0)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Return the product of the Hessian of the scalar function `fun` at `primals` with `tangents`.

    It costs a few evaluations of `fun`, whatever the size of the Hessian.  The result is a tuple with the structure,
    shapes and dtypes of `primals`.
    Raises: TypeError as `grad` and `jvp` do.

    >>> hvp(lambda x: x * x * x, (2.0,), (1.0,))
    (np.float64(12.0),)
    """
    gradient = grad(fun, argnums=tuple(range(len(primals))))
    product: tuple[Any, ...] = jvp(gradient, tuple(primals), tuple(tangents))[1]
    return product


def _restrict(
    verb: str, fun: Callable[..., Any], argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
    """Return `fun` as a function of the chosen arguments, these as a tuple, and in the form the result has."""
    positions = normalize_argnums(argnums, len(args), f"{verb} of {describe_function(fun)}")

    @functools.wraps(fun)
    def restricted(*chosen: Any) -> Any:
        merged = list(args)
        for position, x in zip(positions, chosen):
            merged[position] = x
        return fun(*merged, **kwargs)

    chosen = tuple(args[i] for i in positions)
    return restricted, chosen, chosen if isinstance(argnums, (tuple, list)) else chosen[0]


def _check_dtypes(verb: str, fun: Any, chosen: Any, holomorphic: bool, *, allow_int: bool) -> None:
    what = f"{verb} of {describe_function(fun)}"
    leaves = tree_leaves(chosen)
    check_arrays(leaves, lambda: [f"leaf {i} of the chosen arguments" for i in range(len(leaves))], what)
    for leaf in leaves:
        kind = typeof(leaf).dtype.kind
        if holomorphic and kind != "c":
            raise TypeError(f"{what} with holomorphic=True got {typeof(leaf).str_short()}. Give complex arguments.")
        if not holomorphic and kind == "c":
            raise TypeError(f"{what} got {typeof(leaf).str_short()}. Set holomorphic=True if the function is.")
        if kind in "iub" and not allow_int:
            raise TypeError(f"{what} got {typeof(leaf).str_short()}, which has no derivative. Pass floats.")


def _check_outputs(verb: str, fun: Any, out: Any, holomorphic: bool) -> None:
    for leaf in tree_leaves(out):
        kind = typeof(leaf).dtype.kind
        if (kind == "c") != holomorphic or kind in "iub":
            raise TypeError(
                f"{verb} of {describe_function(fun)}: an output is {typeof(leaf).str_short()}. Return "
                f"{'complex' if holomorphic else 'real floating'} arrays."
            )


def _basis(tree: Any) -> Any:
    """Return the standard basis of a pytree of arrays: the same structure, with an axis of basis vectors in front."""
    leaves, treedef = tree_flatten(tree)
    avals = [typeof(x) for x in leaves]
    total = sum(prod(aval.shape) for aval in avals)
    basis, start = [], 0
    for aval in avals:
        size = prod(aval.shape)
        rows = np.eye(total, size, -start, dtype=aval.dtype) if aval.dtype.kind in "fcV" else _float0(total, aval)
        basis.append(rows.reshape((total, *aval.shape)))
        start += size
    return treedef.unflatten(basis)


def _float0(total: int, aval: Any) -> Value:
    return np.zeros((total, *aval.shape), aval.to_tangent_aval().dtype)


def _split(x: Value, example: Any, axis: int) -> Any:
    """Return the pieces of one axis of `x` that belong to the leaves of `example`, each in the shape of its leaf."""
    leaves, treedef = tree_flatten(example)
    shape = typeof(x).shape
    axis %= len(shape)
    pieces, start = [], 0
    for leaf in leaves:
        leaf_shape = typeof(leaf).shape
        stop = start + prod(leaf_shape)
        starts = [start if i == axis else 0 for i in range(len(shape))]
        stops = [stop if i == axis else size for i, size in enumerate(shape)]
        pieces.append(reshape(slice(x, starts, stops), (*shape[:axis], *leaf_shape, *shape[axis + 1 :])))
        start = stop
    return treedef.unflatten(pieces)
