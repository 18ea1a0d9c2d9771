# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.random import (
    KeyArray as KeyArray, prng_key as prng_key, key as key, PRNGKey as PRNGKey, split as split, fold_in as fold_in,
    clone as clone, key_data as key_data, wrap_key_data as wrap_key_data, key_impl as key_impl, bits as bits,
    uniform as uniform, bernoulli as bernoulli, rademacher as rademacher, randint as randint,
    permutation as permutation, normal as normal, exponential as exponential, cauchy as cauchy, laplace as laplace,
    logistic as logistic, gumbel as gumbel, pareto as pareto, rayleigh as rayleigh, weibull_min as weibull_min,
    triangular as triangular, truncated_normal as truncated_normal, lognormal as lognormal, maxwell as maxwell,
    double_sided_maxwell as double_sided_maxwell, wald as wald, gamma as gamma, loggamma as loggamma, beta as beta,
    dirichlet as dirichlet, chisquare as chisquare, f as f, t as t, generalized_normal as generalized_normal,
    ball as ball, categorical as categorical, choice as choice, multivariate_normal as multivariate_normal,
    orthogonal as orthogonal, geometric as geometric, poisson as poisson, binomial as binomial,
    multinomial as multinomial,
)

__all__ = [
    "KeyArray", "prng_key", "key", "PRNGKey", "split", "fold_in", "clone", "key_data", "wrap_key_data", "key_impl",
    "bits", "uniform", "bernoulli", "rademacher", "randint", "permutation", "normal", "exponential", "cauchy",
    "laplace", "logistic", "gumbel", "pareto", "rayleigh", "weibull_min", "triangular", "truncated_normal", "lognormal",
    "maxwell", "double_sided_maxwell", "wald", "gamma", "loggamma", "beta", "dirichlet", "chisquare", "f", "t",
    "generalized_normal", "ball", "categorical", "choice", "multivariate_normal", "orthogonal", "geometric", "poisson",
    "binomial", "multinomial",
]
