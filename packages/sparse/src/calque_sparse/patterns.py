"""The patterns of Jacobians and Hessians: the public functions.

One idea: number the elements of an argument, give each the set of its number, run the detection over the program, and
read the sets of the results.

Read next: `detection.py`, the run; `matrix.py`, its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import api_boundary, is_tracer, make_jaxpr, typeof
from calque_core.extend import describe_function, is_float, where
from calque_pytree import tree_leaves
from calque_sparse import rules  # noqa: F401 -- for what it registers
from calque_sparse.detection import UNKNOWN, Detection, Operand, Products, settled
from calque_sparse.matrix import SparsityPattern
from calque_sparse.sets import Sets


@api_boundary
def jacobian_sparsity(f: Callable[..., Any], *args: Any, argnums: int = 0, local: bool = False) -> SparsityPattern:
    """Return the pattern of the Jacobian of `f` at `args`, with respect to argument `argnums`, from its program.

    Rows are the elements of the result, columns those of the argument, leaf after leaf, each in C order.
    The pattern is global: it holds for all arguments of these types, other arguments included.  With `local`, it holds
    for these values alone, and may be smaller: branches, masks and products with zeros are decided.
    No derivative is computed; the pattern may be larger than that of the derivative, never smaller.
    Raises: TypeError if the argument has leaves that are not real floats, or is traced in local mode.

    >>> import numpy as np
    >>> from calque_sparse import jacobian_sparsity
    >>> jacobian_sparsity(lambda x: x[1:] * x[:-1], np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    sets, _, outs = detect("jacobian_sparsity", f, args, argnums, local, Detection)
    sizes, columns = sets.members(np.concatenate([np.zeros(0, np.int32), *[out.ids.ravel() for out in outs]]))
    return SparsityPattern((len(sizes), sets.num_columns), np.repeat(np.arange(len(sizes)), sizes), columns)


@api_boundary
def hessian_sparsity(f: Callable[..., Any], *args: Any, argnums: int = 0, local: bool = False) -> SparsityPattern:
    """Return the pattern of the Hessian of `f`, whose result is a number: the pairs of elements that it multiplies.

    The arguments, `local` and the errors are those of `jacobian_sparsity`.
    Raises: TypeError if the result is not one number.

    >>> import numpy as np
    >>> from calque_sparse import hessian_sparsity
    >>> hessian_sparsity(lambda x: np.sum(x[1:] * x[:-1]) + x[0] ** 2, np.ones(3)).toarray().astype(int)
    array([[1, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    sets, run, outs = detect(
        "hessian_sparsity", f, args, argnums, local, lambda sets: Detection(sets, Products(sets), 2)
    )
    if [out.aval.shape for out in outs] != [()]:
        name, types = f"hessian_sparsity of {describe_function(f)}{where()}", [out.aval for out in outs]
        raise TypeError(f"{name}: the result has the types {types}. Return one number, for example a sum.")
    width, pairs = sets.num_columns, np.zeros(0, np.int64)
    if run.products is not None and outs[0].layers:
        pairs = run.products.pairs(outs[0].layer(1).ids)
    return SparsityPattern((width, width), *np.divmod(pairs, max(width, 1)))


def detect(
    verb: str, f: Any, args: tuple[Any, ...], argnums: int, local: bool, start: Callable[[Sets], Detection]
) -> tuple[Sets, Detection, list[Operand]]:
    """Return the sets, the run, and the dependence of the results of `f`."""
    chosen = chosen_argument(verb, f, args, argnums)
    sizes = [typeof(x).size for x in tree_leaves(args[chosen])]
    sets = Sets(sum(sizes))
    ids = iter(np.split(sets.singletons(np.arange(sum(sizes))), np.cumsum(sizes)[:-1]))
    run, starts = start(sets), []
    for i, x in [(i, x) for i, arg in enumerate(args) for x in tree_leaves(arg)]:
        if local and is_tracer(x):
            raise TypeError(f"{verb}{where()}: local=True reads values, and {x} has none. Call it outside of jit.")
        aval, value = typeof(x), x if local else UNKNOWN
        empty = np.zeros(aval.shape, np.int32)
        layers = (next(ids).reshape(aval.shape), empty)[: len(run.layers)] if i == chosen else ()
        starts.append(settled(aval, value, layers))
    return sets, run, run.run(make_jaxpr(f)(*args), starts)


def chosen_argument(verb: str, f: Callable[..., Any], args: tuple[Any, ...], argnums: int) -> int:
    """Return the position of the argument, whose leaves must be real floats.  Raises: TypeError, ValueError."""
    name = f"{verb} of {describe_function(f)}{where()}"
    if not -len(args) <= argnums < len(args):
        raise ValueError(f"{name}: argnums is {argnums}, but f has {len(args)} arguments. Use 0 to {len(args) - 1}.")
    for aval in map(typeof, tree_leaves(args[argnums])):
        if not is_float(aval.dtype) or aval.dtype.kind == "c":
            raise TypeError(f"{name}: argument {argnums} has a leaf {aval}. Give real floats; close over other arrays.")
    return argnums % len(args)
