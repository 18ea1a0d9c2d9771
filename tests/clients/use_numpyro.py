"""Programs that use numpyro as it is: `pytest -p calque_as_jax`, or with jax."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax import lax
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide, log_likelihood
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import log_density
from scipy import stats

KEY = jax.random.PRNGKey(0)
X = np.linspace(-1.0, 1.0, 30, dtype=np.float32)
Y = 1.0 + 2.0 * X + 0.3 * np.asarray(jax.random.normal(KEY, (30,)))


def line(x, y=None):
    offset = numpyro.sample("offset", dist.Normal(0.0, 5.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 5.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.Normal(offset + slope * x, sigma), obs=y)


def test_nuts_finds_the_line():
    mcmc = MCMC(NUTS(line), num_warmup=200, num_samples=200, progress_bar=False)
    mcmc.run(KEY, X, Y)
    samples = mcmc.get_samples()
    np.testing.assert_allclose([samples["offset"].mean(), samples["slope"].mean()], [1.0, 2.0], atol=0.25)
    assert mcmc.get_extra_fields()["diverging"].sum() < 5
    drawn = Predictive(line, samples)(KEY, X)["y"]
    assert drawn.shape == (200, 30)


def test_variational_inference_finds_the_line():
    guide = autoguide.AutoNormal(line)
    svi = SVI(line, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(KEY, 600, X, Y, progress_bar=False)
    assert float(result.losses[-50:].mean()) < float(result.losses[:50].mean())
    median = guide.median(result.params)
    np.testing.assert_allclose([median["offset"], median["slope"]], [1.0, 2.0], atol=0.3)


def test_handlers_record_replace_and_block_sites():
    trace = handlers.trace(handlers.seed(line, KEY)).get_trace(X, Y)
    assert list(trace) == ["offset", "slope", "sigma", "data", "y"]
    fixed = handlers.substitute(handlers.seed(line, KEY), {"slope": 3.0})
    assert float(handlers.trace(fixed).get_trace(X)["slope"]["value"]) == 3.0
    density, _ = log_density(line, (X, Y), {}, {"offset": 1.0, "slope": 2.0, "sigma": 0.5})
    expected = stats.norm(1.0 + 2.0 * X, 0.5).logpdf(Y).sum() + stats.norm(0, 5).logpdf([1.0, 2.0]).sum()
    np.testing.assert_allclose(density, expected + stats.halfnorm().logpdf(0.5), rtol=1e-4)


@pytest.mark.parametrize(
    ("distribution", "reference", "points"),
    [
        (dist.Gamma(2.0, 3.0), stats.gamma(2.0, scale=1 / 3), [0.2, 1.0]),
        (dist.Beta(2.0, 3.0), stats.beta(2.0, 3.0), [0.2, 0.9]), (dist.Cauchy(), stats.cauchy(), [-1.0, 2.0]),
        (dist.StudentT(4.0), stats.t(4.0), [-1.0, 2.0]),
        (dist.Weibull(2.0, 1.5), stats.weibull_min(1.5, scale=2.0), [1.0]),
        (dist.Exponential(2.0), stats.expon(scale=0.5), [0.3]), (dist.Laplace(), stats.laplace(), [0.3]),
        (dist.LogNormal(), stats.lognorm(1.0), [0.3, 2.0]), (dist.Gumbel(), stats.gumbel_r(), [0.3]),
    ],
)  # fmt: skip
def test_densities_and_probabilities_are_those_of_scipy(distribution, reference, points):
    points = np.array(points, np.float32)
    np.testing.assert_allclose(jax.jit(distribution.log_prob)(points), reference.logpdf(points), rtol=1e-4)
    assert np.isfinite(jax.vmap(jax.grad(distribution.log_prob))(points)).all()
    assert distribution.sample(KEY, (5,)).shape == (5,)


@pytest.mark.parametrize(
    ("distribution", "reference", "counts"),
    [
        (dist.Poisson(3.0), stats.poisson(3.0), [0, 2, 5]), (dist.Binomial(5, 0.3), stats.binom(5, 0.3), [0, 3]),
        (dist.BernoulliProbs(0.3), stats.bernoulli(0.3), [0, 1]), (dist.Geometric(0.3), stats.geom(0.3, loc=-1), [2]),
        (dist.NegativeBinomial2(3.0, 2.0), stats.nbinom(2.0, 0.4), [0, 3]),
    ],
)  # fmt: skip
def test_masses_are_those_of_scipy(distribution, reference, counts):
    counts = np.array(counts)
    np.testing.assert_allclose(distribution.log_prob(counts), reference.logpmf(counts), rtol=1e-4)
    samples = distribution.sample(KEY, (2000,))
    np.testing.assert_allclose(samples.mean(), reference.mean(), atol=0.3)


def test_constraints_have_transforms_onto_them():
    for support in (dist.constraints.positive, dist.constraints.simplex, dist.constraints.corr_cholesky):
        transform = dist.biject_to(support)
        x = 0.3 * jax.random.normal(KEY, (3,))
        y = transform(x)
        assert bool(jnp.all(support(y)))
        np.testing.assert_allclose(transform.inv(y), x, atol=1e-4)


def test_discrete_sites_are_summed_out():
    def mixture(data):
        share = numpyro.sample("share", dist.Beta(1.0, 1.0))
        means = numpyro.sample("means", dist.Normal(jnp.array([-2.0, 2.0]), 0.5).to_event(1))
        with numpyro.plate("data", len(data)):
            numpyro.sample("y", dist.MixtureSameFamily(
                dist.Categorical(jnp.stack([share, 1 - share])), dist.Normal(means, 1.0)), obs=data)  # fmt: skip

    data = np.array([-2.1, -1.9, 2.2, 1.8, 2.0], np.float32)
    mcmc = MCMC(NUTS(mixture), num_warmup=100, num_samples=100, num_chains=2, chain_method="vectorized",
                progress_bar=False)  # fmt: skip
    mcmc.run(KEY, data)
    assert mcmc.get_samples(group_by_chain=True)["means"].shape == (2, 100, 2)


@pytest.mark.parametrize(
    "distribution",
    [
        dist.AsymmetricLaplace(0.3, 1.2, 0.7), dist.Kumaraswamy(1.5, 2.5), dist.Gompertz(1.5, 0.8),
        dist.SoftLaplace(0.3, 1.2), dist.Dagum(2.0, 3.0, 1.2), dist.TruncatedNormal(0.3, 1.2, low=-0.2, high=1.0),
        dist.TruncatedDistribution(dist.StudentT(4.0), low=0.5), dist.BetaProportion(0.4, 3.0),
        dist.VonMises(0.3, 1.7), dist.LogUniform(0.5, 3.0), dist.InverseGamma(3.0, 1.7), dist.Chi2(3.0),
        dist.MixtureSameFamily(dist.Categorical(jnp.array([0.4, 0.6])), dist.Normal(jnp.array([-1.0, 1.0]), 0.5)),
        dist.TransformedDistribution(dist.Normal(), [dist.transforms.ExpTransform()]), dist.RelaxedBernoulli(0.9, 0.4),
    ],
    ids=lambda distribution: type(distribution).__name__,
)  # fmt: skip
def test_densities_are_those_of_the_samples(distribution):
    samples = np.sort(np.asarray(jax.jit(lambda key: distribution.sample(key, (4000,)))(KEY)))
    low, high = samples[400], samples[3600]
    grid = np.linspace(low, high, 2001, dtype=np.float32)
    density = np.exp(np.asarray(jax.jit(jax.vmap(distribution.log_prob))(grid)))
    np.testing.assert_allclose(np.trapezoid(density, grid), 0.8, atol=0.04)


COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)


@pytest.mark.parametrize("option", ["covariance_matrix", "precision_matrix"])
def test_the_gradient_in_a_symmetric_matrix_is_symmetric(option):
    density = lambda matrix: dist.MultivariateNormal(jnp.zeros(2), **{option: matrix}).log_prob(jnp.array([1.0, -0.5]))
    gradient = jax.grad(density)(COVARIANCE)
    np.testing.assert_allclose(gradient, gradient.T, rtol=1e-5)
    shift = np.array([[0.0, 1e-2], [1e-2, 0.0]], np.float32)
    slope = (density(COVARIANCE + shift) - density(COVARIANCE - shift)) / 2e-2
    np.testing.assert_allclose(gradient[0, 1] + gradient[1, 0], slope, rtol=1e-2)


def test_distributions_are_pytrees_that_are_mapped():
    batch = jax.vmap(dist.Gamma)(jnp.array([1.0, 2.0]), jnp.array([0.5, 1.5]))
    mapped = jax.vmap(lambda distribution, x: distribution.log_prob(x))(batch, jnp.array([0.3, 0.7]))
    expected = stats.gamma([1.0, 2.0], scale=[2.0, 1 / 1.5]).logpdf([0.3, 0.7])
    np.testing.assert_allclose(mapped, expected, rtol=1e-5)
    np.testing.assert_allclose(dist.kl_divergence(dist.Beta(2.0, 3.0), dist.Beta(2.0, 3.0)), 0.0, atol=1e-6)


def test_densities_of_scanned_sites_add_up():
    def walk(steps):
        def step(x, _):
            x = numpyro.sample("x", dist.Normal(0.9 * x, 0.5))
            return x, x

        return scan(step, 0.0, jnp.arange(steps))

    last, xs = handlers.seed(walk, KEY)(5)
    assert xs.shape == (5,)
    assert float(last) == float(xs[-1])
    total, _ = log_density(walk, (5,), {}, {"x": xs})
    before = np.concatenate([[0.0], xs[:-1]])
    np.testing.assert_allclose(total, stats.norm(0.9 * before, 0.5).logpdf(xs).sum(), rtol=1e-4)


def test_densities_are_masked_and_scaled():
    def model():
        with handlers.mask(mask=jnp.array([True, False, True])), handlers.scale(scale=0.5):
            numpyro.sample("x", dist.Normal(jnp.zeros(3), 1.0), obs=jnp.ones(3))
        with numpyro.plate("data", 10, subsample_size=5) as index:
            numpyro.sample("y", dist.Normal(0.0, 1.0), obs=jnp.ones(10)[index])

    total, trace = log_density(handlers.seed(model, KEY), (), {}, {})
    np.testing.assert_allclose(total, (0.5 * 2 + 10) * stats.norm.logpdf(1.0), rtol=1e-5)
    assert len(set(np.asarray(trace["data"]["value"]).tolist())) == 5


def test_a_centred_site_is_replaced_by_a_standard_one():
    model = lambda: numpyro.sample("x", dist.Normal(3.0, 2.0))
    with handlers.reparam(config={"x": LocScaleReparam(0.0)}):
        trace = handlers.trace(handlers.seed(model, KEY)).get_trace()
    np.testing.assert_allclose(trace["x"]["value"], 3.0 + 2.0 * trace["x_decentered"]["value"], rtol=1e-6)


def test_hamiltonian_steps_sample_a_potential():
    kernel = HMC(potential_fn=lambda x: 0.5 * jnp.sum(x**2 / jnp.array([1.0, 4.0])), trajectory_length=3.0)
    mcmc = MCMC(kernel, num_warmup=200, num_samples=500, num_chains=2, chain_method="vectorized", progress_bar=False)
    mcmc.run(KEY, init_params=jnp.ones((2, 2)))
    np.testing.assert_allclose(np.var(mcmc.get_samples(), axis=0), [1.0, 4.0], rtol=0.35)
    assert np.mean(mcmc.last_state.mean_accept_prob) > 0.6


def test_updates_of_variational_inference_are_a_scan():
    svi = SVI(line, autoguide.AutoMultivariateNormal(line), numpyro.optim.Adam(0.05), Trace_ELBO(num_particles=2))
    start = svi.init(KEY, X, Y)
    state, losses = lax.scan(lambda state, _: svi.stable_update(state, X, Y), start, None, length=300)
    assert float(losses[-20:].mean()) < float(losses[:20].mean())
    drawn = Predictive(line, guide=svi.guide, params=svi.get_params(state), num_samples=50)(KEY, X)
    np.testing.assert_allclose(np.asarray(drawn["y"].mean(0))[[0, -1]], [-1.0, 3.0], atol=0.8)


def test_likelihoods_are_taken_for_each_sample():
    samples = {"offset": jnp.array([1.0, 0.9]), "slope": jnp.array([2.0, 2.1]), "sigma": jnp.array([0.3, 0.4])}
    found = log_likelihood(line, samples, X, Y)["y"]
    means = np.asarray(samples["offset"])[:, None] + np.asarray(samples["slope"])[:, None] * X
    np.testing.assert_allclose(found, stats.norm(means, np.array([[0.3], [0.4]])).logpdf(Y), rtol=1e-3, atol=1e-4)
