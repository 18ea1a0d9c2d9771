"""What an operation refuses eagerly it refuses while tracing, in the same words; what it takes has the same type.

A table of arguments per function, most of them bad: every combination is called both ways.
"""

from __future__ import annotations

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import ShapeError, config, current_trace, evaluation
from calque_core.testing import Operand, check_calls

pytestmark = [
    pytest.mark.sampled(keep=0.1),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # values are not the subject here
]


def operands(*values):
    return [Operand(value) for value in values]


def shaped(*shapes, dtype="float64"):
    return [np.ones(shape, dtype) for shape in shapes]


class Odd:
    pass


SHAPES = [(), (1,), (2,), (3,), (0,), (2, 3), (1, 3), (2, 1, 3)]
DTYPES = ["bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64"]
SCALARS = [True, 2, 1.5, 1j]
NO_ARRAYS = ["text", None, [1.0, 2.0], Odd(), np.array(["a"]), np.array([Odd()]), 10**40]

SHAPED = operands(*shaped(*SHAPES))
TYPED = operands(*[np.ones(2, dtype) for dtype in DTYPES], *SCALARS)
ALL = [*SHAPED, *TYPED, *operands(*NO_ARRAYS)]
FEW = operands(*shaped((), (2,), (1, 3)), 1.5, 1j, None)

MATRICES = [
    *operands(*[x + np.eye(*x.shape[-2:]) for x in shaped((2, 2), (3, 2, 2), (0, 0), (2, 0), (3, 3))], np.ones(2)),
    *operands(*[2 * np.eye(2).astype(dtype) for dtype in ("bool", "int8", "float16", "float32", "complex64")]),
]
THREES = Operand(np.array([3.0, 4.0]))
DIAGONALS = [THREES, *operands(np.ones((3, 2)), np.ones(3), 1.5, np.ones(2, "int8"), np.ones(2, "complex64"), None)]
ROWS_OF_PIVOTS = [np.array(rows, np.int32) for rows in ([1, 1], [[1, 1], [0, 1]], [], 1)]
COUNTS = [0, 1, 2, -1, 9, 1.5, "a", None, np.int8(1), 10**30]

# name -> the arguments of a call: for each, the values to try
TABLE = {
    "triangular_solve": [[FEW, SHAPED], [MATRICES, MATRICES], [TYPED, FEW]],
    **{name: [[ALL], [MATRICES]] for name in ("eigh", "eig", "svd", "hessenberg", "tridiagonal", "schur")},
    "symmetric_product": [[MATRICES, MATRICES], [ALL, FEW]],
    "pinv": [[ALL], [MATRICES], [MATRICES, [None, *FEW]]],
    **{
        name: [[ALL], [MATRICES]]
        for name in ("cholesky", "lu", "geqrf", "qr", "det", "slogdet", "inv", "adjugate", "polar", "sqrtm")
    },
    "tridiagonal_solve": [[DIAGONALS, operands(np.array([5.0, 7.0])), DIAGONALS, MATRICES]],
    "solve": [[MATRICES, MATRICES], [FEW, FEW]],
    "adjugate_slope": [[MATRICES, MATRICES], [FEW, FEW]],
    "sylvester_solve": [[MATRICES, MATRICES, MATRICES], [FEW, FEW, MATRICES]],
    "cholesky_update": [[MATRICES, FEW], [FEW, MATRICES]],
    "ormqr": [[MATRICES, FEW, MATRICES], [MATRICES, [np.ones(2)], MATRICES, [True, False]]],
    "lu_pivots_to_permutation": [[operands(*ROWS_OF_PIVOTS), COUNTS], [ALL, [2]]],
    "householder_product": [[MATRICES, FEW], [FEW, MATRICES]],
}


def check(name):
    for pools in TABLE[name]:
        check_calls(getattr(linalg, name), pools)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_eager_and_traced_calls_agree_about_types_and_refusals(name):
    check(name)
    assert current_trace() is evaluation


@pytest.mark.parametrize("name", ["solve", "cholesky"])
def test_they_agree_in_32_bits_too(name):
    with config.enable_x64(False):
        check(name)


def test_the_table_has_every_function():
    assert {name for name in linalg.__all__ if not name.endswith("_p")} == TABLE.keys()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: linalg.solve(np.eye(3), np.ones((2, 1))),
            ShapeError,
            r"the second must have 3 rows\. Give matrices with one row per equation\.",
        ),
        (
            lambda: linalg.solve(np.zeros((2, 2)), np.ones((2, 1))),
            np.linalg.LinAlgError,
            r"solve of .*: the matrix is singular\. For the shortest of the best solutions use numpy\.linalg\.lstsq\.",
        ),
        (
            lambda: linalg.triangular_solve(np.zeros((2, 2)), np.ones((2, 1)), left_side=True),
            np.linalg.LinAlgError,
            r"triangular_solve of .*: the diagonal has a zero, so the matrix has no inverse\.",
        ),
        (
            lambda: linalg.triangular_solve(np.eye(2), np.ones((3, 1)), left_side=True),
            ShapeError,
            r"the second operand must have 2 rows\. Use left_side=False for matrices on the other side\.",
        ),
    ],
)
def test_evaluation_refuses_what_the_type_rule_refuses(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
