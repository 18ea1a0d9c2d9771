"""Systems of linear equations with one solution.

One idea: the equation has one primitive, and its derivatives are equations with the same matrix.  Evaluation eliminates
in LAPACK; compiled programs use `lu`, and XLA merges the equal eliminations of one program, so that a solution and its
derivatives of every order share one.

Read next: `factorizations.py`; `linear_solve.py`, for equations that a program defines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import where
from calque_linalg.ops.factorizations import lu, lu_solve
from calque_linalg.ops.matrices import check_matrices, check_square, failure, field_operands, identity_like

Value = Any

solve_p = Primitive("solve")


@solve_p.def_abstract_eval(cached=True)
def solve_abstract_eval(a_aval: ShapedArray, b_aval: ShapedArray, *, transpose_a: bool) -> ShapedArray:
    check_square("solve", a_aval)
    check_matrices("solve", a_aval, b_aval)
    if b_aval.shape[-2] != a_aval.shape[-1]:
        raise ShapeError(
            f"solve of {a_aval} and {b_aval}{where()}: the second must have {a_aval.shape[-1]} rows. Give matrices "
            "with one row per equation."
        )
    return b_aval.strip_weak_type()


def solve_impl(a: Value, b: Value, *, transpose_a: bool) -> Value:
    try:
        return np.linalg.solve(a.mT if transpose_a else a, b)
    except np.linalg.LinAlgError:
        raise failure(
            "solve", a, "the matrix is singular. For the shortest of the best solutions use numpy.linalg.lstsq"
        ) from None


solve_p.def_impl(solve_impl, leaf=True)


@solve_p.def_rule("decomposition")
def solve_decomposition(a: Value, b: Value, *, transpose_a: bool) -> Value:
    factors, _, permutation = lu(a)
    return lu_solve(factors, permutation, b, transpose_a=transpose_a)


def solve(a: Value, b: Value, *, transpose_a: bool = False) -> Value:
    """Return the solution x of a x = b, or of a^T x = b with `transpose_a`, for square matrices a.

    Shapes: a [*s, n, n], b [*s, n, m] -> [*s, n, m].  Dtype: promoted, one of the four dtypes of LAPACK; integers
    become floats.
    A singular matrix is a `numpy.linalg.LinAlgError` in evaluation, and gives infinities or NaN when compiled.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import solve
    >>> solve(np.array([[0.0, 2.0], [4.0, 0.0]]), np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """
    a, b = field_operands("solve", a, b)
    solve_p.abstract(typeof(a), typeof(b), transpose_a=bool(transpose_a))
    return solve_p.bind(a, b, transpose_a=bool(transpose_a))


inv_p = Primitive("inv")


@inv_p.def_abstract_eval(cached=True)
def inv_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("inv", x_aval)
    return x_aval.strip_weak_type()


def inv_impl(x: Value) -> Value:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise failure(
            "inv", x, "the matrix is singular. For the inverse where it has one use numpy.linalg.pinv"
        ) from None


inv_p.def_impl(inv_impl, leaf=True)


@inv_p.def_rule("decomposition")
def inv_decomposition(x: Value) -> Value:
    return solve(x, identity_like(x))


def inv(x: Value) -> Value:
    """Return the inverses of square matrices.

    Shapes: x [*s, n, n] -> [*s, n, n].  Dtype: one of the four dtypes of LAPACK; integers become floats.
    A singular matrix is a `numpy.linalg.LinAlgError` in evaluation, and gives infinities or NaN when compiled.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_linalg import inv
    >>> inv(np.array([[0.0, 2.0], [4.0, 0.0]]))
    array([[0.  , 0.25],
           [0.5 , 0.  ]])
    """
    (x,) = field_operands("inv", x)
    inv_p.abstract(typeof(x))
    return inv_p.bind(x)
