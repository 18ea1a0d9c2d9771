"""Factorisations of matrices, and systems of equations solved with the factors, by scipy's names.

Shapes: matrices are the last two axes; the b of a system is a vector or a stack of matrices, whose leading axes
broadcast with those of the matrix.  Dtypes: promoted, single or double precision; float64 for integers.

Read next: `exponential.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, lax, typeof
from calque_core.engine import short_repr
from calque_core.engine.numpy_functions import as_dtype, broadcast_to, matmul
from calque_core.extend import real_dtype, where
from calque_linalg.kit import conjugated, identity_like, lower_triangle, upper_triangle
from calque_linalg.kit import lu_solve as solve_by_factors
from calque_numpy import equations, factors
from calque_numpy.equations import as_field, broadcast_solution

Value = Any

_TRANSPOSES: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _transpose_of(name: str, trans: Any) -> int:
    if trans not in _TRANSPOSES:
        raise ValueError(
            f"{name}{where()}: trans is {trans!r}. Use 0 for the matrix, 1 for its transpose, or 2 for its adjoint."
        )
    return _TRANSPOSES[trans]


# Equations


def solve(a: Value, b: Value, lower: bool = False, *, assume_a: str = "gen") -> Value:
    """Return the solution x of a @ x = b.

    `assume_a="pos"` says that `a` is positive definite: its upper triangle is read, or the lower one with `lower`, and
    factored by cholesky.  "gen", "sym" and "her" solve by elimination with exchanges of rows.
    Raises: ShapeError unless `a` is square and has as many rows as `b`; TypeError for half precision; ValueError for
    another `assume_a`; LinAlgError for a singular matrix.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import solve
    >>> solve(np.array([[4.0, 0.0], [0.0, 2.0]]), np.array([4.0, 4.0]), assume_a="pos")
    array([1., 2.])
    """
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    if assume_a not in ("gen", "sym", "her"):
        raise ValueError(f"solve{where()}: assume_a is {assume_a!r}. Use 'gen', 'sym', 'her' or 'pos'.")
    return equations.solve(a, b)


def solve_triangular(
    a: Value, b: Value, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Value:
    """Return the solution x of op(a) @ x = b for a triangular matrix, of which one triangle is read.

    op is the transpose for `trans` 1 or "T", and the adjoint for 2 or "C"; the triangle is the upper one, or the lower
    one with `lower`; with `unit_diagonal`, its diagonal is taken as ones.
    Raises: ShapeError unless `a` is square and has as many rows as `b`; TypeError for half precision; ValueError for
    another `trans`; LinAlgError if the diagonal has a zero.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import solve_triangular
    >>> solve_triangular(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    kind = _transpose_of("solve_triangular", trans)
    a, b = as_field("solve_triangular", a, b)
    return broadcast_solution("solve_triangular", a, b, _triangular(kind, lower, unit_diagonal))


def _triangular(kind: int, lower: bool, unit_diagonal: bool = False) -> Any:
    def solve_for(a: Value, b: Value) -> Value:
        return linalg.triangular_solve(
            a,
            b,
            left_side=True,
            lower=lower,
            transpose_a=kind > 0,
            conjugate_a=kind == 2,
            unit_diagonal=unit_diagonal,
        )

    return solve_for


# Elimination


def lu_factor(a: Value) -> tuple[Value, Value]:
    """Return the factors L and U of a matrix with exchanged rows, in one matrix, and the row that each step exchanged.

    Raises: ShapeError for fewer than two axes; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import lu_factor
    >>> lu_factor(np.array([[0.0, 2.0], [4.0, 0.0]]))
    (array([[4., 0.],
           [0., 2.]]), array([1, 1], dtype=int32))
    """
    packed, pivots, _ = linalg.lu(*as_field("lu_factor", a))
    return packed, pivots


def lu_solve(lu_and_piv: tuple[Value, Value], b: Value, trans: int = 0) -> Value:
    """Return the solution x of op(a) @ x = b from the result of `lu_factor(a)`; op is as in `solve_triangular`.

    Raises: ShapeError unless the matrix is square and has as many rows as `b`; TypeError for half precision; ValueError
    for another `trans`; LinAlgError if U is singular.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import lu_factor, lu_solve
    >>> lu_solve(lu_factor(np.array([[0.0, 2.0], [4.0, 0.0]])), np.array([2.0, 4.0]))
    array([1., 1.])
    """
    kind = _transpose_of("lu_solve", trans)
    factors, pivots = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    packed, b = as_field("lu_solve", factors, b)

    def solve_for(packed: Value, b: Value) -> Value:
        shape = typeof(packed).shape
        permutation = linalg.lu_pivots_to_permutation(broadcast_to(pivots, shape[:-1]), shape[-1])
        packed = conjugated(packed) if kind == 2 else packed
        return solve_by_factors(packed, permutation, b, transpose_a=kind > 0)

    return broadcast_solution("lu_solve", packed, b, solve_for)


def _pair(name: str, argument: str, value: Any) -> tuple[Any, Any]:
    """Return both items of the pair that a function such as `lu_factor` has returned."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        factor = name.replace("solve", "factor")
        raise TypeError(f"{name}{where()}: {argument} is {short_repr(value)}. Give the pair that {factor} returns.")
    return value[0], value[1]


def lu(a: Value, permute_l: bool = False) -> tuple[Value, ...]:
    """Return the permutation matrix P, the unit lower triangle L and the upper triangle U for which P @ L @ U is `a`.

    With `permute_l`, return P @ L and U.
    Shapes: a [*s, m, n] -> P [*s, m, m], L [*s, m, k], U [*s, k, n], where k is min(m, n).
    Raises: ShapeError for fewer than two axes; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import lu
    >>> p, l, u = lu(np.array([[0.0, 2.0], [4.0, 0.0]]))
    >>> p
    array([[0., 1.],
           [1., 0.]])
    """
    packed, _, permutation = linalg.lu(*as_field("lu", a))
    *leading, m, n = typeof(packed).shape
    size = min(m, n)
    tall = lax.slice_in_dim(packed, 0, size, axis=-1)
    lower = lax.add(lower_triangle(tall, -1), identity_like(tall))
    upper = upper_triangle(lax.slice_in_dim(packed, 0, size, axis=-2))
    axis = len(leading)
    rows = lax.broadcasted_iota(np.int32, (*leading, m, m), axis)
    columns = lax.broadcast_in_dim(permutation, (*leading, m, m), (*range(axis), axis + 1))
    exchange = as_dtype(lax.eq(rows, columns), real_dtype(typeof(packed).dtype))
    return (matmul(exchange, lower), upper) if permute_l else (exchange, lower, upper)


# Cholesky


def cholesky(a: Value, lower: bool = False) -> Value:
    """Return the triangle R with a positive diagonal for which R^H @ R is `a`; with `lower`, L for which L @ L^H is.

    That triangle of `a` is read.  Raises: as `numpy.linalg.cholesky`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 1.],
           [0., 2.]])
    """
    return factors.cholesky(a, upper=not lower)


def cho_factor(a: Value, lower: bool = False) -> tuple[Value, bool]:
    """Return the triangle of `cholesky`, and `lower`, for `cho_solve`.  The other triangle of the result is zeros.

    Raises: as `numpy.linalg.cholesky`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import cho_factor
    >>> cho_factor(np.array([[4.0]]))
    (array([[2.]]), False)
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Value, bool], b: Value) -> Value:
    """Return the solution x of a @ x = b from the result of `cho_factor(a)`.

    Raises: ShapeError unless the matrix is square and has as many rows as `b`; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import cho_factor, cho_solve
    >>> cho_solve(cho_factor(np.array([[4.0, 0.0], [0.0, 2.0]])), np.array([4.0, 4.0]))
    array([1., 2.])
    """
    triangle, is_lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    c, b = as_field("cho_solve", triangle, b)
    first, second = (0, 2) if is_lower else (2, 0)

    def solve_for(c: Value, b: Value) -> Value:
        return _triangular(second, is_lower)(c, _triangular(first, is_lower)(c, b))

    return broadcast_solution("cho_solve", c, b, solve_for)


# QR


def qr(a: Value, *, mode: str = "full", pivoting: bool = False) -> tuple[Value, ...]:
    """Return Q, R, and with `pivoting` the order p of columns for which Q @ R is `a[:, p]`, as `lax.linalg.qr` does.

    `mode` is "full" for a square Q, "economic" for the columns that R needs, or "r" for a tuple without Q.
    Raises: ShapeError for fewer than two axes; TypeError for half precision; ValueError for another mode.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import qr
    >>> qr(np.array([[3.0], [4.0]]), mode="r")
    (array([[-5.],
           [ 0.]]),)
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"qr{where()}: mode is {mode!r}. Use 'full', 'economic' or 'r'.")
    outs = linalg.qr(*as_field("qr", a), full_matrices=mode != "economic", pivoting=pivoting)
    return outs[1:] if mode == "r" else outs


def qr_multiply(
    a: Value, c: Value, mode: str = "right", pivoting: bool = False, conjugate: bool = False
) -> tuple[Value, ...]:
    """Return c @ Q and R, or Q @ c and R for the mode "left", for the economic QR factorisation of `a`.

    With `conjugate`, the conjugate of Q takes its place.  With `pivoting`, the order of the columns comes third.
    Shapes: a [*s, m, n], c [l, m] or [m], or [k, l] or [k] for "left", k = min(m, n) -> [l, k] or [k], or [m, l] or [m]
    for "left", R [*s, k, n], and order [*s, n].
    Raises: ShapeError if the shapes do not fit; TypeError for half precision; ValueError for another mode.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import qr_multiply
    >>> qr_multiply(np.array([[3.0], [4.0]]), np.array([5.0, 10.0]))
    (array([-11.]), array([[-5.]]))
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply{where()}: mode is {mode!r}. Use 'left' or 'right'.")
    a, c = as_field("qr_multiply", a, c)
    q, *others = linalg.qr(a, full_matrices=False, pivoting=pivoting)
    q = conjugated(q) if conjugate else q
    m, k = typeof(q).shape[-2:]
    c_aval = typeof(c)
    needed = k if mode == "left" else m
    axis = -2 if mode == "left" and c_aval.ndim > 1 else -1
    if not c_aval.ndim or c_aval.shape[axis] != needed:
        raise ShapeError(
            f"qr_multiply of {typeof(a)} and {c_aval}{where()}: the second must have {needed} "
            f"{'rows' if mode == 'left' else 'columns'} for the mode {mode!r}."
        )
    return matmul(q, c) if mode == "left" else matmul(c, q), *others
