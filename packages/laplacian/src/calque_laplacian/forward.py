"""`laplacian` and `forward_laplacian`: sums of second derivatives in one forward pass.

Source: Li et al. (2024), A computational framework for neural network-based variational Monte Carlo with Forward
Laplacian.

Read next: `inputs.py` for arguments and weights, `laplacian_trace.py` for the trace that applies the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from calque_core import api_boundary, current_trace, moveaxis, tracing, typeof
from calque_core.extend import check_arrays, check_callable, describe_function, is_float
from calque_core.lax import reshape, slice_in_dim, zeros_like
from calque_laplacian import rules as _rules  # noqa: F401  the rules of core's primitives
from calque_laplacian.inputs import Inputs, chosen_inputs, weights_of
from calque_laplacian.laplacian_trace import LaplacianTrace
from calque_laplacian.sparsity import dense
from calque_laplacian.triple import InnerProduct, Triple, Value, with_zeros
from calque_pytree import keystr, tree_flatten, tree_flatten_with_path, tree_structure

Argnums = int | Sequence[int]


class ForwardLaplacian(NamedTuple):
    """The value, the gradient and the Laplacian of a function, from one pass."""

    value: Any
    gradient: Any
    laplacian: Any


@api_boundary
def laplacian(fun: Callable[..., Any], argnums: Argnums = 0, *, weights: Any = None) -> Callable[..., Any]:
    """Return a function that computes the Laplacian of `fun`: the sum of its second derivatives in all inputs.

    `argnums` chooses the arguments whose elements are the inputs: pytrees of real floating arrays.  With `weights`, the
    result is sum_ij A_ij d_i d_j: `weights` is a number, or a tree of numbers and arrays like the arguments, the
    diagonal of A; or the matrix A, with one row for each input, in the order of the leaves.  The result has the
    structure, shapes and dtypes of the result of `fun`.
    Raises: TypeError if an argument is not of real floats, or a result is not floating; ValueError if the weights do
    not fit.

    >>> import numpy as np
    >>> from calque_laplacian import laplacian
    >>> laplacian(lambda x: np.sum(x * x * x))(np.array([1.0, 2.0]))
    np.float64(18.0)
    >>> mixed = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> laplacian(lambda x: x[0] * x[0] * x[1], weights=mixed)(np.array([2.0, 1.0]))
    np.float64(4.0)
    """
    return _transform(fun, argnums, weights, laplacians)


@api_boundary
def forward_laplacian(
    fun: Callable[..., Any], argnums: Argnums = 0, *, weights: Any = None
) -> Callable[..., ForwardLaplacian]:
    """Return a function that computes the value, the gradient and the Laplacian of `fun` in one pass.

    The options are those of `laplacian`.  In place of each leaf of the result of `fun`, of shape [*s], the gradient has
    the structure of the argument (a tuple of structures if `argnums` is a sequence), with leaves [*s, *t] for inputs of
    shape [*t].
    Raises: as `laplacian`.

    >>> import numpy as np
    >>> from calque_laplacian import forward_laplacian
    >>> forward_laplacian(lambda x: np.sum(x * x * x))(np.array([1.0, 2.0]))
    ForwardLaplacian(value=np.float64(9.0), gradient=array([ 3., 12.]), laplacian=np.float64(18.0))
    """
    return _transform(fun, argnums, weights, all_parts)


def _transform(
    fun: Callable[..., Any], argnums: Argnums, weights: Any, finish: Callable[..., Any]
) -> Callable[..., Any]:
    check_callable(fun, "laplacian")
    caller = f"laplacian of {describe_function(fun)}"

    @wraps(fun)
    @api_boundary
    def transformed(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen_inputs(caller, argnums, args)
        inner = InnerProduct(weights_of(caller, weights, inputs))
        with tracing(LaplacianTrace(current_trace(), inputs.size, inner)) as trace:
            tracers = [trace.wrap(x, typeof(x.value)) for x in inputs.triples(is_sparse=weights is None)]
            out = fun(*inputs.put(args, tracers), **kwargs)
            triples = [trace.unwrap(x) for x in checked_results(caller, out)]
        leaves, tree = tree_flatten(finish(inputs, tree_structure(out), triples))
        return tree.unflatten(separate(leaves, inputs.leaves))

    return transformed


def laplacians(inputs: Inputs, tree: Any, triples: Sequence[Triple]) -> Any:
    """Return the Laplacians in the structure of the result."""
    return tree.unflatten([zeros_like(x.value) if x.laplacian is None else x.laplacian for x in triples])


def all_parts(inputs: Inputs, tree: Any, triples: Sequence[Triple]) -> ForwardLaplacian:
    """Return value, gradient and Laplacian in the structure of the result."""
    whole = [with_zeros(dense(x, inputs.size), inputs.size) for x in triples]
    gradients = [inputs.arrange(parts_of(inputs, x.jacobian)) for x in whole]
    return ForwardLaplacian(*map(tree.unflatten, ([x.value for x in whole], gradients, [x.laplacian for x in whole])))


def parts_of(inputs: Inputs, jacobian: Value) -> list[Value]:
    """Return the derivatives with respect to each leaf.  Shapes: jacobian [n, *s] -> [*s, *t] for a leaf [*t]."""
    out_shape, parts, start = typeof(jacobian).shape[1:], [], 0
    columns = moveaxis(jacobian, 0, len(out_shape))
    for leaf in inputs.leaves:
        aval = typeof(leaf)
        part = slice_in_dim(columns, start, start + aval.size, axis=len(out_shape))
        parts.append(reshape(part, (*out_shape, *aval.shape)))
        start += aval.size
    return parts


def checked_results(caller: str, out: Any) -> list[Value]:
    """Return the leaves of the result.  Raises: TypeError if one is not floating."""
    paths, _ = tree_flatten_with_path(out)
    check_arrays([x for _, x in paths], lambda: [f"the result{keystr(path)}" for path, _ in paths], caller)
    for path, x in paths:
        if not is_float(typeof(x).dtype):
            raise TypeError(
                f"{caller}: the result{keystr(path)} is of type {typeof(x)}, which has no derivative. Return floating "
                "arrays, or convert it with astype."
            )
    return [x for _, x in paths]


def separate(results: Sequence[Value], held: Sequence[Value]) -> list[Value]:
    """Return the results; an array that may share memory with an earlier one, or with `held`, is copied."""
    seen, separated = [x for x in held if isinstance(x, np.ndarray)], []
    for x in results:
        is_shared = isinstance(x, np.ndarray) and any(np.may_share_memory(x, array) for array in seen)
        separated.append(x.copy() if is_shared else x)
        if isinstance(x, np.ndarray):
            seen.append(separated[-1])
    return separated
