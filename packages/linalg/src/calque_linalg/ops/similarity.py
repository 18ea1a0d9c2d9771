"""Square matrices in a simpler form with the same eigenvalues: Hessenberg, tridiagonal, Schur.

One idea: the form is q^H a q, where q is orthogonal.  `hessenberg` and `tridiagonal` store q as LAPACK does, by
reflections; reflection k of the lower triangle leaves row k unchanged.

Read next: `eigen.py`, which computes eigenvalues from these forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray
from calque_core.extend import bind_checked, real_dtype, shaped_array
from calque_linalg.ops.eigen import by_lapack
from calque_linalg.ops.matrices import check_square, field_operands
from calque_linalg.ops.qr_iteration import reflect_columns, reflect_rows, reflector, schur_of_hessenberg

Value = Any


def _without_last(aval: ShapedArray, dtype: np.dtype[Any]) -> ShapedArray:
    """Return the type of vectors of n - 1 elements for matrices of size n."""
    return shaped_array((*aval.shape[:-2], max(aval.shape[-1] - 1, 0)), dtype)


# Hessenberg

hessenberg_p = Primitive("hessenberg", multiple_results=True)


@hessenberg_p.def_abstract_eval(cached=True)
def hessenberg_abstract_eval(a_aval: ShapedArray) -> list[ShapedArray]:
    check_square("hessenberg", a_aval)
    return [shaped_array(a_aval.shape, a_aval.dtype), _without_last(a_aval, a_aval.dtype)]


def hessenberg_impl(a: Value) -> list[Value]:
    out, n = np.array(a), a.shape[-1]
    taus = np.zeros((*a.shape[:-2], max(n - 1, 0)), a.dtype)
    for k in range(n - 1):
        v, taus[..., k], beta = reflector(out[..., k + 1 :, k])
        reflect_rows(out[..., k + 1 :, k + 1 :], v, taus[..., k])
        reflect_columns(out[..., k + 1 :], v, taus[..., k])
        out[..., k + 1, k], out[..., k + 2 :, k] = beta, v[..., 1:]
    return [out, taus]


hessenberg_p.def_impl(hessenberg_impl, leaf=True)


def hessenberg(a: Value) -> tuple[Value, Value]:
    """Return the Hessenberg form of a square matrix as LAPACK stores it, and the taus of its reflections.

    The form is the upper triangle and the diagonal below it; the elements below are those of the reflections.
    Shapes: a [*b, n, n] -> [*b, n, n], [*b, n - 1].  Dtype: a's; float64 for integers.  It has no derivative.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_linalg import hessenberg
    >>> np.triu(hessenberg(np.diag([1.0, 2.0, 3.0]))[0], -1).diagonal()
    array([1., 2., 3.])
    """
    packed, taus = bind_checked(hessenberg_p, *field_operands("hessenberg", a))
    return packed, taus


# Tridiagonal

tridiagonal_p = Primitive("tridiagonal", multiple_results=True)


@tridiagonal_p.def_abstract_eval(cached=True)
def tridiagonal_abstract_eval(a_aval: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_square("tridiagonal", a_aval)
    real = real_dtype(a_aval.dtype)
    return [
        shaped_array(a_aval.shape, a_aval.dtype),
        shaped_array(a_aval.shape[:-1], real),
        _without_last(a_aval, real),
        _without_last(a_aval, a_aval.dtype),
    ]


def tridiagonal_impl(a: Value, *, lower: bool) -> list[Value]:
    if not lower:  # the upper triangle is the lower one of the matrix read backwards
        packed, *vectors = tridiagonal_impl(a[..., ::-1, ::-1], lower=True)
        return [np.ascontiguousarray(packed[..., ::-1, ::-1]), *(np.ascontiguousarray(x[..., ::-1]) for x in vectors)]
    n = a.shape[-1]
    below = np.tril(a, -1)
    whole = below + np.conj(np.swapaxes(below, -1, -2))
    diagonal = np.arange(n)
    whole[..., diagonal, diagonal] = a[..., diagonal, diagonal].real
    packed, taus = hessenberg_impl(whole)
    d, e = packed[..., diagonal, diagonal].real, packed[..., diagonal[1:], diagonal[:-1]].real
    packed = np.tril(packed) + np.triu(a, 1)
    packed[..., diagonal, diagonal] = d
    return [packed, d.copy(), e.copy(), taus]


tridiagonal_p.def_impl(tridiagonal_impl, leaf=True)


def tridiagonal(a: Value, *, lower: bool = True) -> tuple[Value, Value, Value, Value]:
    """Return the tridiagonal form of a symmetric or Hermitian matrix: LAPACK's array, diagonals d and e, and taus.

    One triangle of `a` is read and overwritten: d is its diagonal, e the diagonal beside it, the elements beyond are
    those of the reflections, whose taus are the last result.
    Shapes: a [*b, n, n] -> [*b, n, n], [*b, n], [*b, n - 1], [*b, n - 1].  Dtypes: a's, float64 for integers; that of
    its real part for d and e.  It has no derivative.
    Raises: ShapeError unless `a` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_linalg import tridiagonal
    >>> tridiagonal(np.diag([1.0, 2.0, 3.0]))[1]
    array([1., 2., 3.])
    """
    packed, d, e, taus = bind_checked(tridiagonal_p, *field_operands("tridiagonal", a), lower=bool(lower))
    return packed, d, e, taus


# Schur

schur_p = Primitive("schur", multiple_results=True)


@schur_p.def_abstract_eval(cached=True)
def schur_abstract_eval(x_aval: ShapedArray, *, compute_schur_vectors: bool) -> list[ShapedArray]:
    check_square("schur", x_aval)
    return [shaped_array(x_aval.shape, x_aval.dtype)] * (1 + compute_schur_vectors)


def schur_impl(x: Value, *, compute_schur_vectors: bool) -> list[Value]:
    form, taus = hessenberg_impl(x)
    vectors = np.zeros_like(form) + np.eye(x.shape[-1], dtype=x.dtype)
    for k in range(taus.shape[-1] - 1, -1, -1):
        v = form[..., k + 1 :, k].copy()
        v[..., 0] = 1
        reflect_rows(vectors[..., k + 1 :, k + 1 :], v, np.conj(taus[..., k]))
    form = np.triu(form, -1)
    for index in np.ndindex(form.shape[:-2]):
        by_lapack("schur", schur_of_hessenberg, form[index], vectors[index])
    return [form, vectors] if compute_schur_vectors else [form]


schur_p.def_impl(schur_impl, leaf=True)


def schur(x: Value, *, compute_schur_vectors: bool = True) -> Any:
    """Return the Schur form t of a square matrix and the vectors q, x = q @ t @ q^H; or `t` alone.

    `q` is orthogonal, or unitary.  `t` is upper triangular, with the eigenvalues on the diagonal in no order; that of a
    real matrix has a block of size 2, with equal numbers on its diagonal, for each pair of complex eigenvalues.
    Shapes: x [*b, n, n] -> [*b, n, n], [*b, n, n].  Dtypes: x's; float64 for integers.  It has no derivative.
    Raises: ShapeError unless `x` is square; TypeError for half precision; LinAlgError if the iteration does not
    converge.  Compiled, the results are then NaN.

    >>> import numpy as np
    >>> from calque_linalg import schur
    >>> schur(np.array([[1.0, 4.0], [0.0, 2.0]]), compute_schur_vectors=False)
    array([[1., 4.],
           [0., 2.]])
    """
    form, *vectors = bind_checked(
        schur_p, *field_operands("schur", x), compute_schur_vectors=bool(compute_schur_vectors)
    )
    return (form, *vectors) if vectors else form
