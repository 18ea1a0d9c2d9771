"""Linear algebra as jax has it: symmetric matrices are means of two triangles, and singular ones give no error."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

N = np.array([[2.0, 1.3, 0.0], [0.2, 3.0, 0.5], [0.1, 0.5, 1.0]], np.float32)
MEAN = (N + N.T) / 2


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


def test_matrices_of_numpy_without_an_answer_give_no_error():
    singular = np.zeros((2, 2), np.float32)
    assert not np.isfinite(jnp.linalg.inv(singular)).any()
    assert np.isnan(jnp.linalg.cholesky(-N)).any()
    assert jnp.linalg.det(singular) == 0


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
