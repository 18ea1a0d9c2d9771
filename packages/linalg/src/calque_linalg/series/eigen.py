"""The Taylor rule of the eigenvalues of symmetric matrices: perturbation theory of any order.

One idea: in the basis of the vectors V at t = 0, A(t) is B(t) with B(0) diagonal, and its vectors are Q(t) with Q(0)
the identity.  Coefficient k of B Q = Q w gives the coefficient k of w on the diagonal, and that of Q elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.lax import convert_element_type, real, sub
from calque_jet.series import Coefficient, Series, coefficient, minus, over, plus, times
from calque_linalg.ops.diagonals import as_rows, column_products, diagonal_of, inverse_gaps, on_diagonal, scale_columns
from calque_linalg.ops.eigen import eig_p, eigh_p, svd_p
from calque_linalg.ops.matrices import adjoint, hermitian_of, matrix_product, transposed

Value = Any


@eigh_p.def_rule("jet")
def eigh_jet(primals: Sequence[Value], series: Sequence[Series], *, lower: bool) -> tuple[list[Value], list[Series]]:
    (x,), (xs,) = primals, series
    vectors, values = eigh_p.bind(x, lower=lower)
    gaps = _inverse_gaps(values, vectors)

    def in_basis(c: Coefficient) -> Coefficient:
        if c is None:
            return None
        whole = hermitian_of(c if lower else adjoint(c))
        return matrix_product(adjoint(vectors), matrix_product(whole, vectors))

    changes: Series = [None, *map(in_basis, xs)]
    moves: Series = [None]  # of the values
    turns: Series = [None]  # of the vectors, after the identity
    for k, change in enumerate(changes[1:], 1):
        known = [*turns, None]
        products = coefficient(changes, known, k, matrix_product)
        remainder = minus(plus(change, products), coefficient(known, [*moves, None], k, scale_columns))
        moves.append(None if remainder is None else real(diagonal_of(remainder)))
        turns.append(plus(times(gaps, remainder), _length_coefficient(turns, k)))
    return [vectors, values], [[None if q is None else matrix_product(vectors, q) for q in turns[1:]], moves[1:]]


def _inverse_gaps(values: Value, vectors: Value) -> Value:
    """Return 1 / (values[j] - values[i]) in the dtype of the vectors, 0 on the diagonal."""
    columns = as_rows(values, typeof(values).shape[-1])
    return convert_element_type(inverse_gaps(sub(columns, transposed(columns))), typeof(vectors).dtype)


def _length_coefficient(turns: Series, k: int) -> Coefficient:
    """Return the diagonal of coefficient k of Q: with it, Q^H dQ/dt has a zero diagonal, as for the derivative."""
    slopes = [times(float(j), q) for j, q in enumerate(turns)]
    total = coefficient([*turns, None], [*slopes, None], k, column_products)
    if total is None:
        return None
    return on_diagonal(as_rows(over(minus(None, total), k), typeof(total).shape[-1]), 0)


eig_p.def_hole("jet", "it has no Taylor rule yet; nest jvp")
svd_p.def_hole("jet", "it has no Taylor rule yet; nest jvp, or take eigh of the product with the adjoint")
