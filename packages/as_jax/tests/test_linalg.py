"""`jax.numpy.linalg` in jax's dialect: matrices are made symmetric first, and singular ones give NaN, not errors."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
SKEWED = MATRIX + np.array([[0.0, 0.3], [-0.3, 0.0]], np.float32)
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]], np.float32)
ZERO = np.zeros((2, 2), np.float32)


@pytest.mark.parametrize(
    "function",
    [
        jnp.linalg.cholesky, lambda x: jnp.linalg.cholesky(x, upper=True), jnp.linalg.eigvalsh,
        lambda x: jnp.linalg.eigh(x)[0], lambda x: jnp.linalg.eigh(x, "U").eigenvalues,
    ],
)  # fmt: skip
def test_a_matrix_is_made_symmetric_before_it_is_decomposed(function):
    np.testing.assert_allclose(function(SKEWED), function(MATRIX), rtol=1e-6)
    gradient = jax.grad(lambda x: jnp.sum(function(x) ** 3))(MATRIX)
    np.testing.assert_allclose(gradient, gradient.T, rtol=1e-5)
    assert abs(gradient[0, 1]) > 0.1


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
