"""Jacobians and Hessians, which need both differentiation and batching.

One idea: push every basis vector of the input through `jvp` (`jacfwd`), or pull every basis vector of the output
through `vjp` (`jacrev`), all at once by `vmap`.  One number has one basis vector, which needs no `vmap`: so the Hessian
of a scalar function takes one `vmap`, and not two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ParamSpec

import numpy as np

from calque_autodiff import grad, jvp, linearize, vjp
from calque_batching import map, moveaxis, vmap
from calque_core import api_boundary, typeof
from calque_core.engine import ChosenArguments, describe_value, is_own, named_after, on_device_of, transform_of
from calque_core.extend import check_arrays, check_callable, describe_function, is_float
from calque_core.lax import reshape, slice
from calque_pytree import tree_flatten, tree_leaves, tree_map, tree_structure, tree_transpose

P = ParamSpec("P")
Value = Any
Argnums = int | Sequence[int]


@api_boundary
def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    argnames: str | Sequence[str] | None = None,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """Return a function that gives the Jacobian of `fun`, by forward mode: one pass per element of the input.

    The result has the structure of the output, each leaf of which holds the structure of the argument.  `argnums` and
    `argnames` choose the arguments, and the form of several of them, as for `grad`: the first, by default; a sequence
    of positions gives a tuple, one of names a dict, both give a pair.  Shapes: x [*n], f(x) [*m] -> [*m, *n].  With
    `has_aux`, `fun` returns a pair, and so does this.  The output may be complex; `holomorphic` promises that `fun` is
    holomorphic, and allows complex arguments, too.  With `chunk_size`, that many passes run together: their memory is
    all that this takes beside the result.
    Raises: TypeError if an argument is not real and floating, or with `holomorphic` if an argument or an output is not
    complex; ValueError if `chunk_size` is not positive.

    >>> import numpy as np
    >>> from calque import jacfwd
    >>> jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable(fun, "jacfwd")
    chosen = ChosenArguments(fun, f"jacfwd of {describe_function(fun)}", argnums, argnames)

    @transform_of(fun)
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Any:
        caller = chosen.caller
        restricted, x = _restrict(chosen, args, kwargs)
        _check_inputs(caller, x, holomorphic, allow_int=False)
        if not holomorphic:
            _check_real_inputs(caller, x)
        out, columns, *aux = _columns(caller, restricted, x, has_aux, chunk_size)
        _check_outputs(caller, out, holomorphic)
        pieces = _split if _needs_axis(x, chunk_size) else _shaped
        result = tree_map(lambda c: pieces(c, x, axis=-1), columns)
        result = on_device_of(x, result)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


def _columns(caller: str, fun: Any, x: Any, has_aux: bool, chunk_size: int | None) -> tuple[Any, ...]:
    """Return the output of `fun`, its Jacobian, and aux, if there is one.

    The Jacobian has one last axis for all elements of `x`, unless `x` is one number.
    """
    if chunk_size is not None:
        out, apply, *aux = linearize(fun, x, has_aux=has_aux)
        rows = _in_chunks(caller, apply, _basis(x), chunk_size)
        return out, tree_map(lambda r: moveaxis(r, 0, -1), rows), *aux

    def push(tangent: Any) -> tuple[Any, ...]:
        return jvp(fun, (x,), (tangent,), has_aux=has_aux)

    if not _needs_axis(x, chunk_size):
        return push(_one(x))
    out_axes = (None, -1, None) if has_aux else (None, -1)
    return tuple(vmap(push, out_axes=out_axes)(_basis(x)))


@api_boundary
def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    argnames: str | Sequence[str] | None = None,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """Return a function that gives the Jacobian of `fun`, by reverse mode: one pass per element of the output.

    The result has the structure of the output, each leaf of which holds the structure of the argument.  `argnums` and
    `argnames` choose the arguments, and the form of several of them, as for `grad`: the first, by default; a sequence
    of positions gives a tuple, one of names a dict, both give a pair.  Shapes: x [*n], f(x) [*m] -> [*m, *n].  With
    `has_aux`, `fun` returns a pair, and so does this.  With `chunk_size`, that many passes run together: their memory
    is all that this takes beside the result.  `allow_int` gives integer arguments `float0` derivatives.  `holomorphic`
    promises that `fun` is holomorphic, and allows complex arguments and outputs.  Without it, arguments may be complex,
    too: with z = x + i y, the entry of a real output f is df/dx - i df/dy, as for `grad`.
    Raises: TypeError if an argument is not floating (integers pass with `allow_int`) or an output not real and
    floating, or with `holomorphic` if an argument or an output is not complex.

    >>> import numpy as np
    >>> from calque import jacrev
    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable(fun, "jacrev")
    chosen = ChosenArguments(fun, f"jacrev of {describe_function(fun)}", argnums, argnames)

    @transform_of(fun)
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Any:
        caller = chosen.caller
        restricted, x = _restrict(chosen, args, kwargs)
        _check_inputs(caller, x, holomorphic, allow_int=allow_int)
        out, pull, *aux = vjp(restricted, x, has_aux=has_aux)
        _check_outputs(caller, out, holomorphic)
        if not holomorphic:
            _check_real_outputs(caller, out)
        if not tree_leaves(out):  # vmap needs an array
            return (out, aux[0]) if has_aux else out
        pieces = _split if _needs_axis(out, chunk_size) else _shaped
        by_argument = tree_map(lambda r: pieces(r, out, axis=0), _rows(caller, pull, out, chunk_size))
        result = tree_transpose(tree_structure(x), tree_structure(out), by_argument)
        result = on_device_of(x, result)
        return (result, aux[0]) if has_aux else result

    return jacobian_of


def _rows(caller: str, pull: Any, out: Any, chunk_size: int | None) -> Any:
    """Return the Jacobian of a function with the output `out`, with a first axis for its elements if it has several."""
    if not _needs_axis(out, chunk_size):
        (rows,) = pull(_one(out))
    elif chunk_size is None:
        (rows,) = vmap(pull)(_basis(out))
    else:
        (rows,) = _in_chunks(caller, pull, _basis(out), chunk_size)
    return rows


jacobian = jacrev


@api_boundary
def hessian(
    fun: Callable[P, Any],
    argnums: Argnums | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    argnames: str | Sequence[str] | None = None,
    *,
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """Return a function that gives the Hessian of `fun`, forward over reverse.

    `argnums` and `argnames` choose the arguments, as for `grad`; the result has the structure of the output, each leaf
    of which holds the structure of the arguments twice.  Shapes: x [*n], f(x) [*m] -> [*m, *n, *n].  With `has_aux`,
    `fun` returns a pair, and so does this.  `holomorphic` promises that `fun` is holomorphic, and allows complex
    arguments and outputs.  With `chunk_size`, that many columns are computed at a time.
    Raises: as `jacfwd`.

    >>> from calque import hessian
    >>> hessian(lambda x: x * x * x)(2.0)
    np.float64(12.0)
    """
    gradient = jacrev(fun, argnums, has_aux, holomorphic, argnames=argnames)
    return jacfwd(gradient, argnums, has_aux, holomorphic, argnames, chunk_size=chunk_size)


@api_boundary
def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of the Hessian of the scalar function `fun` at `primals` with `tangents`.

    It costs a few evaluations of `fun`, for a Hessian of any size.  The result has the structure, shapes and dtypes of
    `grad(fun)` at the primal; for several primals it is a tuple of such results.
    Raises: TypeError as `grad` and `jvp` do.

    >>> from calque import hvp
    >>> hvp(lambda x: x * x * x, (2.0,), (1.0,))
    np.float64(12.0)
    """
    caller = f"hvp of {describe_function(fun)}"
    for name, values in (("primals", primals), ("tangents", tangents)):
        if not isinstance(values, (tuple, list)):
            raise TypeError(
                f"{caller} got {describe_value(values)} as its {name}. Give a tuple or a list: {name}=(x,)."
            )
    gradient = grad(fun, argnums=0 if len(primals) == 1 else tuple(range(len(primals))))
    return jvp(gradient, tuple(primals), tuple(tangents))[1]


def _restrict(chosen: ChosenArguments, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Callable[[Any], Any], Any]:
    """Return the function of the chosen arguments alone, in the form of the result, and these arguments."""
    places = chosen.find(args, kwargs)

    @named_after(chosen.fun)
    def restricted(form: Any) -> Any:
        merged, named = chosen.put(places, form, args, kwargs)
        return chosen.fun(*merged, **named)

    by_position = [args[i] for i in places.positions]
    return restricted, chosen.arrange(places, by_position, {name: kwargs[name] for name in places.keywords})


def _check_inputs(caller: str, chosen: Any, holomorphic: bool, *, allow_int: bool) -> None:
    leaves = tree_leaves(chosen)
    check_arrays(leaves, lambda: [f"leaf {i} of the chosen arguments" for i in range(len(leaves))], caller)
    for leaf in leaves:
        if is_own(typeof(leaf)):
            _check_own_input(caller, typeof(leaf))
            continue
        kind = typeof(leaf).kind
        if holomorphic and kind != "c":
            raise TypeError(f"{caller} with holomorphic=True got {typeof(leaf)}. Give complex arguments.")
        if kind in "iub" and not allow_int:
            raise TypeError(f"{caller} got {typeof(leaf)}, which has no derivative. Pass floats.")


def _check_own_input(caller: str, aval: Any) -> None:
    """Check that the tangents of an argument of an own type are an array: the Jacobian has its axes."""
    if is_own(aval.to_tangent_aval()) or caller.startswith("jacfwd"):
        raise TypeError(
            f"{caller} got a value of type {aval}, but a Jacobian has arrays alone; jacrev takes such a value if its "
            "tangents are one array. Use vjp or jvp, or pass its arrays."
        )


def _check_real_inputs(caller: str, chosen: Any) -> None:
    """Refuse a complex argument: only for holomorphic functions is its derivative one number in all directions."""
    for leaf in tree_leaves(chosen):
        if typeof(leaf).kind == "c":
            raise TypeError(
                f"{caller} got {typeof(leaf)}. Set holomorphic=True if the function is holomorphic; otherwise use jvp, "
                "or jacrev for real outputs."
            )


def _check_outputs(caller: str, out: Any, holomorphic: bool) -> None:
    for leaf in tree_leaves(out):
        if is_own(typeof(leaf)):
            raise TypeError(f"{caller}: an output is {typeof(leaf)}, but a Jacobian has arrays alone. Use vjp or jvp.")
        kind = typeof(leaf).kind
        if kind in "iub" or (holomorphic and kind != "c"):
            dtypes = "complex" if holomorphic else "floating"
            raise TypeError(f"{caller}: an output is {typeof(leaf)}. Return {dtypes} arrays.")


def _check_real_outputs(caller: str, out: Any) -> None:
    """Refuse a complex output, as `_check_real_inputs` refuses a complex argument."""
    for leaf in tree_leaves(out):
        if typeof(leaf).kind == "c":
            raise TypeError(
                f"{caller}: an output is {typeof(leaf)}. Set holomorphic=True if the function is holomorphic; "
                "otherwise use vjp, or jacfwd for real arguments."
            )


def _in_chunks(caller: str, run: Callable[[Any], Any], basis: Any, chunk_size: Any) -> Any:
    """Return the results of `run` on all basis vectors, stacked; it computes `chunk_size` of them at a time."""
    if isinstance(chunk_size, bool) or not isinstance(chunk_size, (int, np.integer)) or chunk_size < 1:
        raise ValueError(f"{caller} got chunk_size={chunk_size!r}. Give an int of 1 or more.")
    return map(run, basis, batch_size=int(chunk_size))


def _needs_axis(tree: Any, chunk_size: int | None) -> bool:
    """Tell whether the Jacobian needs an axis for the elements of a pytree: one number alone needs none."""
    shapes = [typeof(x).shape for x in tree_leaves(tree)]
    return chunk_size is not None or len(shapes) != 1 or prod(shapes[0]) != 1


def _one(tree: Any) -> Any:
    """Return the only basis vector of a pytree of one number."""
    return tree_map(lambda x: np.ones(typeof(x).shape, typeof(x).dtype)[()], tree)


def _shaped(x: Value, example: Any, axis: int) -> Any:
    """Return `x` in the structure of a pytree of one number, with axes of size 1 for the shape of its leaf."""
    (leaf,), treedef = tree_flatten(example)
    shape = typeof(x).shape
    start = axis % (len(shape) + 1)
    return treedef.unflatten([reshape(x, (*shape[:start], *typeof(leaf).shape, *shape[start:]))])


def _basis(tree: Any) -> Any:
    """Return the standard basis of a pytree of arrays: the same structure, with an axis of basis vectors in front."""
    leaves, treedef = tree_flatten(tree)
    avals = [typeof(x) for x in leaves]
    total = sum(prod(aval.shape) for aval in avals)
    basis, start = [], 0
    for aval in avals:
        size = prod(aval.shape)
        rows = np.eye(total, size, -start, dtype=aval.dtype) if is_float(aval.dtype) else _float0(total, aval)
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
