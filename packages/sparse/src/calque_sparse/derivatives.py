"""Compressed derivatives: one pass of forward or reverse mode for each colour, and each entry read off.

One idea: a function becomes one of a vector, x [n] -> [m].  `linearize` or `vjp` runs it once; then each colour is a
call of a linear function.  calque-autodiff is imported at the first derivative.  A prepared derivative has its pattern,
its colouring and its program made once: without a compiler, a call evaluates recorded operations.

Read next: `coloring.py`, where entries are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calque_core import api_boundary, current_trace, eval_jaxpr, evaluation, lax, make_jaxpr, ravel_pytree, typeof
from calque_core.extend import JaxprTrace, check_callable, describe_function, late_function, settings_key, where
from calque_pytree import tree_flatten
from calque_sparse.coloring import Coloring, bicoloring, column_coloring, row_coloring, star_coloring
from calque_sparse.greedy import count
from calque_sparse.matrix import SparseArray, SparsityPattern, add_at
from calque_sparse.patterns import chosen_argument, hessian_sparsity, jacobian_sparsity

Value = Any
Linear = Callable[[Value], Value]
Args = tuple[Any, ...]
Derivative = Callable[..., SparseArray]
Tools = tuple[Any, Any, Derivative]  # detection, colouring, and the passes of a kind of derivative
ELEMENTS = 1 << 24  # of the vectors that one call of `vmap` gets
FEW = 8  # colours, above which a colouring of rows and columns together is tried
_linearize, _vjp, _grad = (late_function("calque_autodiff", name) for name in ("linearize", "vjp", "grad"))
_vmap, _find_spec = late_function("calque_batching", "vmap"), late_function("importlib.util", "find_spec")


@api_boundary
def jacfwd(f: Callable[..., Any], *, sparsity: Any = None, argnums: int = 0) -> Derivative:
    """Return a function that gives the Jacobian of `f` as a sparse matrix, by forward mode: one pass per colour.

    `sparsity` is a pattern, a `Coloring`, or a matrix whose nonzero entries are the pattern; it is coloured here, once.
    Without it, each call detects the pattern: `prepare_jacobian` does so once.
    Rows are the elements of the result, columns those of argument `argnums`, leaf after leaf, each in C order.
    An entry that the pattern lacks is added to another one: the numbers are wrong then.
    Raises: ValueError if the shapes of the pattern and of the Jacobian differ; ModuleNotFoundError without
    calque-autodiff.

    >>> import numpy as np
    >>> from calque_sparse import jacfwd
    >>> jacfwd(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    return _derivative("jacfwd", f, sparsity, argnums, (jacobian_sparsity, column_coloring, jacobian_of))


@api_boundary
def jacrev(f: Callable[..., Any], *, sparsity: Any = None, argnums: int = 0) -> Derivative:
    """Return a function that gives the Jacobian of `f` as a sparse matrix, by reverse mode: one pass per row colour.

    All else is as for `jacfwd`.

    >>> import numpy as np
    >>> from calque_sparse import jacrev
    >>> jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 4., 6.]])
    """
    return _derivative("jacrev", f, sparsity, argnums, (jacobian_sparsity, row_coloring, jacobian_of))


@api_boundary
def hessian(f: Callable[..., Any], *, sparsity: Any = None, argnums: int = 0) -> Derivative:
    """Return a function that gives the Hessian of `f` as a sparse matrix: one product with the Hessian per colour.

    The result of `f` is a number.  `sparsity` and `argnums` are those of `jacfwd`; the colouring is a star colouring.

    >>> import numpy as np
    >>> from calque_sparse import hessian
    >>> hessian(lambda x: np.sum(x[1:] * x[:-1]) + x[0] ** 2)(np.ones(3)).toarray()
    array([[2., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    return _derivative("hessian", f, sparsity, argnums, (hessian_sparsity, star_coloring, hessian_of))


@api_boundary
def hvp(f: Callable[..., Any], *, argnums: int = 0) -> Callable[..., Value]:
    """Return a function of `v` and the arguments of `f` that gives the product of the Hessian and `v`, by one pass.

    `v` has the form of argument `argnums`, and so has the product.  No matrix is made, so it needs no pattern.

    >>> import numpy as np
    >>> from calque_sparse import hvp
    >>> hvp(lambda x: np.sum(x[1:] * x[:-1]))(np.ones(3), np.zeros(3))
    array([1., 2., 1.])
    """
    check_callable(f, "hvp")

    def product(v: Value, *args: Any) -> Value:
        g, x, unravel = as_vector_function("hvp", f, args, argnums)
        _, push = _linearize(_grad(lambda vector: lax.reshape(g(vector), ())), x)
        return unravel(push(ravel_pytree(v)[0]))

    return product


def _derivative(verb: str, f: Any, sparsity: Any, argnums: int, tools: Tools) -> Derivative:
    detect, color, run = tools
    check_callable(f, verb)
    given = None if sparsity is None else as_coloring(sparsity, color)

    @api_boundary
    def derivative(*args: Any) -> SparseArray:
        coloring = color(detect(f, *args, argnums=argnums)) if given is None else given
        return run(verb, f, argnums, coloring, args)

    return derivative


def as_coloring(sparsity: Any, color: Callable[[SparsityPattern], Coloring]) -> Coloring:
    """Return a colouring: the given one, or one of the given pattern."""
    return sparsity if isinstance(sparsity, Coloring) else color(SparsityPattern.of(sparsity))


def products(linear: Linear, vectors: NDArray[Any], unrolled: int) -> Value:
    """Return the values of a linear function at each vector, concatenated.

    `vmap` takes a third of the time of a loop where operations are evaluated.  In a recorded program a loop of up to
    `unrolled` calls takes a quarter less than `vmap`, once compiled; many would take long to compile.
    """
    most = unrolled if isinstance(current_trace(), JaxprTrace) else 1
    if len(vectors) <= most or _find_spec("calque_batching") is None:
        outs = [linear(vector) for vector in vectors]
    else:
        at_once = max(1, ELEMENTS // max(vectors.shape[1], 1))
        chunks = [_vmap(linear)(vectors[i : i + at_once]) for i in range(0, len(vectors), at_once)]
        outs = [lax.reshape(chunk, (typeof(chunk).size,)) for chunk in chunks]
    return lax.concatenate(outs, 0) if outs else lax.full((0,), 0, vectors.dtype)


def jacobian_of(verb: str, f: Any, argnums: int, coloring: Coloring, args: Args, unrolled: int = 16) -> SparseArray:
    """Return the Jacobian, by the passes of a colouring."""
    g, x, _ = as_vector_function(verb, f, args, argnums)
    numbers: list[Value] = []
    if np.any(coloring.row_colors >= 0):
        out, pull = _vjp(g, x)
        numbers.append(products(lambda ct: pull(ct)[0], seeds(coloring.row_colors, out), unrolled))
    if np.any(coloring.column_colors >= 0) or not numbers:
        out, push = _linearize(g, x)
        numbers.insert(0, products(push, seeds(coloring.column_colors, x), unrolled))
    return finished(verb, f, coloring, (typeof(out).size, typeof(x).size), numbers)


def hessian_of(verb: str, f: Any, argnums: int, coloring: Coloring, args: Args, unrolled: int = 16) -> SparseArray:
    """Return the Hessian, by the passes of a colouring."""
    g, x, _ = as_vector_function(verb, f, args, argnums)
    _, push = _linearize(_grad(lambda vector: lax.reshape(g(vector), ())), x)
    return finished(
        verb, f, coloring, typeof(x).shape * 2, [products(push, seeds(coloring.column_colors, x), unrolled)]
    )


def as_vector_function(verb: str, f: Any, args: Args, argnums: int) -> tuple[Linear, Value, Callable[[Value], Any]]:
    """Return `f` as a function of a vector with a vector as result, the vector of its argument, and the way back."""
    position = chosen_argument(verb, f, args, argnums)
    vector, unravel = ravel_pytree(args[position])

    def g(vector: Value) -> Value:
        return ravel_pytree(f(*args[:position], unravel(vector), *args[position + 1 :]))[0]

    return g, vector, unravel


def seeds(colors: Any, like: Value) -> NDArray[Any]:
    """Return the sums of the unit vectors of each colour.  Shapes: `colors` [n], like [n] -> [k, n]."""
    shape, dtype = typeof(like).shape, typeof(like).dtype
    vectors = np.asarray(colors == np.arange(count(colors))[:, None], dtype)
    return vectors if colors.shape == shape else np.zeros((0, *shape), dtype)  # `finished` refuses other shapes


def finished(verb: str, f: Any, coloring: Coloring, shape: tuple[int, ...], numbers: list[Value]) -> SparseArray:
    """Return the matrix whose entries are read from the compressed numbers.

    Raises: ValueError if the pattern is not one of this matrix.
    """
    if coloring.pattern.shape != shape:
        raise ValueError(
            f"{verb} of {describe_function(f)}{where()}: the pattern has the shape {coloring.pattern.shape}, but the "
            f"derivative has {shape}. Give the pattern of this function and these arguments, or none."
        )
    sums = lax.concatenate(numbers, 0)
    if coloring.tree is not None and coloring.signs is not None:
        signs = coloring.signs.astype(typeof(sums).dtype)
        sums = lax.mul(sums, signs)
        for sources, targets in coloring.tree:
            sums = lax.add(sums, add_at(targets, sums[sources], len(signs)))
        sums = lax.mul(sums, signs)
    return SparseArray(coloring.pattern, sums[coloring.places])


@final
class PreparedDerivative:
    """A sparse derivative of a function: call it with arguments.  Made by `prepare_jacobian` and `prepare_hessian`.

    For arguments of the types of the first ones, the function does not run again: it is traced once, as for `jit`, so
    it must not read variables that change.  For other types, it is differentiated anew.
    """

    def __init__(self, derivative: Callable[..., SparseArray], coloring: Coloring, args: Args) -> None:
        self.coloring = coloring
        self._derivative = derivative
        self._jaxpr = make_jaxpr(lambda *xs: derivative(xs, unrolled=1).values)(*args)
        self._key = self._key_of(args)

    def __call__(self, *args: Any) -> SparseArray:
        """Return the derivative at `args`."""
        if current_trace() is not evaluation or self._key_of(args) != self._key:
            return self._derivative(args)
        (values,) = eval_jaxpr(self._jaxpr, self._jaxpr.consts, *tree_flatten(args)[0])
        return SparseArray(self.coloring.pattern, values)

    def _key_of(self, args: Args) -> Any:
        leaves, tree = tree_flatten(args)
        return [typeof(x) for x in leaves], tree, settings_key()

    def __repr__(self) -> str:
        return f"PreparedDerivative with {self.coloring!r}"


@api_boundary
def prepare_jacobian(f: Callable[..., Any], *args: Any, sparsity: Any = None, argnums: int = 0) -> PreparedDerivative:
    """Return the sparse Jacobian of `f` as a function of arguments like `args`, ready to be called many times.

    It detects the pattern, or takes `sparsity`, as `jacfwd` does; and colours it by columns, rows or both: the mode of
    the fewest passes.  Without a compiler, a call then evaluates recorded operations; `jit` compiles it.

    >>> import numpy as np
    >>> from calque_sparse import prepare_jacobian
    >>> jacobian = prepare_jacobian(lambda x: x[1:] * x[:-1], np.ones(4))
    >>> jacobian
    PreparedDerivative with Coloring of 6 entries with 2 colours of columns and 0 of rows
    >>> jacobian(np.arange(4.0)).values
    array([1., 0., 2., 1., 3., 2.])
    """
    return _prepared("prepare_jacobian", f, sparsity, argnums, args, (jacobian_sparsity, fewest_passes, jacobian_of))


@api_boundary
def prepare_hessian(f: Callable[..., Any], *args: Any, sparsity: Any = None, argnums: int = 0) -> PreparedDerivative:
    """Return the sparse Hessian of `f` as a function of arguments like `args`, ready to be called many times.

    All else is as for `prepare_jacobian`, with a star colouring.

    >>> import numpy as np
    >>> from calque_sparse import prepare_hessian
    >>> prepare_hessian(lambda x: np.sum(x * x), np.ones(3))(np.ones(3)).values
    array([2., 2., 2.])
    """
    return _prepared("prepare_hessian", f, sparsity, argnums, args, (hessian_sparsity, star_coloring, hessian_of))


def _prepared(verb: str, f: Any, sparsity: Any, argnums: int, args: Args, tools: Tools) -> PreparedDerivative:
    detect, color, run = tools
    coloring = as_coloring(detect(f, *args, argnums=argnums) if sparsity is None else sparsity, color)
    return PreparedDerivative(partial(run, verb, f, argnums, coloring), coloring, args)


def fewest_passes(pattern: SparsityPattern) -> Coloring:
    """Return the colouring of the fewest colours: of columns, if it is one of several."""
    best = column_coloring(pattern)
    if best.num_colors > np.max(np.bincount(pattern.columns), initial=1):  # rows of one column differ in colour
        best = min(best, row_coloring(pattern), key=lambda coloring: coloring.num_colors)
    if best.num_colors > FEW:
        best = min(best, bicoloring(pattern), key=lambda coloring: coloring.num_colors)
    return best
