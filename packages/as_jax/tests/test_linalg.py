"""Linear algebra as jax has it: symmetric matrices are means of two triangles, and singular ones give no error."""

import warnings

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest

N = np.array([[2.0, 1.3, 0.0], [0.2, 3.0, 0.5], [0.1, 0.5, 1.0]], np.float32)
MEAN = (N + N.T) / 2
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
SKEWED = MATRIX + np.array([[0.0, 0.3], [-0.3, 0.0]], np.float32)
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]], np.float32)
ZERO = np.zeros((2, 2), np.float32)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jnp.linalg.cholesky, np.linalg.cholesky(MEAN)), (jnp.linalg.eigvalsh, np.linalg.eigvalsh(MEAN)),
        (lambda a: jnp.linalg.eigh(a, UPLO="U").eigenvalues, np.linalg.eigvalsh(MEAN)),
        (lambda a: jax.scipy.linalg.eigh(a, eigvals_only=True), np.linalg.eigvalsh(MEAN)),
        (lambda a: jnp.linalg.cholesky(a, symmetrize_input=False), np.linalg.cholesky(np.tril(N) + np.tril(N, -1).T)),
    ],
)  # fmt: skip
def test_a_matrix_is_made_symmetric_first(function, expected):
    for call in (function, jax.jit(function)):
        np.testing.assert_allclose(call(N), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [jnp.linalg.cholesky, jnp.linalg.eigvalsh, lambda a: jax.scipy.linalg.eigh(a)[0]])
def test_gradients_of_symmetric_matrices_are_symmetric(function):
    slope = np.asarray(jax.grad(lambda a: function(a)[0].sum())(MEAN))
    np.testing.assert_allclose(slope, slope.T, atol=1e-6)


def test_a_pseudo_inverse_drops_singular_values_of_the_size_of_rounding():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(jnp.linalg.pinv(a), np.linalg.pinv(a.astype(np.float64)), atol=1e-4)
    np.testing.assert_allclose(jax.jit(jnp.linalg.pinv)(a), np.linalg.pinv(a.astype(np.float64)), atol=1e-4)
    assert np.linalg.matrix_rank(jnp.linalg.pinv(N, rtol=0.5)) < 3


def test_one_triangle_is_read_when_asked():
    lower = jnp.linalg.cholesky(SKEWED, symmetrize_input=False)
    np.testing.assert_allclose(lower @ lower.T, [[2.0, 0.2], [0.2, 1.0]], rtol=1e-6)
    values = jnp.linalg.eigvalsh(SKEWED, "U", symmetrize_input=False)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(SKEWED, "U"), rtol=1e-6)
    np.testing.assert_allclose(jnp.linalg.eigh(SKEWED, "U", False)[0], values, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda: jnp.linalg.cholesky(INDEFINITE), lambda: jsl.cholesky(INDEFINITE), lambda: jnp.linalg.inv(ZERO),
        lambda: jsl.cho_factor(INDEFINITE)[0], lambda: jnp.linalg.solve(ZERO, INDEFINITE),
        lambda: jsl.solve_triangular(ZERO, INDEFINITE), lambda: jax.lax.linalg.cholesky(INDEFINITE),
        lambda: jnp.linalg.svd(ZERO * np.nan)[1], lambda: jnp.linalg.pinv(ZERO * np.nan),
    ],
)  # fmt: skip
def test_a_matrix_of_numpys_without_an_answer_gives_no_finite_numbers_and_no_error(function):
    assert not np.isfinite(function()).all()


def test_numbers_without_an_answer_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(jnp.log(np.array([-1.0, 1.0]))[0])
        assert jnp.isinf(jnp.divide(1.0, 0.0))
        for derivative in (jax.grad, lambda f: lambda x: jax.vjp(f, x)[1](1.0)[0], jax.vmap):
            derivative(lambda x: jnp.where(x > 0, jnp.sqrt(x), jnp.log(x)))(
                np.zeros(1) if derivative is jax.vmap else 0.0
            )


@pytest.mark.parametrize(
    ("labels", "expected"), [("j..., ... -> j", N @ N[0]), ("j...->", N.sum()), ("...j,...j->j", (N * N).sum(axis=0))]
)
def test_axes_that_an_ellipsis_names_are_summed_where_the_result_lacks_it(labels, expected):
    operands = [N, N[0]] if "," in labels and "->j" not in labels else [N, N] if "," in labels else [N]
    for call in (lambda *xs: jnp.einsum(labels, *xs), jax.jit(lambda *xs: jnp.einsum(labels, *xs))):
        np.testing.assert_allclose(call(*operands), expected, rtol=1e-6)
