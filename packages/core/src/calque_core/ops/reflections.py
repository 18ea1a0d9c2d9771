"""Householder reflections: the form in which LAPACK stores the orthogonal matrix of a QR factorisation.

One idea: reflection k is I - tau v v^H, where v has zeros before position k, a one at it, and the elements of column k
below the diagonal after it.  Q is the product of the reflections in order.

Read next: `factorizations.py`, whose `qr` has derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.matrices import check_matrices, field_operands
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, shaped_array, typeof

Value = Any

geqrf_p = Primitive("geqrf", multiple_results=True)


@geqrf_p.def_abstract_eval(cached=True)
def geqrf_abstract_eval(a_aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("geqrf", a_aval)
    return [a_aval.strip_weak_type(), shaped_array((*a_aval.shape[:-2], min(a_aval.shape[-2:])), a_aval.dtype)]


def geqrf_impl(a: Value) -> list[Value]:
    if not a.size:
        return [np.array(a), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    transposed, taus = np.linalg.qr(a, "raw")
    return [np.ascontiguousarray(transposed.mT), taus]


geqrf_p.def_impl(geqrf_impl, leaf=True)


def geqrf(a: Value) -> tuple[Value, Value]:
    """Return the QR factorisation as LAPACK stores it: R in the upper triangle, reflections below, and their taus.

    Shapes: a [*s, m, n] -> [*s, m, n], [*s, min(m, n)].  Dtype: one of the four dtypes of LAPACK; integers become
    floats.  It has no derivative; `qr` has one.
    Raises: TypeError for another dtype; ShapeError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import geqrf
    >>> packed, taus = geqrf(np.array([[3.0], [4.0]]))
    >>> packed, taus
    (array([[-5. ],
           [ 0.5]]), array([1.6]))
    """
    (a,) = field_operands("geqrf", a)
    geqrf_p.abstract(typeof(a))
    packed, taus = geqrf_p.bind(a)
    return packed, taus


householder_product_p = Primitive("householder_product")


@householder_product_p.def_abstract_eval(cached=True)
def householder_product_abstract_eval(a_aval: ShapedArray, taus_aval: ShapedArray) -> ShapedArray:
    check_reflections("householder_product", a_aval, taus_aval)
    m, n = a_aval.shape[-2:]
    if m < n:
        raise ShapeError(
            f"householder_product of {a_aval}{where()}: the matrix has more columns than rows. Slice its columns."
        )
    return a_aval.strip_weak_type()


def check_reflections(name: str, a_aval: ShapedArray, taus_aval: ShapedArray) -> None:
    """Check that there are no more reflections, of the matrices' dtype, than the smaller size of a matrix."""
    check_matrices(name, a_aval)
    if taus_aval.dtype != a_aval.dtype:
        raise TypeError(f"{name} of {a_aval} and {taus_aval}: the dtypes differ. Convert one of the operands first.")
    if taus_aval.shape[:-1] != a_aval.shape[:-2] or not taus_aval.shape or taus_aval.shape[-1] > min(a_aval.shape[-2:]):
        raise ShapeError(
            f"{name} of {a_aval} and {taus_aval}{where()}: the shapes do not fit. Give one tau per reflection, that is "
            "at most one per column and per row, for each matrix."
        )


def householder_product_impl(a: Value, taus: Value) -> Value:
    out = np.zeros_like(a)
    out[...] = np.eye(*a.shape[-2:], dtype=a.dtype)
    for k in range(taus.shape[-1] - 1, -1, -1):
        out = reflected(out, a, taus, k)
    return out


def reflected(x: Value, a: Value, taus: Value, k: int) -> Value:
    """Return reflection k, of the reflections that are stored in `a`, times x."""
    v = a[..., k:, k : k + 1].copy()
    v[..., 0, 0] = 1
    out = x.copy()
    out[..., k:, :] -= taus[..., k, None, None] * v * (v.conj().mT @ x[..., k:, :])
    return out


householder_product_p.def_impl(householder_product_impl, leaf=True)


def householder_product(a: Value, taus: Value) -> Value:
    """Return the first columns of the orthogonal matrix Q whose reflections `geqrf` stored in `a` and `taus`.

    Shapes: a [*s, m, n] with n <= m, taus [*s, k] with k <= n -> [*s, m, n].  Dtype: promoted, one of the four dtypes
    of LAPACK.  It has no derivative; `qr` has one.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_core.lax.linalg import geqrf, householder_product
    >>> householder_product(*geqrf(np.array([[3.0], [4.0]])))
    array([[-0.6],
           [-0.8]])
    """
    a, taus = field_operands("householder_product", a, taus)
    householder_product_p.abstract(typeof(a), typeof(taus))
    return householder_product_p.bind(a, taus)
