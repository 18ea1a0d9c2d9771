"""The derivatives of eigenvalues, singular values and their vectors.

One idea: the tangent of the matrix, in the basis of the vectors, has the tangents of the values on its diagonal; its
other elements, divided by the gaps between the values, say how the vectors turn.  Equal values have no gap: the
tangents of their vectors are NaN, those of the values are not.

Sources: Magnus (1985), On differentiating eigenvalues and eigenvectors; Giles (2008), An extended collection of matrix
derivative results, section 3; Wan & Zhang (2019), Automatic differentiation for complex valued SVD.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import MissingRuleError, Zero, typeof
from calque_core.extend import defjvp_all, defleading, not_linear, where, zero_tangent
from calque_core.lax import (
    abs,
    add,
    argmax,
    broadcasted_iota,
    complex,
    convert_element_type,
    div,
    eq,
    imag,
    mul,
    neg,
    real,
    reduce_sum,
    select,
    sub,
)
from calque_linalg.ops.diagonals import as_rows, column_products, diagonal_of, inverse, inverse_gaps, scale_columns
from calque_linalg.ops.eigen import eig_p, eigh_p, svd_p
from calque_linalg.ops.factorizations import lu, lu_solve
from calque_linalg.ops.matrices import adjoint, conjugated, hermitian_of, matrix_product, transposed

Value = Any
Results = tuple[list[Value], list[Value]]


def gaps_of(values: Value) -> Value:
    """Return the matrices of values[j] - values[i]."""
    columns = as_rows(values, typeof(values).shape[-1])
    return sub(columns, transposed(columns))


# Symmetric and Hermitian matrices


def eigh_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, lower: bool) -> Results:
    """Turn the vectors by C, where dx = V^H x_dot V is C[i, j] (w_j - w_i) off the diagonal; C has a zero diagonal."""
    (x,), (x_dot,) = primals, tangents
    vectors, values = eigh_p.bind(x, lower=lower)
    if type(x_dot) is Zero:
        return [vectors, values], [zero_tangent(vectors), zero_tangent(values)]
    whole = hermitian_of(x_dot) if lower else hermitian_of(adjoint(x_dot))
    images = matrix_product(whole, vectors)
    change = matrix_product(adjoint(vectors), images)
    turn = mul(convert_element_type(inverse_gaps(gaps_of(values)), typeof(x).dtype), change)
    return [vectors, values], [matrix_product(vectors, turn), real(column_products(vectors, images))]


defjvp_all(eigh_p, eigh_jvp)


# General square matrices


def eig_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
) -> Results:
    """Left vectors are the right ones of the adjoint matrix, whose values are the conjugates."""
    (x,), (x_dot,) = primals, tangents
    values, *left, right = eig_p.bind(
        x, compute_left_eigenvectors=compute_left_eigenvectors, compute_right_eigenvectors=True
    )
    outs = [values, *left, right] if compute_right_eigenvectors else [values, *left]
    if type(x_dot) is Zero or not typeof(x).size:
        return outs, [zero_tangent(out) for out in outs]
    x_dot = convert_element_type(x_dot, typeof(values).dtype)
    change = in_basis(right, x_dot)
    out_dots = [diagonal_of(change)]
    out_dots += [turned(conjugated(values), vectors, in_basis(vectors, adjoint(x_dot))) for vectors in left]
    out_dots += [turned(values, right, change)] if compute_right_eigenvectors else []
    return outs, out_dots


def in_basis(vectors: Value, x: Value) -> Value:
    """Return V^-1 x V."""
    factors, _, permutation = lu(vectors)
    return lu_solve(factors, permutation, matrix_product(x, vectors))


def turned(values: Value, vectors: Value, change: Value) -> Value:
    """Return the tangents of eigenvectors, which keep the length 1 and their largest components real.

    The gaps give tangents u of v up to a multiple c v; the length and the largest component k say that c is
    -Re(v^H u) - i Im(u_k) / v_k.
    """
    turn = matrix_product(vectors, mul(inverse_gaps(gaps_of(values)), change))
    is_largest = at_largest(vectors)
    u_k, v_k = (reduce_sum(select(is_largest, part, 0), typeof(part).ndim - 2) for part in (imag(turn), real(vectors)))
    factors = complex(neg(real(column_products(vectors, turn))), neg(div(u_k, v_k)))
    return add(turn, scale_columns(vectors, factors))


def at_largest(vectors: Value) -> Value:
    """Return, for each element, whether it is the largest of its column; of several, the first is."""
    shape = typeof(vectors).shape
    rows = broadcasted_iota(np.int32, shape, len(shape) - 2)
    return eq(rows, as_rows(argmax(abs(vectors), len(shape) - 2, np.int32), shape[-1]))


defjvp_all(eig_p, eig_jvp)


# Singular values


def svd_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, full_matrices: bool, compute_uv: bool) -> Results:
    """See the module; without vectors, the values alone, which need no gaps."""
    (x,), (x_dot,) = primals, tangents
    if type(x_dot) is Zero:
        outs = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv)
        return outs, [zero_tangent(out) for out in outs]
    shape = typeof(x).shape
    if full_matrices and shape[-1] != shape[-2]:
        raise MissingRuleError(
            f"svd of {typeof(x)}{where()}: the full matrices have vectors that belong to no singular value, which are "
            "arbitrary and have no derivative. Set full_matrices=False.",
            primitive="svd",
            kind="jvp",
            package="calque_autodiff",
        )
    values, u, vh = svd_p.bind(x, full_matrices=False, compute_uv=True)
    v = adjoint(vh)
    x_dot_v = matrix_product(x_dot, v)
    if not compute_uv:
        return [values], [real(column_products(u, x_dot_v))]
    change = matrix_product(adjoint(u), x_dot_v)
    u_dot, v_dot = singular_vectors_jvp(values, (u, v), change)
    if shape[-2] > shape[-1]:
        u_dot = add(u_dot, outside(values, u, x_dot_v))
    if shape[-2] < shape[-1]:
        v_dot = add(v_dot, outside(values, v, matrix_product(adjoint(x_dot), u)))
    return [values, u, vh], [real(column_products(u, x_dot_v)), u_dot, adjoint(v_dot)]


def singular_vectors_jvp(values: Value, vectors: tuple[Value, Value], change: Value) -> tuple[Value, Value]:
    """Return the tangents of the vectors within the spaces that they span.

    U and V turn by K and L with U^H x_dot V = K s - s L off the diagonal, both anti-Hermitian: K + L is the Hermitian
    part of this over s_j - s_i, times 2, and K - L the other part over s_j + s_i.  The phases that are free, those of
    K + L on the diagonal, are kept.
    """
    u, v = vectors
    columns = as_rows(values, typeof(values).shape[-1])
    sums, gaps = add(columns, transposed(columns)), sub(columns, transposed(columns))
    over_sums, over_gaps = (convert_element_type(mul(inverse_gaps(x), 0.5), typeof(u).dtype) for x in (sums, gaps))
    back = adjoint(change)
    common, opposite = mul(add(change, back), over_gaps), mul(sub(change, back), over_sums)
    return matrix_product(u, add(common, opposite)), matrix_product(v, sub(common, opposite))


def outside(values: Value, vectors: Value, images: Value) -> Value:
    """Return the tangents of the vectors orthogonal to the space that they span."""
    inside = matrix_product(vectors, matrix_product(adjoint(vectors), images))
    return scale_columns(sub(images, inside), inverse(values))


defjvp_all(svd_p, svd_jvp)

not_linear(eigh_p, eig_p, svd_p)
defleading(eigh_p, eig_p, svd_p)
