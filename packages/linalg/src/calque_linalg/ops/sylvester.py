"""Equations a x + x b = c, which are linear in the matrix x (Sylvester).

One idea: in the bases of Schur forms of a and b the equation is triangular, so each column of x follows from the
columns before it.  Hermitian a and b have diagonal forms, in which each element is divided by a sum of eigenvalues.

Source: Bartels & Stewart (1972), Solution of the matrix equation AX + XB = C.

Read next: `matrix_functions.py`, whose derivatives solve such equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import bind_checked, complex_dtype, where
from calque_core.lax import (
    add,
    broadcast_in_dim,
    convert_element_type,
    dynamic_slice_in_dim,
    dynamic_update_slice_in_dim,
    fori_loop,
    mul,
    real,
    sub,
    zeros_like,
)
from calque_linalg.ops.diagonals import as_rows, inverse
from calque_linalg.ops.eigen import eigh
from calque_linalg.ops.matrices import (
    adjoint,
    check_matrices,
    check_square,
    failure,
    field_operands,
    identity_like,
    is_hermitian,
    matrix_product,
    transposed,
)
from calque_linalg.ops.similarity import schur
from calque_linalg.ops.triangular import triangular_solve

Value = Any

sylvester_solve_p = Primitive("sylvester_solve")


@sylvester_solve_p.def_abstract_eval(cached=True)
def sylvester_solve_abstract_eval(
    a_aval: ShapedArray, b_aval: ShapedArray, c_aval: ShapedArray, *, hermitian: bool
) -> ShapedArray:
    check_square("sylvester_solve", a_aval)
    check_square("sylvester_solve", b_aval)
    check_matrices("sylvester_solve", a_aval, b_aval, c_aval)
    if c_aval.shape[-2:] != (a_aval.shape[-1], b_aval.shape[-1]):
        raise ShapeError(
            f"sylvester_solve of {a_aval}, {b_aval} and {c_aval}{where()}: the shapes do not fit. The third must have "
            "as many rows as the first, and as many columns as the second."
        )
    return c_aval.strip_weak_type()


def sylvester_solve_impl(a: Value, b: Value, c: Value, *, hermitian: bool) -> Value:
    if not hermitian and is_hermitian(a) and (b is a or is_hermitian(b)):  # NumPy has no Schur form
        out = sylvester_solve_decomposition(a, b, c, hermitian=True)
        if np.isfinite(out).all():
            return out
    try:
        return sylvester_solve_decomposition(a, b, c, hermitian=hermitian)
    except np.linalg.LinAlgError:
        problem = "the sum of an eigenvalue of a and an eigenvalue of b is 0. Change one of the matrices"
        raise failure("sylvester_solve", a, problem) from None


sylvester_solve_p.def_impl(sylvester_solve_impl)


@sylvester_solve_p.def_rule("decomposition")
def sylvester_solve_decomposition(a: Value, b: Value, c: Value, *, hermitian: bool) -> Value:
    if not typeof(c).size:
        return c
    if hermitian:
        left, rows = eigh(a, symmetrize_input=False)
        right, columns = (left, rows) if b is a else eigh(b, symmetrize_input=False)
        m, n = typeof(c).shape[-2:]
        sums = add(transposed(as_rows(rows, n)), as_rows(columns, m))
        inner = matrix_product(matrix_product(adjoint(left), c), right)
        quotients = mul(inner, convert_element_type(inverse(sums), typeof(c).dtype))
        return matrix_product(matrix_product(left, quotients), adjoint(right))
    dtype = complex_dtype(typeof(c).dtype)
    a_form, left = schur(convert_element_type(a, dtype))
    b_form, right = (a_form, left) if b is a else schur(convert_element_type(b, dtype))
    inner = matrix_product(matrix_product(adjoint(left), convert_element_type(c, dtype)), right)
    out = matrix_product(matrix_product(left, _solve_triangles(a_form, b_form, inner)), adjoint(right))
    return out if typeof(c).kind == "c" else real(out)


def _solve_triangles(a: Value, b: Value, c: Value) -> Value:
    """Return x with a x + x b = c, for upper triangles a and b: (a + b_jj) x_j is c_j without the columns before j."""
    identity, shape = identity_like(a), typeof(a).shape

    def step(j: Value, out: Value) -> Value:
        of_b, of_c = (dynamic_slice_in_dim(x, j, 1, -1) for x in (b, c))
        pivots = dynamic_slice_in_dim(of_b, j, 1, -2)
        matrix = add(a, mul(identity, broadcast_in_dim(pivots, shape, range(len(shape)))))
        column = triangular_solve(matrix, sub(of_c, matrix_product(out, of_b)), left_side=True)
        return dynamic_update_slice_in_dim(out, column, j, -1)

    return fori_loop(0, typeof(b).shape[-1], step, zeros_like(c))


def sylvester_product(operators: Sequence[Value], x: Value, **_: Any) -> Value:
    """Return a x + x b; None stands for a zero matrix, but not for both.

    >>> import numpy as np
    >>> from calque_linalg.ops.sylvester import sylvester_product
    >>> sylvester_product((np.eye(1), None), np.array([[3.0]]))
    array([[3.]])
    """
    a, b = operators
    if a is None or b is None:
        return matrix_product(a, x) if b is None else matrix_product(x, b)
    return add(matrix_product(a, x), matrix_product(x, b))


def sylvester_solve(a: Value, b: Value, c: Value, *, hermitian: bool = False) -> Value:
    """Return the solution x of a x + x b = c.

    `hermitian` promises that a and b are Hermitian: only their lower triangles are read, and derivatives are along
    Hermitian changes.  A sum of an eigenvalue of a and one of b that is 0 has no unique solution: it is a
    `numpy.linalg.LinAlgError` in evaluation and gives infinities or NaN when compiled; with `hermitian`, NaN.
    Shapes: a [*s, m, m], b [*s, n, n], c [*s, m, n] -> [*s, m, n].  Dtype: promoted, one of the four dtypes of LAPACK;
    integers become floats.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import sylvester_solve
    >>> sylvester_solve(np.diag([1.0, 2.0]), np.array([[2.0]]), np.array([[6.0], [8.0]]))
    array([[2.],
           [2.]])
    """
    operands = field_operands("sylvester_solve", a, b, c)
    return bind_checked(sylvester_solve_p, *operands, hermitian=bool(hermitian))
