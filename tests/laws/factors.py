"""Rows of the table: triangular systems and factorisations of matrices.

The matrices that a row factorises are made of its arguments, so that each change of an argument is a change along which
the factorisation exists.
"""

from __future__ import annotations

from program import COMPLEX, FLOATS, Program, numbers

from calque_core import lax
from calque_core.lax import linalg
from calque_linalg.kit import adjoint, identity_like, matrix_product

FIELD = (*FLOATS, *COMPLEX)
SQUARE, TALL, WIDE = numbers((3, 3)), numbers((3, 2)), numbers((2, 3))
RIGHT = numbers((3, 2), low=-1.7, high=2.3)
BATCH = numbers((2, 3, 3))
RIGHT_ROWS = numbers((2, 3), low=-1.7, high=2.3)
SMALL = numbers((2, 2), low=-0.7, high=0.3)


def row(name, fun, makers, ulps=64.0, complex_ulps=256.0):
    return Program(name, fun, makers, FIELD, ulps, by_array=True, complex_ulps=complex_ulps)


def constant(name, fun, maker):
    """Return a row of an operation without a derivative: it gets a step function of the argument, as stop_gradient."""

    def scaled(x):
        constants = fun(lax.stop_gradient(lax.add(lax.floor(lax.mul(x, 1.5)), 0.3)))
        return [lax.mul(y, lax.reduce_sum(x)) for y in constants]

    return Program(name, scaled, (maker,), FLOATS, 64, by_array=True)


def dominant(x):
    """Return `x` with larger diagonals, so that the matrices are far from singular ones."""
    return lax.add(x, lax.mul(identity_like(x), 5.0))


def definite(x):
    """Return positive definite matrices."""
    return lax.add(matrix_product(x, adjoint(x)), identity_like(x))


def solution(**params):
    return lambda a, b: linalg.triangular_solve(dominant(a), b, **params)


def products_with_reflections(a, taus, c):
    return [linalg.ormqr(a, taus, c, left=left, transpose=adj) for left in (True, False) for adj in (True, False)]


def tridiagonal(dl, d, du, b):
    return linalg.tridiagonal_solve(dl, lax.add(d, 5.0), du, b)


FACTORS: dict[str, list[Program]] = {
    "triangular_solve": [
        row("triangular_solve", solution(), (SQUARE, WIDE)),
        row("triangular_solve on the left", solution(left_side=True, lower=True), (BATCH, numbers((2, 3, 1)))),
        row("triangular_solve by the transpose", solution(transpose_a=True, unit_diagonal=True), (SQUARE, WIDE)),
        row(
            "triangular_solve by the adjoint",
            solution(left_side=True, transpose_a=True, conjugate_a=True),
            (SQUARE, numbers((3,))),
        ),
        row("triangular_solve by the conjugate", solution(lower=True, conjugate_a=True), (SQUARE, WIDE)),
    ],
    "tridiagonal_solve": [
        row("tridiagonal_solve", tridiagonal, (numbers((4,)), numbers((4,)), numbers((4,)), numbers((4, 2)))),
        row("tridiagonal_solve of a batch", tridiagonal, (*[numbers((2, 3))] * 3, numbers((2, 3, 1)))),
    ],
    "solve": [
        row("solve", lambda a, b: linalg.solve(dominant(a), b), (BATCH, numbers((2, 3, 1)))),
        row("solve by the transpose", lambda a, b: linalg.solve(dominant(a), b, transpose_a=True), (SQUARE, RIGHT)),
    ],
    "inv": [row("inv", lambda x: linalg.inv(dominant(x)), (BATCH,))],
    "cholesky": [
        row("cholesky", lambda x: linalg.cholesky(definite(x)), (SQUARE,)),
        row("cholesky of a lower triangle", lambda x: linalg.cholesky(dominant(x), symmetrize_input=False), (BATCH,)),
    ],
    "lu": [
        row("lu", linalg.lu, (SQUARE,)),
        row("lu of a batch of tall matrices", linalg.lu, (numbers((2, 4, 2)),)),
        row("lu of a wide matrix", linalg.lu, (WIDE,)),
    ],
    "lu_pivots_to_permutation": [
        Program(
            "lu_pivots_to_permutation",
            lambda pivots: linalg.lu_pivots_to_permutation(lax.rem(pivots, pivots.dtype.type(4)), 4),
            (numbers((2, 3)),),
            ("int32", "int64"),
        )
    ],
    "qr": [
        row("qr", lambda x: linalg.qr(dominant(x)), (BATCH,)),
        row("qr of a tall matrix", lambda x: linalg.qr(x, full_matrices=False), (TALL,)),
        row("qr of a wide matrix", lambda x: linalg.qr(dominant(x)), (WIDE,)),
        row("qr with pivoting", lambda x: linalg.qr(x, pivoting=True, full_matrices=False), (TALL,)),
    ],
    "cholesky_update": [
        row("cholesky_update", lambda r, w: linalg.cholesky_update(dominant(r), w), (SQUARE, numbers((3,)))),
        row("cholesky_update of a batch", lambda r, w: linalg.cholesky_update(dominant(r), w), (BATCH, RIGHT_ROWS)),
    ],
    "geqrf": [constant("geqrf", linalg.geqrf, TALL)],
    "householder_product": [
        row("householder_product", linalg.householder_product, (TALL, numbers((2,)))),
        row("ormqr", products_with_reflections, (TALL, numbers((2,)), SQUARE)),
    ],
    "det": [
        row("det", linalg.det, (SQUARE,)),
        row("det of a batch of larger matrices", linalg.det, (numbers((2, 4, 4)),)),
    ],
    "slogdet": [
        row("slogdet", lambda x: linalg.slogdet(dominant(x)), (SQUARE,)),
        row("slogdet of a batch", lambda x: linalg.slogdet(dominant(x))[1], (numbers((2, 4, 4)),)),
    ],
    "sylvester_solve": [
        row("sylvester_solve", lambda a, b, c: linalg.sylvester_solve(dominant(a), b, c), (SQUARE, SMALL, RIGHT), 256),
        row(
            "sylvester_solve of Hermitian matrices",
            lambda a, c: linalg.sylvester_solve(definite(a), definite(a), c, hermitian=True),
            (SQUARE, numbers((3, 3), low=-1.7, high=2.3)),
            256,
        ),
    ],
    "adjugate_slope": [
        row(
            "adjugate_slope",
            lambda x, y: linalg.adjugate_slope(dominant(x), y),
            (numbers((2, 4, 4)), numbers((2, 4, 4), low=-1.7, high=2.3)),
            512,
            1024,
        )
    ],
    "adjugate": [
        row("adjugate", lambda x: linalg.adjugate(dominant(x)), (numbers((2, 4, 4)),), 128, 512),
        row(
            "adjugate of small matrices",
            lambda x, y: (linalg.adjugate(x), linalg.adjugate(y)),
            (BATCH, numbers((2, 2))),
        ),
    ],
}
