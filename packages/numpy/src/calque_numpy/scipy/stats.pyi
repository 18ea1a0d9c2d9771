# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.distributions import Distribution as Distribution
from calque_numpy.scipy.lines import (
    norm as norm, cauchy as cauchy, logistic as logistic, laplace as laplace, gennorm as gennorm, gumbel_r as gumbel_r,
    gumbel_l as gumbel_l, t as t,
)
from calque_numpy.scipy.half_lines import expon as expon, gamma as gamma, chi2 as chi2, pareto as pareto
from calque_numpy.scipy.intervals import (
    uniform as uniform, beta as beta, truncnorm as truncnorm, vonmises as vonmises, wrapcauchy as wrapcauchy,
)
from calque_numpy.scipy.counts import (
    bernoulli as bernoulli, binom as binom, betabinom as betabinom, geom as geom, nbinom as nbinom, poisson as poisson,
)
from calque_numpy.scipy.vectors import (
    multivariate_normal as multivariate_normal, dirichlet as dirichlet, multinomial as multinomial,
)
from calque_numpy.scipy.ranks import mode as mode, ModeResult as ModeResult, rankdata as rankdata, sem as sem
from calque_numpy.scipy.kernel_density import gaussian_kde as gaussian_kde

__all__ = [
    "Distribution", "norm", "cauchy", "logistic", "laplace", "gennorm", "gumbel_r", "gumbel_l", "t", "expon", "gamma",
    "chi2", "pareto", "uniform", "beta", "truncnorm", "vonmises", "wrapcauchy", "bernoulli", "binom", "betabinom",
    "geom", "nbinom", "poisson", "multivariate_normal", "dirichlet", "multinomial", "mode", "ModeResult", "rankdata",
    "sem", "gaussian_kde",
]
