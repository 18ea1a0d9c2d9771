"""Distributions and statistics by scipy's names, also of traced arrays.

Read next: `distributions.py`, for the functions of a distribution.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "distributions of real numbers": {
        "calque_numpy.scipy.distributions": "Distribution",
        "calque_numpy.scipy.lines": "norm, cauchy, logistic, laplace, gennorm, gumbel_r, gumbel_l, t",
        "calque_numpy.scipy.half_lines": "expon, gamma, chi2, pareto",
        "calque_numpy.scipy.intervals": "uniform, beta, truncnorm, vonmises, wrapcauchy",
    },
    "distributions of whole numbers": {
        "calque_numpy.scipy.counts": "bernoulli, binom, betabinom, geom, nbinom, poisson",
    },
    "distributions of vectors": {"calque_numpy.scipy.vectors": "multivariate_normal, dirichlet, multinomial"},
    "statistics": {
        "calque_numpy.scipy.ranks": "mode, ModeResult, rankdata, sem",
        "calque_numpy.scipy.kernel_density": "gaussian_kde",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
