"""The polar form and the square root of a matrix, whose derivatives solve equations of Sylvester's kind.

One idea: both are functions of the matrix that singular values and Schur forms help to compute, but whose derivatives
divide by sums of singular values or eigenvalues, never by gaps; so they are primitives, with derivatives of their own.

Read next: `sylvester.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import bind_checked, complex_dtype, shaped_array, where
from calque_core.lax import (
    add,
    broadcasted_iota,
    convert_element_type,
    dynamic_slice_in_dim,
    dynamic_update_slice_in_dim,
    eq,
    fori_loop,
    lt,
    select,
    sqrt,
)
from calque_linalg.ops.diagonals import as_rows, diagonal_of, on_diagonal, scale_columns
from calque_linalg.ops.eigen import by_lapack, svd
from calque_linalg.ops.matrices import (
    adjoint,
    check_matrices,
    check_square,
    field_operands,
    is_hermitian,
    matrix_product,
    on_matrices,
)
from calque_linalg.ops.similarity import schur
from calque_linalg.ops.triangular import triangular_solve

Value = Any

# The polar form

polar_p = Primitive("polar", multiple_results=True)


@polar_p.def_abstract_eval(cached=True)
def polar_abstract_eval(x_aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("polar", x_aval)
    *batch, m, n = x_aval.shape
    if m < n:
        raise ShapeError(f"polar of {x_aval}{where()}: the matrix has fewer rows than columns. Give its adjoint.")
    return [x_aval.strip_weak_type(), shaped_array((*batch, n, n), x_aval.dtype)]


@polar_p.def_impl
@polar_p.def_rule("decomposition")
def polar_decomposition(x: Value) -> list[Value]:
    u, values, vh = svd(x, full_matrices=False)
    return [matrix_product(u, vh), matrix_product(scale_columns(adjoint(vh), values), vh)]


def polar(x: Value) -> tuple[Value, Value]:
    """Return u and p with x = u p, where u has orthonormal columns and p is Hermitian without negative eigenvalues.

    Shapes: x [*b, m, n] with n <= m -> [*b, m, n], [*b, n, n].  Dtype: x's; float64 for integers.
    Derivatives: of every order for matrices of rank n, equal singular values included; of lower rank, u is not unique
    and has none: it is NaN.
    Raises: ShapeError unless `x` is a matrix with at least as many rows as columns; TypeError for half precision;
    LinAlgError if the iteration for the singular values does not converge.  Compiled, the results are then NaN.

    >>> import numpy as np
    >>> from calque_linalg import polar
    >>> polar(np.array([[0.0, 3.0], [2.0, 0.0]]))[1]
    array([[2., 0.],
           [0., 3.]])
    """
    u, p = bind_checked(polar_p, *field_operands("polar", x))
    return u, p


# The square root

sqrtm_p = Primitive("sqrtm")


@sqrtm_p.def_abstract_eval(cached=True)
def sqrtm_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("sqrtm", x_aval)
    return x_aval.update(dtype=complex_dtype(x_aval.dtype), weak_type=False)


def sqrtm_impl(x: Value) -> Value:
    """Take the roots of the eigenvalues of definite matrices, which NumPy finds faster than we the Schur form.

    Such a root is exactly Hermitian, so `sylvester_solve` finds the eigenvalues for the derivative, too.
    """
    if not (x.size and is_hermitian(x)):
        return sqrtm_decomposition(x)
    values, vectors = by_lapack("sqrtm", np.linalg.eigh, x)
    if not (values > 0).all():
        return sqrtm_decomposition(x)
    root = (vectors * np.sqrt(values)[..., None, :]) @ vectors.conj().mT
    return ((root + root.conj().mT) / 2).astype(complex_dtype(x.dtype), copy=False)


sqrtm_p.def_impl(sqrtm_impl)


@sqrtm_p.def_rule("decomposition")
def sqrtm_decomposition(x: Value) -> Value:
    """Take the root of the Schur form.  Source: Bjorck & Hammarling (1983), A Schur method for the square root."""
    if not typeof(x).size:
        return convert_element_type(x, complex_dtype(typeof(x).dtype))
    form, vectors = schur(convert_element_type(x, complex_dtype(typeof(x).dtype)))
    tiny = float(np.finfo(typeof(form).dtype).tiny)
    roots = sqrt(diagonal_of(form))

    def equation(out: Value, column: Value, j: Value) -> tuple[Value, Value]:
        """Solve (r + r_jj) x = t, where t is column j of r r."""
        return with_diagonal(out, add(roots, dynamic_slice_in_dim(roots, j, 1, -1)), tiny), column

    root = column_by_column(form, roots, equation)
    return matrix_product(matrix_product(vectors, root), adjoint(vectors))


def sqrtm(x: Value) -> Value:
    """Return the principal square root r of a square matrix, r r = x.

    Shapes: x [*b, n, n] -> [*b, n, n].  Dtype: complex.  A matrix without a square root gives numbers that are not
    finite, or huge.
    Derivatives: for matrices without the eigenvalue 0; those of singular matrices are refused in evaluation, and not
    finite when compiled.
    Raises: ShapeError unless `x` is square; TypeError for half precision; LinAlgError if the iteration for the Schur
    form does not converge.  Compiled, the result is then NaN.

    >>> import numpy as np
    >>> from calque_linalg import sqrtm
    >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]])).real
    array([[2., 0.],
           [0., 3.]])
    """
    return bind_checked(sqrtm_p, *field_operands("sqrtm", x))


# Functions of triangular matrices


def column_by_column(triangle: Value, start: Value, equation: Callable[..., tuple[Value, Value]]) -> Value:
    """Return an upper triangular matrix with the diagonal `start`, whose columns solve triangular systems.

    `equation(out, column, j)` returns the system's matrix and its right-hand side.  `out` has the columns before column
    j, and `column` [*s, n, 1] has the elements of column j of `triangle` above the diagonal.

    >>> import numpy as np
    >>> from calque_linalg.kit import column_by_column
    >>> column_by_column(np.ones((2, 2)), np.ones(2), lambda out, column, j: (np.eye(2), 3.0 * column))
    array([[1., 3.],
           [0., 1.]])
    """
    n = typeof(start).shape[-1]
    rows = broadcasted_iota(np.int32, (n, 1), 0)

    def step(j: Value, out: Value) -> Value:
        column = select(lt(rows, j), dynamic_slice_in_dim(triangle, j, 1, -1), 0)
        matrix, right = equation(out, column, j)
        solution = triangular_solve(matrix, right, left_side=True)
        return dynamic_update_slice_in_dim(out, add(dynamic_slice_in_dim(out, j, 1, -1), solution), j, -1)

    return fori_loop(0, n, step, on_diagonal(as_rows(start, n), 0))


def with_diagonal(matrix: Value, diagonal: Value, of_zeros: float) -> Value:
    """Return matrices with another diagonal, on which `of_zeros` stands for 0.

    >>> import numpy as np
    >>> from calque_linalg.kit import with_diagonal
    >>> with_diagonal(np.ones((2, 2)), np.array([5.0, 0.0]), 0.5)
    array([[5. , 1. ],
           [1. , 0.5]])
    """
    diagonal = select(eq(diagonal, 0), of_zeros, diagonal)
    rows = as_rows(diagonal, typeof(diagonal).shape[-1])
    return select(on_matrices(eq, matrix), rows, matrix)
