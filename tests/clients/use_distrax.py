"""Programs that use distrax as it is: `pytest -p calque_as_jax`, or with jax."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

KEY = jax.random.PRNGKey(0)
X = np.linspace(0.1, 0.9, 5, dtype=np.float32)


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (distrax.Normal(0.5, 2.0), stats.norm(0.5, 2.0)), (distrax.Gamma(2.0, 3.0), stats.gamma(2.0, scale=1 / 3)),
        (distrax.Beta(2.0, 3.0), stats.beta(2.0, 3.0)), (distrax.Uniform(-1.0, 2.0), stats.uniform(-1.0, 3.0)),
        (distrax.Laplace(0.0, 2.0), stats.laplace(0.0, 2.0)), (distrax.Gumbel(0.0, 1.0), stats.gumbel_r()),
        (distrax.Logistic(0.0, 1.0), stats.logistic()), (distrax.VonMises(0.0, 2.0), stats.vonmises(2.0)),
    ],
)  # fmt: skip
def test_densities_are_those_of_scipy_and_samples_have_the_mean(distribution, reference):
    np.testing.assert_allclose(jax.jit(distribution.log_prob)(X), reference.logpdf(X), rtol=2e-4)
    samples = distribution.sample(seed=KEY, sample_shape=(4000,))
    np.testing.assert_allclose(samples.mean(), reference.mean(), atol=0.2)


def test_discrete_distributions():
    categorical = distrax.Categorical(logits=jnp.array([0.0, 1.0, 2.0]))
    assert categorical.sample(seed=KEY, sample_shape=(7,)).dtype == jnp.int32
    np.testing.assert_allclose(categorical.prob(jnp.arange(3)).sum(), 1.0, rtol=1e-6)
    np.testing.assert_allclose(distrax.Bernoulli(probs=0.3).log_prob(1), np.log(0.3), rtol=1e-6)
    other = distrax.Categorical(logits=jnp.zeros(3))
    assert float(categorical.kl_divergence(other)) > 0


def test_a_gaussian_of_several_dimensions():
    scale = jnp.array([[1.0, 0.0], [0.5, 2.0]])
    gaussian = distrax.MultivariateNormalTri(jnp.zeros(2), scale)
    x = jnp.array([0.3, -0.2])
    expected = stats.multivariate_normal(np.zeros(2), np.asarray(scale @ scale.T)).logpdf(x)
    np.testing.assert_allclose(gaussian.log_prob(x), expected, rtol=1e-5)
    assert jax.vmap(lambda key: gaussian.sample(seed=key))(jax.random.split(KEY, 3)).shape == (3, 2)


@pytest.mark.parametrize(
    "bijector",
    [
        distrax.Tanh(), distrax.Sigmoid(), distrax.ScalarAffine(1.0, 2.0),
        distrax.Chain([distrax.ScalarAffine(0.5, 2.0), distrax.Sigmoid()]), distrax.Lambda(jnp.exp),
        distrax.Lambda(jax.jit(lambda x: 3.0 - jnp.tanh(x) * 2.0)), distrax.Lambda(lambda x: jax.jit(jnp.exp)(x) - 0.5),
        distrax.RationalQuadraticSpline(jnp.linspace(0.0, 1.0, 13), 0.0, 1.0),
    ],
)  # fmt: skip
def test_a_bijector_has_an_inverse_and_the_logarithm_of_its_derivative(bijector):
    y, log_det = bijector.forward_and_log_det(X)
    np.testing.assert_allclose(bijector.inverse(y), X, rtol=1e-4, atol=1e-5)
    slope = jax.vmap(jax.grad(bijector.forward))(X)
    np.testing.assert_allclose(log_det, np.log(np.abs(slope)), rtol=1e-3, atol=1e-4)


def test_a_flow_is_fitted_by_its_gradient():
    def loss(params):
        flow = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.ScalarAffine(params[0], jnp.exp(params[1])))
        return -flow.log_prob(data).mean()

    data = 2.0 + 0.5 * jax.random.normal(KEY, (200,))
    params = jnp.zeros(2)
    step = jax.jit(lambda params: params - 0.1 * jax.grad(loss)(params))
    for _ in range(300):
        params = step(params)
    np.testing.assert_allclose(params, [data.mean(), np.log(data.std())], atol=0.02)


def test_a_mixture_and_independent_axes():
    mixture = distrax.MixtureSameFamily(
        distrax.Categorical(probs=jnp.array([0.3, 0.7])), distrax.Normal(jnp.array([-1.0, 2.0]), jnp.ones(2))
    )
    expected = np.log(0.3 * stats.norm(-1).pdf(X) + 0.7 * stats.norm(2).pdf(X))
    np.testing.assert_allclose(mixture.log_prob(X), expected, rtol=1e-5)
    together = distrax.Independent(distrax.Normal(jnp.zeros(5), 1.0), reinterpreted_batch_ndims=1)
    np.testing.assert_allclose(together.log_prob(X), stats.norm.logpdf(X).sum(), rtol=1e-6)


def test_a_hidden_markov_model_has_posteriors_that_sum_to_one():
    model = distrax.HMM(
        distrax.Categorical(probs=jnp.array([0.6, 0.4])),
        distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])), distrax.Normal(jnp.array([0.0, 3.0]), 1.0),
    )  # fmt: skip
    _, observed = model.sample(seed=KEY, seq_len=6)
    _, _, posterior, _ = model.forward_backward(observed)
    np.testing.assert_allclose(posterior.sum(axis=-1), 1.0, rtol=1e-5)
