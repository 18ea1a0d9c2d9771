"""Factorisations of matrices, powers and chains of products, as in `numpy.linalg`.

Read next: `spectra.py`, for the factorisations that show eigenvalues and singular values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine import short_repr
from calque_core.engine.numpy_functions import matmul, refuse
from calque_core.extend import integer, where
from calque_linalg.kit import adjoint, identity_like, transposed
from calque_numpy.creation import asarray
from calque_numpy.equations import as_field, inv

Value = Any

QRResult: Any = type(np.linalg.qr(np.ones((1, 1))))  # NumPy's own class, for which it has no public name


@implements(np.linalg.cholesky)
def cholesky(a: Value, /, *, upper: bool = False, symmetrize_input: bool = False) -> Value:
    """Return the lower triangle L with a positive diagonal for which L @ L^H is `a`; with `upper`, L^H.

    The lower triangle of `a` is read, or the upper one with `upper`, so a gradient is a triangle, too.  With
    `symmetrize_input`, it is the factor of (a + a^H) / 2, whose gradient is Hermitian.
    Shapes: a [*s, n, n] -> [*s, n, n].  Dtype: a's, single or double precision; float64 for integers.
    A matrix that is not positive definite is a `numpy.linalg.LinAlgError`; compiled, the result is NaN.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.linalg import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    (a,) = as_field("cholesky", a)
    if not upper or typeof(a).ndim < 2:
        return linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(linalg.cholesky(adjoint(a), symmetrize_input=symmetrize_input))


@implements(np.linalg.qr)
def qr(a: Value, mode: str = "reduced") -> Any:
    """Return Q with orthonormal columns and the upper triangle R for which Q @ R is `a`.

    `mode` is "reduced", "complete" for a square Q, "r" for R alone, or "raw" for the transposed matrix and the taus of
    the reflections that LAPACK stores, which have no derivative.
    Shapes: a [*s, m, n] -> Q [*s, m, k], R [*s, k, n], where k is min(m, n), or m for a square Q.
    Dtype: a's, single or double precision; float64 for integers.
    Derivatives: for matrices whose first k columns are independent; none for a square Q if m > n.
    Raises: ShapeError unless `a` is a matrix; TypeError for half precision; ValueError for another mode.

    >>> import numpy as np
    >>> from calque_numpy.linalg import qr
    >>> qr(np.array([[3.0, 5.0], [4.0, 5.0]])).R
    array([[-5., -7.],
           [ 0., -1.]])
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr{where()}: mode is {mode!r}. Use 'reduced', 'complete', 'r' or 'raw'.")
    (a,) = as_field("qr", a)
    if mode == "raw":
        packed, taus = linalg.geqrf(a)
        return transposed(packed), taus
    q, r = linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


# Products


@implements(np.linalg.matrix_power)
def matrix_power(a: Value, n: int) -> Value:
    """Return the product of n equal matrices, by repeated squaring; for negative n, of their inverse.

    Shapes: a [*s, k, k] -> [*s, k, k].  Dtype: a's; for negative n that of the inverse.
    Raises: ShapeError unless `a` is square; TypeError unless n is an integer.

    >>> import numpy as np
    >>> from calque_numpy.linalg import matrix_power
    >>> matrix_power(np.array([[1, 1], [0, 1]]), 5)
    array([[1, 5],
           [0, 1]])
    """
    exponent, a = integer("matrix_power", "n", n), asarray(a)
    aval = typeof(a)
    if aval.ndim < 2 or aval.shape[-2] != aval.shape[-1]:
        raise ShapeError(f"matrix_power of {aval}{where()}: it is no square matrix. Give one, or a stack.")
    if not exponent:
        return identity_like(a)
    square, exponent = (a, exponent) if exponent > 0 else (inv(a), -exponent)
    out = None
    while exponent:
        if exponent & 1:
            out = square if out is None else matmul(out, square)
        exponent >>= 1
        square = matmul(square, square) if exponent else square
    return out


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Value], *, out: None = None) -> Value:
    """Return the product of two matrices or more, in the order with the fewest multiplications.

    The first may be a vector, a row, and the last a vector, a column.
    Raises: ValueError for fewer than two arrays; ShapeError if one is no matrix, or the sizes of neighbours differ;
    TypeError for `out`.
    Source: Cormen et al. (2009), Introduction to algorithms, section 15.2.

    >>> import numpy as np
    >>> from calque_numpy.linalg import multi_dot
    >>> multi_dot([np.ones((2, 30)), np.ones((30, 3)), np.ones(3)])
    array([90., 90.])
    """
    refuse("multi_dot", out=out)
    if not isinstance(arrays, Iterable):
        raise TypeError(f"multi_dot{where()} got {short_repr(arrays)} as its arrays. Give a sequence of arrays.")
    chain = [asarray(x) for x in arrays]
    if len(chain) < 2:
        raise ValueError(f"multi_dot{where()} got {len(chain)} arrays. Give two or more.")
    is_row, is_column = typeof(chain[0]).ndim == 1, typeof(chain[-1]).ndim == 1
    chain[0] = lax.expand_dims(chain[0], (0,)) if is_row else chain[0]
    chain[-1] = lax.expand_dims(chain[-1], (1,)) if is_column else chain[-1]
    for x in chain:
        if typeof(x).ndim != 2:
            raise ShapeError(
                f"multi_dot{where()}: {typeof(x)} is no matrix. Only the ends of the chain may be vectors."
            )
    splits = _best_splits([typeof(chain[0]).shape[0], *(typeof(x).shape[1] for x in chain)])
    product = _product(chain, splits, 0, len(chain))
    return lax.squeeze(product, [axis for axis, is_single in enumerate((is_row, is_column)) if is_single])


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return for each part of a chain, from `start` to before `stop`, where its last product splits it."""
    count = len(sizes) - 1
    costs = {(i, i + 1): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for start in range(count - length + 1):
            stop = start + length

            def cost(middle: int, start: int = start, stop: int = stop) -> int:
                return costs[start, middle] + costs[middle, stop] + sizes[start] * sizes[middle] * sizes[stop]

            splits[start, stop] = best = min(range(start + 1, stop), key=cost)
            costs[start, stop] = cost(best)
    return splits


def _product(chain: Sequence[Value], splits: dict[tuple[int, int], int], start: int, stop: int) -> Value:
    if stop == start + 1:
        return chain[start]
    middle = splits[start, stop]
    return matmul(_product(chain, splits, start, middle), _product(chain, splits, middle, stop))
