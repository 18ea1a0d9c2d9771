# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.stats import (
    Distribution as Distribution, norm as norm, cauchy as cauchy, logistic as logistic, laplace as laplace,
    gennorm as gennorm, gumbel_r as gumbel_r, gumbel_l as gumbel_l, t as t, expon as expon, gamma as gamma,
    chi2 as chi2, pareto as pareto, uniform as uniform, beta as beta, truncnorm as truncnorm, vonmises as vonmises,
    wrapcauchy as wrapcauchy, bernoulli as bernoulli, binom as binom, betabinom as betabinom, geom as geom,
    nbinom as nbinom, poisson as poisson, multivariate_normal as multivariate_normal, dirichlet as dirichlet,
    multinomial as multinomial, mode as mode, ModeResult as ModeResult, rankdata as rankdata, sem as sem,
    gaussian_kde as gaussian_kde,
)

__all__ = [
    "Distribution", "norm", "cauchy", "logistic", "laplace", "gennorm", "gumbel_r", "gumbel_l", "t", "expon", "gamma",
    "chi2", "pareto", "uniform", "beta", "truncnorm", "vonmises", "wrapcauchy", "bernoulli", "binom", "betabinom",
    "geom", "nbinom", "poisson", "multivariate_normal", "dirichlet", "multinomial", "mode", "ModeResult", "rankdata",
    "sem", "gaussian_kde",
]
