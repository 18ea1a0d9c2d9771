"""Eigenvalues and singular values beside jax: values, first and second derivatives, of functions without phases."""

import numpy as np
import pytest

import calque_numpy.scipy.linalg
from calque_autodiff import grad, jvp
from calque_core import lax
from calque_core.lax import linalg
from calque_xla_backend import jit

jax = pytest.importorskip("jax", reason="jax is not installed")

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["float64", "complex128"]


@pytest.fixture(autouse=True)
def in_doubles():
    with jax.enable_x64(True):
        yield


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    return values + 1j * rng.normal(size=shape) if dtype == "complex128" else values


def of_eigh(numpy, linalg, x):
    vectors, values = linalg.eigh(x)
    return numpy.sum(numpy.abs((vectors * numpy.exp(values)) @ numpy.conj(vectors.T)) ** 2)


def of_svd(numpy, linalg, x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return numpy.sum(numpy.abs((u * numpy.sqrt(1.0 + s**2)) @ vh) ** 2 * numpy.cos(numpy.abs(x)))


def of_values(numpy, linalg, x):
    return numpy.sum(linalg.svd(x, compute_uv=False) ** 3)


def of_eig(numpy, linalg, x):
    (values,) = linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return numpy.sum(numpy.abs(values) ** 2)


CASES = [(of_eigh, (4, 4)), (of_svd, (3, 3)), (of_svd, (4, 2)), (of_svd, (2, 4)), (of_values, (4, 3)), (of_eig, (4, 4))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("fun", "shape"), CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_values_and_derivatives_are_jaxs(fun, shape, dtype):
    x, direction = random(shape, dtype), random(shape, dtype, seed=1)

    def ours(x):
        return fun(np, linalg, x)

    def theirs(x):
        return fun(jax.numpy, jax.lax.linalg, x)

    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-11)
    mine, wanted = grad(ours), jax.grad(theirs)
    np.testing.assert_allclose(mine(x), wanted(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(jit(mine)(x), wanted(x), rtol=1e-9, atol=1e-9)
    if fun is of_eig:
        return  # jax refuses its second derivative, which needs that of the vectors
    second = jvp(mine, (x,), (direction,))[1]
    np.testing.assert_allclose(second, jax.jvp(wanted, (x,), (direction,))[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_the_derivatives_of_pseudo_inverses_and_least_squares_are_jaxs(shape):
    x, b = random(shape, "float64"), random(shape[:1], "float64", seed=1)
    for name, args in (("pinv", (x,)), ("lstsq", (x, b))):

        def total(numpy, *args, name=name):
            out = getattr(numpy.linalg, name)(*args)
            return numpy.sum((out[0] if name == "lstsq" else out) ** 2)

        mine = grad(lambda *args, f=total: f(np, *args))(*args)
        wanted = jax.grad(lambda *args, f=total: f(jax.numpy, *args))(*args)
        np.testing.assert_allclose(mine, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_are_jaxs_eagerly_and_compiled(dtype):
    x = random((5, 5), dtype)
    for name, options in (("hessenberg", {}), ("tridiagonal", {}), ("tridiagonal", {"lower": False})):
        wanted = getattr(jax.lax.linalg, name)(x, **options)
        for call in (getattr(linalg, name), jit(lambda x, n=name, o=options: getattr(linalg, n)(x, **o))):
            outs = call(x, **options) if call is getattr(linalg, name) else call(x)
            for out, want in zip(outs, wanted, strict=True):
                np.testing.assert_allclose(out, want, atol=1e-13)


@pytest.mark.parametrize("name", ["sqrtm", "schur", "polar"])
def test_scipys_functions_are_jaxs(name):
    x = random((4, 4), "complex128")
    mine, wanted = (getattr(m.scipy.linalg, name)(x) for m in (calque_numpy, jax))
    if name == "schur":  # the order of the eigenvalues is free
        mine, wanted = (np.sort_complex(np.diag(np.asarray(out[0]))) for out in (mine, wanted))
    for out, want in zip(jax.tree.leaves(mine), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(out, want, atol=1e-10)


def test_derivatives_of_symmetric_functions_of_equal_values_are_finite():
    def trace_of_square(x):
        return lax.reduce_sum(linalg.eigh(x)[1] ** 2)

    np.testing.assert_allclose(grad(trace_of_square)(np.eye(3)), 2 * np.eye(3), atol=1e-14)
    np.testing.assert_allclose(jit(grad(trace_of_square))(np.eye(3)), 2 * np.eye(3), atol=1e-14)
    assert np.isnan(grad(lambda x: lax.reduce_sum(linalg.eigh(x)[0][0]))(np.eye(3))).any()
