"""Triangular systems of linear equations.

One idea: NumPy has no solver for triangles, but LAPACK's general solver (gesv) neither exchanges nor combines the rows
of an upper triangular matrix.  So evaluation turns each system into one with the triangle on the left, and solves it by
blocks of rows: a small block, as an upper triangle, by `numpy.linalg.solve`, all other terms by matrix products.

Read next: `factorizations.py`, which gives triangles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import where
from calque_core.lax import expand_dims, squeeze
from calque_linalg.ops.matrices import (
    adjoint,
    check_matrices,
    check_square,
    conjugated,
    failure,
    field_operands,
    lower_triangle,
    transposed,
    upper_triangle,
)

Value = Any

# Rows that gesv solves at once: it spends n**3 where a triangle needs n**2, so a block is small.  For many columns,
# a product with the block's inverse takes half of the time.
_BLOCK, _BLOCK_OF_MANY = 64, 32

triangular_solve_p = Primitive("triangular_solve")


@triangular_solve_p.def_abstract_eval(cached=True)
def triangular_solve_abstract_eval(
    a_aval: ShapedArray,
    b_aval: ShapedArray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> ShapedArray:
    check_square("triangular_solve", a_aval)
    check_matrices("triangular_solve", a_aval, b_aval)
    axis = -2 if left_side else -1
    if b_aval.shape[axis] != a_aval.shape[-1]:
        side = "rows" if left_side else "columns"
        raise ShapeError(
            f"triangular_solve of {a_aval} and {b_aval}{where()}: the second operand must have {a_aval.shape[-1]} "
            f"{side}. Use left_side={not left_side} for matrices on the other side."
        )
    return b_aval.strip_weak_type()


def triangular_solve_impl(
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Value:
    if transpose_a:
        a, lower = a.mT, not lower
    if conjugate_a:
        a = a.conj()
    if left_side:
        return _solve_left(a, b, lower, unit_diagonal)
    return np.ascontiguousarray(_solve_left(a.mT, b.mT, not lower, unit_diagonal).mT)  # x a = b is a^T x^T = b^T


def _solve_left(a: Value, b: Value, lower: bool, unit_diagonal: bool) -> Value:
    """Return the solution by blocks of rows, from the row with one unknown on."""
    n = a.shape[-1]
    is_many = b.shape[-1] > _BLOCK_OF_MANY and n > _BLOCK_OF_MANY
    solve, size = (_by_inverse, _BLOCK_OF_MANY) if is_many else (np.linalg.solve, _BLOCK)
    out = np.empty(b.shape, b.dtype)
    starts = range(0, n, size)
    for start in starts if lower else reversed(starts):
        stop = min(start + size, n)
        remainder, known = b[..., start:stop, :], slice(0, start) if lower else slice(stop, n)
        if known.start < known.stop:
            remainder = remainder - a[..., start:stop, known] @ out[..., known, :]
        block = a[..., start:stop, start:stop]
        triangle = np.tril(block) if lower else np.triu(block)
        if unit_diagonal:
            diagonal = np.arange(stop - start)
            triangle[..., diagonal, diagonal] = 1
        try:
            if lower:  # reversing rows and columns turns a lower triangle into an upper one
                out[..., start:stop, :] = solve(triangle[..., ::-1, ::-1], remainder[..., ::-1, :])[..., ::-1, :]
            else:
                out[..., start:stop, :] = solve(triangle, remainder)
        except np.linalg.LinAlgError:
            raise failure("triangular_solve", a, "the diagonal has a zero, so the matrix has no inverse") from None
    return out


def _by_inverse(block: Value, b: Value) -> Value:
    return np.linalg.inv(block) @ b


triangular_solve_p.def_impl(triangular_solve_impl, leaf=True)


def operator_tangent(
    a_dot: Value, *, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool, **_: Any
) -> Value:
    """Return op(da) of the triangle that a system reads, for a tangent or a Taylor coefficient da of its matrix."""
    triangle = lower_triangle(a_dot, -unit_diagonal) if lower else upper_triangle(a_dot, +unit_diagonal)
    if transpose_a:
        return adjoint(triangle) if conjugate_a else transposed(triangle)
    return triangle


def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Return the solution x of x op(a) = b, or of op(a) x = b with `left_side`, for triangular matrices a.

    Only the upper triangle of `a` is read, or the lower one with `lower`; with `unit_diagonal` its diagonal is taken
    as ones.  op is the transpose with `transpose_a`, and the complex conjugate with `conjugate_a`.
    Shapes: a [*s, n, n], b [*s, m, n], or [*s, n, m] with `left_side` -> as b; b may be [*s, n], a single vector.
    Dtype: promoted, one of the four dtypes of LAPACK; integers become floats.
    A zero on the diagonal is a `numpy.linalg.LinAlgError` in evaluation, and gives infinities or NaN when compiled.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import triangular_solve
    >>> triangular_solve(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), left_side=True, lower=True)
    array([1., 2.])
    """
    a, b = field_operands("triangular_solve", a, b)
    if conjugate_a and not transpose_a:
        a = conjugated(a)
    params = {
        "left_side": bool(left_side),
        "lower": bool(lower),
        "transpose_a": bool(transpose_a),
        "conjugate_a": bool(conjugate_a and transpose_a and typeof(a).kind == "c"),
        "unit_diagonal": bool(unit_diagonal),
    }
    is_vector = typeof(b).ndim == typeof(a).ndim - 1
    axis = -1 if left_side else -2
    if is_vector:
        b = expand_dims(b, (axis,))
    triangular_solve_p.abstract(typeof(a), typeof(b), **params)
    out = triangular_solve_p.bind(a, b, **params)
    return squeeze(out, (axis,)) if is_vector else out
