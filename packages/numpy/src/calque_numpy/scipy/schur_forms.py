"""Schur forms, and functions of matrices that are computed from them, by scipy's names.

One idea: a function of a triangular matrix commutes with it, so each of its columns follows from those before it by one
triangular system.

Source: Parlett (1976), A recurrence among the elements of functions of triangular matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, lax, typeof
from calque_core.engine import call
from calque_core.engine.numpy_functions import as_dtype, broadcast_to
from calque_core.extend import check_callable, describe_function, real_dtype, where
from calque_linalg.kit import (
    adjoint,
    as_rows,
    column_by_column,
    diagonal_of,
    identity_like,
    matrix_product,
    on_diagonal,
    transposed,
    upper_triangle,
    with_diagonal,
)
from calque_numpy.equations import as_field, leading_axes
from calque_numpy.norms import norm

Value = Any


def _as_complex(x: Value) -> Value:
    return as_dtype(x, np.result_type(typeof(x).dtype, np.complex64))


# Forms


def schur(a: Value, output: str = "real") -> tuple[Value, Value]:
    """Return the Schur form t of a square matrix and the vectors z, a = z @ t @ z^H.

    `output="real"` gives a real matrix a real form, with a block of size 2 for each pair of complex eigenvalues;
    "complex" gives a triangular form.
    Shapes: a [*b, n, n] -> [*b, n, n], [*b, n, n].  Dtypes: a's, float64 for integers; complex for "complex".  It has
    no derivative.
    Raises: ShapeError unless `a` is square; TypeError for half precision; ValueError for another `output`;
    LinAlgError if the iteration does not converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import schur
    >>> schur(np.array([[1.0, 4.0], [0.0, 2.0]]))[0]
    array([[1., 4.],
           [0., 2.]])
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur{where()}: output is {output!r}. Use 'real' or 'complex'.")
    (a,) = as_field("schur", a)
    form, vectors = linalg.schur(_as_complex(a) if output == "complex" else a)
    return form, vectors


def rsf2csf(T: Value, Z: Value) -> tuple[Value, Value]:
    """Return the complex Schur form that belongs to a real one, and its vectors.

    Shapes: T, Z [*b, n, n] -> [*b, n, n], [*b, n, n].  Dtypes: complex.
    Raises: ShapeError unless both are square, of one shape; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import rsf2csf
    >>> rsf2csf(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(2))[0].diagonal()
    array([0.+1.j, 0.-1.j])
    """
    T, Z = as_field("rsf2csf", T, Z)
    if typeof(T).shape != typeof(Z).shape:
        raise ShapeError(
            f"rsf2csf of {typeof(T)} and {typeof(Z)}{where()}: the shapes differ. Give a form with its vectors."
        )
    form, vectors = linalg.schur(_as_complex(T))
    return form, matrix_product(as_dtype(Z, typeof(vectors).dtype), vectors)


def hessenberg(a: Value, *, calc_q: bool = False) -> Any:
    """Return the Hessenberg form h of a square matrix; with `calc_q`, the pair h, q with a = q @ h @ q^H.

    Shapes: a [*b, n, n] -> [*b, n, n].  Dtype: a's; float64 for integers.  It has no derivative.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import hessenberg
    >>> h, q = hessenberg(np.arange(9.0).reshape(3, 3), calc_q=True)
    >>> np.allclose(q @ h @ q.T, np.arange(9.0).reshape(3, 3)), bool(h[2, 0] == 0)
    (True, True)
    """
    packed, taus = linalg.hessenberg(*as_field("hessenberg", a))
    form = upper_triangle(packed, -1)
    if not calc_q:
        return form
    n = typeof(packed).shape[-1]
    if n < 2:
        return form, identity_like(packed)
    batch = typeof(packed).shape[:-2]
    below = lax.slice(packed, (*[0] * len(batch), 1, 0), (*batch, n, n - 1))
    padding = [(0, 0, 0)] * len(batch) + [(1, 0, 0), (1, 0, 0)]
    q = lax.pad(linalg.householder_product(below, taus), typeof(packed).dtype.type(0), padding)
    is_first = lax.eq(lax.iota(np.int32, n), 0)
    corner = on_diagonal(as_rows(as_dtype(is_first, typeof(q).dtype), n), 0)
    return form, lax.add(q, lax.broadcast(corner, batch))


# Functions of matrices


def sqrtm(A: Value) -> Value:
    """Return the principal square root of a square matrix, r with r @ r = A.

    Shapes: A [*b, n, n] -> [*b, n, n].  Dtype: complex.  A matrix without a square root gives numbers that are not
    finite, or huge.
    Derivatives: for matrices without the eigenvalue 0; at singular matrices there are none.
    Raises: ShapeError unless `A` is square; TypeError for half precision; LinAlgError if the Schur form does not
    converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import sqrtm
    >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]])).real
    array([[2., 0.],
           [0., 3.]])
    """
    return linalg.sqrtm(*as_field("sqrtm", A))


def solve_sylvester(a: Value, b: Value, q: Value) -> Value:
    """Return the solution x of a @ x + x @ b = q.

    Shapes: a [*s, m, m], b [*s, n, n], q [*s, m, n] -> [*s, m, n]; the axes s broadcast.  Dtype: promoted, single or
    double precision; float64 for integers.
    Raises: ShapeError if the shapes do not fit; TypeError for half precision; LinAlgError if an eigenvalue of `a` and
    one of `b` have the sum 0, or if a Schur form does not converge; compiled, the result is then not finite.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import solve_sylvester
    >>> solve_sylvester(np.diag([1.0, 2.0]), np.array([[2.0]]), np.array([[6.0], [8.0]]))
    array([[2.],
           [2.]])
    """
    operands = as_field("solve_sylvester", a, b, q)
    for x in operands:
        if typeof(x).ndim < 2:
            raise ShapeError(f"solve_sylvester{where()}: an operand is {typeof(x)}. Give matrices.")
    leading = leading_axes("solve_sylvester", *operands)
    return linalg.sylvester_solve(*(broadcast_to(x, leading + typeof(x).shape[-2:]) for x in operands))


def funm(A: Value, func: Callable[[Value], Value], disp: bool = True) -> Any:
    """Return the function of a square matrix that `func` is of its eigenvalues; without `disp`, its error too.

    `func` takes a vector of eigenvalues.  The result is inaccurate if eigenvalues are close to one another; the error
    is an estimate of that, relative and at most 1.
    Shapes: A [*b, n, n] -> [*b, n, n], error [*b].  Dtypes: complex; that of its real part.  It has no derivative.
    Raises: as `sqrtm`; TypeError if `func` is no function; ShapeError if it returns no vector of that size.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import funm
    >>> funm(np.array([[4.0, 0.0], [0.0, 9.0]]), np.sqrt).real
    array([[2., 0.],
           [0., 3.]])
    """
    check_callable(func, "funm")
    form, vectors = schur(A, "complex")
    values = diagonal_of(form)
    start = as_dtype(call(func, "funm", values), typeof(form).dtype)
    if typeof(start).shape != typeof(values).shape:
        raise ShapeError(
            f"funm of {describe_function(func)}{where()}: of a vector {typeof(values)} of eigenvalues it returned "
            f"{typeof(start)}. Return one number for each."
        )

    def equation(out: Value, column: Value, j: Value) -> tuple[Value, Value]:
        """Solve (t - t_jj) x = f t_j - t_j f_jj, as f and t commute."""
        own, image = (lax.dynamic_slice_in_dim(diagonal, j, 1, -1) for diagonal in (values, start))
        right = lax.sub(matrix_product(out, column), matrix_product(column, lax.expand_dims(image, (-2,))))
        return with_diagonal(form, lax.sub(values, own), 1.0), right

    triangle = column_by_column(form, start, equation)
    out = matrix_product(matrix_product(vectors, triangle), adjoint(vectors))
    return out if disp else (out, _error_of_function(form, values))


def _error_of_function(form: Value, values: Value) -> Value:
    """Return the machine epsilon times the size of the triangle over the least gap, between epsilon and 1."""
    n, dtype = typeof(values).shape[-1], real_dtype(typeof(values).dtype)
    epsilon = float(np.finfo(dtype).eps)
    columns = as_rows(values, n)
    gaps = lax.abs(lax.sub(columns, transposed(columns)))
    gaps = lax.sub(gaps, on_diagonal(gaps, 0))
    least = lax.reduce_min(lax.select(lax.eq(identity_like(gaps), 1), np.inf, gaps), (-2, -1)) if n else np.inf
    size = norm(lax.sub(form, on_diagonal(form, 0)), 1, (-2, -1))
    least = lax.select(lax.eq(least, 0), epsilon, least)
    return lax.clamp(epsilon, lax.div(lax.mul(size, epsilon), least), 1.0)
