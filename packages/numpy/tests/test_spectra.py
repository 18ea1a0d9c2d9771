"""Eigenvalues and singular values are NumPy's, and so are the classes of the results."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, eval_jaxpr, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["int8", "float32", "float64", "complex64", "complex128"]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return (values * (3 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (1, 1)])
def test_eigenvalues_and_eigenvectors_of_a_triangle_are_numpys(shape, dtype, agree):
    x = random(shape, dtype)
    for triangle in ("L", "U", "u"):
        # An eigenvalue is as exact as the largest one: on some processors the small one of 0.05 differs by 68 ulps.
        agree(lambda m, a, t=triangle: m.linalg.eigh(a, t), x, ulps=256)
        agree(lambda m, a, t=triangle: m.linalg.eigvalsh(a, t), x, ulps=256)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (1, 1)])
def test_eigenvalues_and_eigenvectors_of_general_matrices_are_numpys_but_always_complex(shape, dtype):
    x = random(shape, dtype)
    dtype = np.result_type(np.linalg.eigvals(x).dtype, np.complex64)
    for fun in (np.linalg.eig, lambda a: [np.linalg.eigvals(a)]):
        for out, want in zip(make_and_run(fun, x), fun(x), strict=True):
            assert out.dtype == dtype
            np.testing.assert_allclose(out, want, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3), (1, 1)])
def test_singular_values_and_vectors_are_numpys(shape, dtype, agree):
    x = random(shape, dtype)
    for full_matrices in (True, False):
        agree(lambda m, a, f=full_matrices: m.linalg.svd(a, f), x, ulps=64)
    agree(lambda m, a: m.linalg.svd(a, compute_uv=False), x, ulps=64)
    agree(lambda m, a: m.linalg.svdvals(a), x, ulps=64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values_of_a_hermitian_matrix_come_from_its_eigenvalues(dtype, agree):
    x = random((2, 3, 3), dtype)
    agree(lambda m, a: m.linalg.svd(a, compute_uv=False, hermitian=True), x, ulps=64)
    agree(lambda m, a: abs(m.linalg.svd(a, hermitian=True).U), x, ulps=64)
    u, s, vh = make_and_run(lambda a: np.linalg.svd(a, hermitian=True), x)
    whole = np.tril(x) + np.conj(np.swapaxes(np.tril(x, -1), -1, -2))
    whole = whole - 1j * whole.diagonal(axis1=-2, axis2=-1).imag[..., None] * np.eye(3) if dtype[0] == "c" else whole
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, whole, atol=1e-4)


def make_and_run(fun, x):
    jaxpr = make_jaxpr(fun)(x)
    return eval_jaxpr(jaxpr, jaxpr.consts, x)


def test_the_results_are_of_numpys_classes():
    kinds = []

    def note(x):
        kinds.extend([type(np.linalg.eigh(x)), type(np.linalg.svd(x)), type(np.linalg.eig(x))])
        return x

    make_jaxpr(note)(np.eye(2))
    assert kinds == [type(f(np.eye(2))) for f in (np.linalg.eigh, np.linalg.svd, np.linalg.eig)]


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_a_matrix_that_is_not_square_and_another_triangle_are_refused(name):
    with pytest.raises(ShapeError, match=r"eigh of float64\[2,3\] at .*the last two sizes differ"):
        make_jaxpr(getattr(cnp.linalg, name))(np.ones((2, 3)))
    with pytest.raises(ValueError, match=rf"{name} at .*UPLO is 'M'\. Use 'L' for the lower triangle or 'U'"):
        make_jaxpr(lambda x: getattr(cnp.linalg, name)(x, "M"))(np.eye(2))
