"""Linear algebra beside jax and scipy: values, derivatives of two orders, and derivatives at singular matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import calque.numpy as cnp
import calque_numpy.scipy.linalg as csl
from calque_autodiff import grad, jvp, vjp
from calque_batching import vmap
from calque_core.lax import linalg
from calque_xla_backend import jit

jax = pytest.importorskip("jax", reason="jax is the peer of these tests")
pytestmark = pytest.mark.sampled(keep=0.5)


@pytest.fixture(autouse=True)
def in_double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def random(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    return (values + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def regular(shape, dtype="float64"):
    return random(shape, dtype) + 3 * np.eye(shape[-1], dtype=dtype)[::-1]


def definite(x):
    return x @ x.conj().mT + np.eye(x.shape[-1])


# By name: a function of the namespace of numpy, of scipy.linalg's names, and one argument.
PROGRAMS = {
    "solve": (lambda m, s, a: m.linalg.solve(a, a[..., 0:2]), regular((3, 3))),
    "solve for a vector": (lambda m, s, a: m.linalg.solve(a, m.sin(a[0])), regular((4, 4))),
    "inv": (lambda m, s, a: m.linalg.inv(a), regular((2, 3, 3))),
    "det": (lambda m, s, a: m.linalg.det(a), regular((2, 4, 4))),
    "det of three rows": (lambda m, s, a: m.linalg.det(a), regular((3, 3))),
    "slogdet": (lambda m, s, a: m.linalg.slogdet(a)[1], regular((4, 4))),
    "cholesky": (lambda m, s, a: m.linalg.cholesky(a @ a.mT + m.eye(3)), regular((3, 3))),
    "qr of a tall matrix": (lambda m, s, a: m.linalg.qr(a)[0] @ m.linalg.qr(a)[1][:, :1], random((4, 3))),
    "qr": (lambda m, s, a: tuple(m.linalg.qr(a)), regular((3, 3))),
    "matrix_power": (lambda m, s, a: m.linalg.matrix_power(a, 3), regular((3, 3))),
    "multi_dot": (lambda m, s, a: m.linalg.multi_dot([a, a, a[:, 0]]), regular((3, 3))),
    "tensorinv": (lambda m, s, a: m.linalg.tensorinv(a.reshape(2, 2, 4), 2), regular((4, 4))),
    "lu": (lambda m, s, a: s.lu(a)[1:], regular((3, 3))),
    "lu_factor": (lambda m, s, a: s.lu_factor(a)[0], random((4, 2))),
    "lu_solve": (lambda m, s, a: s.lu_solve(s.lu_factor(a), a[0], trans=1), regular((3, 3))),
    "cho_solve": (lambda m, s, a: s.cho_solve(s.cho_factor(a @ a.mT + m.eye(3)), a[0]), regular((3, 3))),
    "solve_triangular": (
        lambda m, s, a: s.solve_triangular(a, a[0], trans="T", lower=True),
        random((3, 3)) + 2 * np.eye(3),
    ),
    "expm": (lambda m, s, a: s.expm(a), random((3, 3))),
    "expm of a large matrix": (lambda m, s, a: s.expm(a), 8 * random((3, 3))),
}


def close(got, want, tolerance=1e-9):
    ours, theirs = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for x, y in zip(ours, theirs, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(np.abs(y).max(initial=0), 1e-3))


def scalar_of(m, outs):
    return sum(m.sum(m.sin(x)) for x in (outs if isinstance(outs, tuple) else (outs,)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives_of_two_orders_are_those_of_jax(name):
    program, a = PROGRAMS[name]
    a_dot = random(a.shape, seed=1)
    ours = lambda a: program(cnp, csl, a)
    theirs = lambda a: program(jax.numpy, jax.scipy.linalg, a)
    close(ours(a), theirs(a))
    close(jit(ours)(a), theirs(a))
    close(jvp(ours, (a,), (a_dot,))[1], jax.jvp(theirs, (a,), (a_dot,))[1])
    slope, their_slope = (lambda a: scalar_of(cnp, ours(a))), lambda a: scalar_of(jax.numpy, theirs(a))
    close(grad(slope)(a), jax.grad(their_slope)(a))
    close(jvp(jit(grad(slope)), (a,), (a_dot,))[1], jax.jvp(jax.grad(their_slope), (a,), (a_dot,))[1], 1e-7)


SINGULAR = {
    "rank 3 of 4": np.diag([1.0, 2.0, 0.0, 3.0]),
    "rank 3 of 4, full": random((4, 3)) @ random((3, 4), seed=1),
    "rank 2 of 4": random((4, 2)) @ random((2, 4), seed=1),
    "rank 0": np.zeros((4, 4)),
    "rank 1 of 3": np.ones((3, 3)),
    "rank 1 of 2": np.ones((2, 2)),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", SINGULAR)
def test_the_derivative_of_det_at_a_singular_matrix_is_the_matrix_of_cofactors(name, compiled):
    a = SINGULAR[name]
    n = a.shape[0]
    minors = [[np.delete(np.delete(a, i, 0), j, 1) for j in range(n)] for i in range(n)]
    cofactors = [[(-1) ** (i + j) * np.linalg.det(m) for j, m in enumerate(row)] for i, row in enumerate(minors)]
    slope = jit(grad(cnp.linalg.det)) if compiled else grad(cnp.linalg.det)
    np.testing.assert_allclose(slope(a), cofactors, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_second_derivative_of_det_of_small_zeros_is_finite(n):
    out = jvp(grad(cnp.linalg.det), (np.zeros((n, n)),), (np.eye(n),))[1]
    np.testing.assert_array_equal(out, np.eye(2) if n == 2 else np.zeros((n, n)))


def test_elimination_chooses_the_pivots_of_lapack():
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for shape in ((5, 5), (70, 40), (40, 70)):
            a = random(shape, dtype)
            factors, pivots, _ = linalg.lu(a)
            theirs = scipy.linalg.lu_factor(a)
            np.testing.assert_array_equal(pivots, theirs[1])
            np.testing.assert_allclose(factors, theirs[0], atol=1e4 * np.finfo(dtype).eps)


def test_a_compiled_solution_and_its_derivative_are_those_of_each_element_under_vmap():
    a, b = regular((5, 3, 3)), random((5, 3))
    loss = lambda a, b: cnp.sum(cnp.linalg.solve(a, b) ** 2)
    together = jit(vmap(grad(loss)))(a, b)
    np.testing.assert_allclose(together, [grad(loss)(x, y) for x, y in zip(a, b)], atol=1e-12)
    one = jit(vmap(grad(loss), (None, 0)))(a[0], b)
    np.testing.assert_allclose(one, [grad(loss)(a[0], y) for y in b], atol=1e-12)


def test_a_pullback_of_complex_solutions_is_that_of_jax_up_to_conjugation():
    a, b = regular((3, 3), "complex128"), random((3, 2), "complex128", 1)
    _, pullback = vjp(cnp.linalg.solve, a, b)
    _, their_pullback = jax.vjp(jax.numpy.linalg.solve, a, b)
    ct = random((3, 2), "complex128", 2)
    for x, y in zip(pullback(ct), their_pullback(ct), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
