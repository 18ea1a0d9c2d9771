"""First and second derivatives of functions of matrices, by differences; also where singular values are equal or 0."""

from __future__ import annotations

import numpy as np
import pytest

import calque.numpy as cnp
from calque_autodiff import grad, jvp
from calque_core.lax import linalg
from calque_numpy.scipy import linalg as slinalg
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.4)

rng = np.random.default_rng(0)
MATRIX, WEIGHTS = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
ROTATION, DEFINITE = np.linalg.qr(MATRIX)[0], MATRIX @ MATRIX.T + np.eye(4)


def total(*outs):
    """Return a number that depends on each element of some matrices."""
    return sum(cnp.sum(cnp.real(out) * WEIGHTS[: out.shape[-2], : out.shape[-1]]) for out in outs)


def of_rank(*values):
    return ROTATION @ np.diag(values) @ MATRIX


CASES = {
    "polar": (lambda a: total(*slinalg.polar(a)), MATRIX),
    "polar of equal singular values": (lambda a: total(*slinalg.polar(a)), 2.0 * ROTATION),
    "polar of a wide matrix": (lambda a: total(*slinalg.polar(a)), MATRIX[:3]),
    "polar of a tall matrix on the left": (lambda a: total(*slinalg.polar(a, "left")), MATRIX[:, :2]),
    "sqrtm": (lambda a: total(slinalg.sqrtm(a)), DEFINITE),
    "sqrtm of equal eigenvalues": (lambda a: total(slinalg.sqrtm(a)), 2.0 * np.eye(4)),
    "det of equal singular values": (cnp.linalg.det, ROTATION),
    "det of rank 3": (cnp.linalg.det, of_rank(1.0, 2.0, 0.0, 3.0)),
    "det of rank 2": (cnp.linalg.det, of_rank(1.0, 0.0, 0.0, 3.0)),
    "det of rank 1": (cnp.linalg.det, of_rank(0.0, 0.0, 0.0, 3.0)),
    "det of zero": (cnp.linalg.det, np.zeros((4, 4))),
    "det of a diagonal matrix": (cnp.linalg.det, np.diag([1.0, 0.0, 0.0, 2.0])),
    "slogdet": (lambda a: cnp.linalg.slogdet(a)[1], MATRIX),
    "solve_sylvester": (lambda a: total(slinalg.solve_sylvester(a, a.T @ a, a)), MATRIX + 4.0 * np.eye(4)),
    "expm_frechet": (lambda a: total(*slinalg.expm_frechet(a, a @ a)), 0.3 * MATRIX),
    "cholesky_update": (lambda a: total(linalg.cholesky_update(a, a[0])), MATRIX + 5.0 * np.eye(4)),
    "householder_product": (lambda a: total(linalg.householder_product(a, a[0])), MATRIX),
    "ormqr": (lambda a: total(linalg.ormqr(a, a[0], a, left=False)), MATRIX),
    "qr_multiply": (lambda a: total(*slinalg.qr_multiply(a, a)), MATRIX),
    "eigh_tridiagonal": (lambda a: cnp.sum(slinalg.eigh_tridiagonal(a[0], a[1, :3])[0] ** 3), MATRIX),
    "pinv of lower rank": (lambda a: total(cnp.linalg.pinv(a @ a[:2].T @ a[:2])), MATRIX),
    "lstsq": (lambda a: cnp.sum(cnp.linalg.lstsq(a, a[:, 0] ** 2)[0] ** 2), rng.normal(size=(4, 3))),
    "cond": (lambda a: cnp.linalg.cond(a), MATRIX),
    "norms": (lambda a: sum(cnp.linalg.norm(a, ord) for ord in (None, 2, -2, "nuc")), MATRIX),
    "tensorsolve": (lambda a: cnp.sum(cnp.linalg.tensorsolve(a.reshape(2, 2, 4), a[:2, :2]) ** 2), MATRIX),
    "matrices of vectors": (
        lambda a: total(slinalg.toeplitz(a[0], a[1]), slinalg.companion(a[2]), slinalg.fiedler_companion(a[3])),
        MATRIX,
    ),
}


COMPILED = ("polar of equal singular values", "sqrtm", "det of rank 2")


@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives_are_those_of_differences(name):
    fun, x = CASES[name]
    v = np.random.default_rng(1).normal(size=x.shape)
    slope, h = grad(fun), 1e-5
    assert abs(np.vdot(slope(x), v) - (fun(x + h * v) - fun(x - h * v)) / (2 * h)) < 1e-5 * max(1, abs(slope(x)).max())
    wanted = (slope(x + h * v) - slope(x - h * v)) / (2 * h)
    for f in (slope, jit(slope)) if name in COMPILED else (slope,):
        np.testing.assert_allclose(jvp(f, (x,), (v,))[1], wanted, atol=1e-5 * max(1, abs(wanted).max()))


@pytest.mark.parametrize("name", ["polar", "sqrtm", "slogdet", "third derivative of det"])
def test_where_there_is_no_derivative_it_is_refused_or_not_finite(name):
    x = np.diag([1.0, 2.0, 0.0, 0.0])
    v = np.ones((4, 4))
    fun = {
        "polar": lambda a: total(slinalg.polar(a)[0]),
        "sqrtm": lambda a: total(slinalg.sqrtm(a)),
        "slogdet": lambda a: cnp.linalg.slogdet(a)[1],
        "third derivative of det": lambda a: jvp(lambda a: jvp(cnp.linalg.det, (a,), (v,))[1], (a,), (v,))[1],
    }[name]
    if name in ("polar", "slogdet"):
        assert not np.isfinite(np.asarray(jit(grad(fun))(x))).all()
    if name == "polar":
        assert np.isnan(grad(fun)(x)).any()
    else:
        with pytest.raises(np.linalg.LinAlgError):
            grad(fun)(x)


def test_compiled_functions_of_matrices_without_a_result_are_not_finite():
    nilpotent, nan = np.array([[0.0, 1.0], [0.0, 0.0]]), np.full((2, 2), np.nan)
    m = cnp.linalg
    outs = jit(
        lambda a, x: [
            m.solve(a, a), m.inv(a), m.cholesky(a - a.T), m.slogdet(a)[1], m.matrix_power(a, -1),
            slinalg.solve_triangular(a, a), slinalg.solve_sylvester(a, a, a + 1), m.svd(x)[0], m.pinv(x),
            m.eigvals(x), m.eigh(x)[0], slinalg.sqrtm(x), slinalg.polar(x)[0], slinalg.expm(x),
        ]
    )(nilpotent, nan)  # fmt: skip
    assert [np.isfinite(np.asarray(out)).all() for out in outs] == [False] * 14
