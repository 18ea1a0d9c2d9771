"""Factorisations, powers and chains of products are NumPy's, and so are the classes of the results."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, ShapeError, jaxpr_as_fun, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["int8", "float32", "float64", "complex64", "complex128"]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return (values * (3 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)])
def test_cholesky_reads_the_triangle_that_numpy_reads(shape, upper, dtype, agree):
    other = np.tril(random(shape, dtype, 1), -1) if upper else np.triu(random(shape, dtype, 1), 1)
    a = np.eye(shape[-1], dtype=dtype) * 20 + other + np.triu(random(shape, dtype)) + np.tril(random(shape, dtype), -1)
    agree(lambda m, a: m.linalg.cholesky(a, upper=upper), a - 1j * 0 if dtype[0] == "c" else a, ulps=64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4), (1, 1), (0, 0), (3, 0), (0, 2, 2)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_qr_is_numpys(shape, mode, dtype, agree):
    agree(lambda m, a: m.linalg.qr(a, mode), random(shape, dtype), ulps=64)


def test_the_result_of_qr_has_numpys_class():
    classes = []

    def note(a):
        classes.append(type(np.linalg.qr(a)))
        return a

    make_jaxpr(note)(np.eye(2))
    assert classes == [type(np.linalg.qr(np.eye(2)))]


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_powers_of_matrices_are_numpys(n, dtype, agree):
    agree(lambda m, a: m.linalg.matrix_power(a, n), random((2, 3, 3), dtype), ulps=256)


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (3, 4)],
        [(2, 30), (30, 3), (3, 20)],
        [(3,), (3, 4), (4,)],
        [(3,), (3,)],
        [(2, 5), (5, 1), (1, 5), (5, 2), (2,)],
        [(2, 0), (0, 3), (3, 1)],
    ],
)
def test_chains_of_products_are_numpys(shapes, agree):
    agree(lambda m, *xs: m.linalg.multi_dot(xs), *[random(s, "float64", i) for i, s in enumerate(shapes)], ulps=512)


def test_a_chain_is_multiplied_in_the_order_with_the_fewest_multiplications():
    chain = [np.ones(shape) for shape in [(2, 30), (30, 30), (30, 1), (1, 9)]]
    products = [e for e in make_jaxpr(lambda *xs: np.linalg.multi_dot(xs))(*chain).eqns if "dot" in e.primitive.name]
    assert [eqn.outvars[0].aval.shape for eqn in products] == [(30, 1), (2, 1), (2, 9)]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (np.linalg.cholesky, ShapeError, r"cholesky of float64\[2,3\] at .*Give a square matrix"),
        (lambda x: np.linalg.cholesky(x[0], upper=True), ShapeError, "at least two axes"),
        (lambda x: np.linalg.qr(x, "full"), ValueError, "mode is 'full'. Use 'reduced'"),
        (lambda x: np.linalg.matrix_power(x, 2), ShapeError, r"matrix_power of float64\[2,3\].*no square matrix"),
        (lambda x: np.linalg.matrix_power(x[:, :2], 0.5), TypeError, "n is 0.5"),
        (lambda x: np.linalg.multi_dot([x]), ValueError, "got 1 arrays. Give two"),
        (lambda x: np.linalg.multi_dot([x, x[0], x]), ShapeError, r"float64\[3\] is no matrix. Only the ends"),
        (lambda x: np.linalg.multi_dot([x, x.T], out=np.ones((2, 2))), NumpyRuleError, "out= is not supported"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        make_jaxpr(call)(np.ones((2, 3)))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_factor_of_the_hermitian_part_of_a_matrix(dtype, upper):
    a = random((2, 3, 3), dtype) + 9 * np.eye(3)
    want = np.linalg.cholesky((a + np.conj(np.swapaxes(a, 1, 2))) / 2)
    want = np.conj(np.swapaxes(want, 1, 2)) if upper else want
    factor = lambda a: cnp.linalg.cholesky(a, upper=upper, symmetrize_input=True)
    for got in (factor(a), *jaxpr_as_fun(make_jaxpr(factor)(a))(a)):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_array_equal(cnp.linalg.cholesky(a, symmetrize_input=False), np.linalg.cholesky(a))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_eigenvalues_of_the_hermitian_part_of_a_matrix(dtype):
    a = random((3, 3), dtype)
    part = (a + np.conj(a.T)) / 2
    want = np.linalg.eigvalsh(part)
    for solve in (
        lambda a: cnp.linalg.eigvalsh(a, symmetrize_input=True),
        lambda a: cnp.linalg.eigvalsh(a, "U", symmetrize_input=True),
        lambda a: cnp.linalg.eigh(a, None, True).eigenvalues,
    ):
        for got in (solve(a), *jaxpr_as_fun(make_jaxpr(solve)(a))(a)):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    values, vectors = cnp.linalg.eigh(a, symmetrize_input=True)
    np.testing.assert_allclose(part @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(cnp.linalg.eigvalsh(a, None, symmetrize_input=False), np.linalg.eigvalsh(a), rtol=1e-12)
