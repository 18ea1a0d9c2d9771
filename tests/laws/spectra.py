"""Rows of the table: eigenvalues, singular values and what rests on them.

The values of the matrices are far apart, and the results do not depend on the signs and phases of the vectors, in which
two libraries may differ.
"""

from __future__ import annotations

import numpy as np
from factors import constant
from program import COMPLEX, FLOATS, Program, numbers

from calque_core import lax, typeof
from calque_core.lax import linalg
from calque_linalg.kit import adjoint, identity_like, matrix_product, on_diagonal, scale_columns

FIELD = (*FLOATS, *COMPLEX)
SQUARE, TALL, WIDE, BATCH = numbers((3, 3)), numbers((3, 2)), numbers((2, 3)), numbers((2, 3, 3))


def row(name, fun, maker, ulps=256.0, complex_ulps=512.0):
    return Program(name, fun, (maker,), FIELD, ulps, by_array=True, complex_ulps=complex_ulps)


def separated(x):
    """Return `x` with growing numbers on the diagonal."""
    sizes = typeof(x).shape[-2:]
    steps = on_diagonal(np.full(sizes, 5.0) * np.arange(1, sizes[1] + 1), 0.0)
    return lax.add(x, lax.broadcast(lax.convert_element_type(steps, typeof(x).dtype), typeof(x).shape[:-2]))


def function_of_symmetric(**params):
    def fun(x):
        vectors, values = linalg.eigh(separated(x), **params)
        return matrix_product(scale_columns(vectors, lax.sqrt(lax.add(lax.square(values), 1.0))), adjoint(vectors))

    return fun


def vectors_of_general(x):
    values, left, right = linalg.eig(separated(x))
    product = matrix_product(scale_columns(right, lax.exp(lax.mul(values, 0.1))), adjoint(right))
    return product, lax.abs(left)  # the phases are gone


def product_of_full(x):
    u, values, vh = linalg.svd(separated(x))
    return matrix_product(scale_columns(u, values), vh)


def function_of_singular_values(x):
    u, values, vh = linalg.svd(separated(x), full_matrices=False)
    return matrix_product(scale_columns(u, lax.log(values)), vh), matrix_product(u, adjoint(u))


def product_of_schur(x):
    form, vectors = linalg.schur(x)
    return [matrix_product(matrix_product(vectors, form), adjoint(vectors))]  # the order of the values is free


SPECTRA: dict[str, list[Program]] = {
    "eigh": [
        row("values of eigh", lambda x: linalg.eigh(separated(x))[1], BATCH),
        row("function of a symmetric matrix", function_of_symmetric(), SQUARE),
        row("function of an upper triangle", function_of_symmetric(symmetrize_input=False, lower=False), SQUARE),
    ],
    "eig": [
        row(
            "values of eig",
            lambda x: linalg.eig(separated(x), compute_left_eigenvectors=False, compute_right_eigenvectors=False),
            BATCH,
        ),
        row("vectors of eig", vectors_of_general, SQUARE),
    ],
    "hessenberg": [constant("hessenberg", linalg.hessenberg, BATCH)],
    "tridiagonal": [
        constant("tridiagonal", linalg.tridiagonal, SQUARE),
        constant("tridiagonal of an upper triangle", lambda x: linalg.tridiagonal(x, lower=False), BATCH),
    ],
    "schur": [constant("schur", product_of_schur, BATCH)],
    "svd": [
        row("singular values", lambda x: linalg.svd(separated(x), compute_uv=False), numbers((2, 3, 2))),
        row("svd", function_of_singular_values, SQUARE),
        row("svd of a tall matrix", function_of_singular_values, TALL),
        row("svd of a wide matrix", function_of_singular_values, WIDE),
        row("svd with full matrices", product_of_full, SQUARE),
    ],
    "polar": [
        row("polar", lambda x: linalg.polar(separated(x)), BATCH),
        row("polar of a tall matrix", lambda x: linalg.polar(separated(x)), TALL),
        row("polar of equal singular values", lambda x: linalg.polar(lax.add(lax.mul(x, 0), identity_like(x))), SQUARE),
    ],
    "sqrtm": [row("sqrtm", lambda x: linalg.sqrtm(separated(x)), BATCH, 1024)],
    "pinv": [
        row("pinv", lambda x: linalg.pinv(separated(x)), BATCH),
        row("pinv of a tall matrix", lambda x: linalg.pinv(separated(x)), TALL),
        row("pinv of a wide matrix", lambda x: linalg.pinv(separated(x)), WIDE),
        row("pinv of a matrix of lower rank", lambda x: linalg.pinv(matrix_product(separated(x), adjoint(x))), TALL),
    ],
}
