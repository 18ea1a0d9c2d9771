"""Programs that use numpyro as it is: `pytest -p calque_as_jax`, or with jax."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide
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
    density, _ = numpyro.infer.util.log_density(line, (X, Y), {}, {"offset": 1.0, "slope": 2.0, "sigma": 0.5})
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
