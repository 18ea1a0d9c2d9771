# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.key_arrays import KeyArray as KeyArray, prng_key as prng_key
from calque_numpy.random.keys import (
    key as key, PRNGKey as PRNGKey, split as split, fold_in as fold_in, clone as clone, key_data as key_data,
    wrap_key_data as wrap_key_data, key_impl as key_impl,
)
from calque_numpy.random.random_bits import bits as bits
from calque_numpy.random.floats import uniform as uniform, bernoulli as bernoulli, rademacher as rademacher
from calque_numpy.random.integers import randint as randint
from calque_numpy.random.permutations import permutation as permutation
from calque_numpy.random.gaussian import normal as normal
from calque_numpy.random.from_uniform import (
    exponential as exponential, cauchy as cauchy, laplace as laplace, logistic as logistic, gumbel as gumbel,
    pareto as pareto, rayleigh as rayleigh, weibull_min as weibull_min, triangular as triangular,
)
from calque_numpy.random.from_normal import (
    truncated_normal as truncated_normal, lognormal as lognormal, maxwell as maxwell,
    double_sided_maxwell as double_sided_maxwell, wald as wald,
)
from calque_numpy.random.gammas import (
    gamma as gamma, loggamma as loggamma, beta as beta, dirichlet as dirichlet, chisquare as chisquare, f as f, t as t,
    generalized_normal as generalized_normal, ball as ball,
)
from calque_numpy.random.choices import categorical as categorical, choice as choice
from calque_numpy.random.matrices import multivariate_normal as multivariate_normal, orthogonal as orthogonal
from calque_numpy.random.counts import geometric as geometric, poisson as poisson
from calque_numpy.random.binomials import binomial as binomial, multinomial as multinomial

__all__ = [
    "KeyArray", "prng_key", "key", "PRNGKey", "split", "fold_in", "clone", "key_data", "wrap_key_data", "key_impl",
    "bits", "uniform", "bernoulli", "rademacher", "randint", "permutation", "normal", "exponential", "cauchy",
    "laplace", "logistic", "gumbel", "pareto", "rayleigh", "weibull_min", "triangular", "truncated_normal", "lognormal",
    "maxwell", "double_sided_maxwell", "wald", "gamma", "loggamma", "beta", "dirichlet", "chisquare", "f", "t",
    "generalized_normal", "ball", "categorical", "choice", "multivariate_normal", "orthogonal", "geometric", "poisson",
    "binomial", "multinomial",
]
