"""The evaluation of every operation against its type rule: over every dtype, with 64 bits and with 32.

One idea: the type rule is asked first, and evaluation must give an array of that type, or refuse where the rule does.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import config, lax, make_jaxpr
from calque_core.engine import SHORT_DTYPES, nested_jaxprs
from calque_core.testing import check_types

pytestmark = pytest.mark.sampled(keep=0.1)

NUMPY_DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
DTYPES = [*NUMPY_DTYPES, *sorted(SHORT_DTYPES)]


def diagonal(x):
    return lax.mul(lax.convert_element_type(np.eye(2), x.dtype), lax.slice(x, (0, 0), (2, 2)))


# name of a primitive -> functions of a matrix [2, 3] that use it
PROGRAMS = {
    "triangular_solve": [lambda x: linalg.triangular_solve(diagonal(x), x, left_side=True, lower=True)],
    "tridiagonal_solve": [lambda x: linalg.tridiagonal_solve(lax.zeros_like(x[:, 0]), x[:, 0], x[:, 1], x)],
    "solve": [lambda x: linalg.solve(diagonal(x), x)],
    "inv": [lambda x: linalg.inv(diagonal(x))],
    "cholesky": [lambda x: linalg.cholesky(diagonal(x))],
    "eigh": [lambda x, i=i: linalg.eigh(diagonal(x))[i] for i in range(2)],
    "eig": [lambda x, i=i: linalg.eig(diagonal(x))[i] for i in range(3)],
    "svd": [lambda x, i=i: linalg.svd(x)[i] for i in range(3)] + [lambda x: linalg.svd(x, compute_uv=False)],
    "pinv": [linalg.pinv],
    "hessenberg": [lambda x, i=i: linalg.hessenberg(diagonal(x))[i] for i in range(2)],
    "tridiagonal": [lambda x, i=i: linalg.tridiagonal(diagonal(x))[i] for i in range(4)],
    "schur": [lambda x, i=i: linalg.schur(diagonal(x))[i] for i in range(2)],
    "lu": [lambda x, i=i: linalg.lu(x)[i] for i in range(3)],
    "lu_pivots_to_permutation": [lambda x: linalg.lu_pivots_to_permutation(lax.rem(x, x.dtype.type(3)), 3)],
    "qr": [lambda x: linalg.qr(x)[0], lambda x: linalg.qr(x, pivoting=True, full_matrices=False)[2]],
    "det": [lambda x: linalg.det(diagonal(x))],
    "adjugate": [
        lambda x: linalg.adjugate(lax.dot(lax.concatenate([diagonal(x)] * 2, 0), lax.concatenate([diagonal(x)] * 2, 1)))
    ],
    "slogdet": [lambda x, i=i: linalg.slogdet(diagonal(x))[i] for i in range(2)],
    "adjugate_slope": [lambda x: linalg.adjugate_slope(diagonal(x), diagonal(x))],
    "cholesky_update": [lambda x: linalg.cholesky_update(diagonal(x), x[:, 0])],
    "sylvester_solve": [lambda x: linalg.sylvester_solve(diagonal(x), diagonal(x), diagonal(x))],
    "polar": [lambda x, i=i: linalg.polar(diagonal(x))[i] for i in range(2)],
    "sqrtm": [lambda x: linalg.sqrtm(diagonal(x))],
    "geqrf": [lambda x: linalg.geqrf(x)[1]],
    "householder_product": [lambda x: linalg.householder_product(diagonal(x), lax.slice(x, (0, 0), (1, 2)).reshape(2))],
}


def scalar_type(name: str) -> type:
    """Return a dtype's scalar type; the test is skipped if nobody defines it."""
    if name in NUMPY_DTYPES:
        return np.dtype(name).type
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    return getattr(ml_dtypes, name)


@pytest.mark.parametrize("enable_x64", [True, False], ids=["x64", "x32"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluation_gives_the_type_that_the_type_rule_says_or_both_refuse(name, dtype, enable_x64):
    x = (np.arange(6).reshape(2, 3) % 2 + 1).astype(scalar_type(dtype))
    with config.enable_x64(enable_x64), np.errstate(all="ignore"):
        for fun in PROGRAMS[name]:
            check_types(fun, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_row_of_the_table_is_about_its_primitive(name):
    bound = set()
    for dtype in (bool, np.int32, np.uint32, np.float64, np.complex128):
        for fun in PROGRAMS[name]:
            with suppress(TypeError, ValueError):
                jaxpr = make_jaxpr(fun)(np.ones((2, 3), dtype))
                bound |= {eqn.primitive.name for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns}
    assert name in bound


def test_no_primitive_escapes_the_table():
    assert {getattr(linalg, name).name for name in linalg.__all__ if name.endswith("_p")} == {*PROGRAMS}
