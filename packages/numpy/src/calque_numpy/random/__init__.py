"""Random numbers from explicit keys: the same key gives the same numbers, traced or not, here and in compiled programs.

`key`, `split` and `fold_in` make keys; every other function makes numbers from a key.  The numbers are those of
`jax.random` with its default settings, at equal dtypes: bits, unit floats, integers and orders to the bit, and formulas
of them to a few units in the last place.

Read next: `keys.py`; then by subject: `floats.py`, `integers.py`, `gaussian.py`, `from_uniform.py`, `from_normal.py`,
`gammas.py`, `choices.py`, `counts.py`, `binomials.py`, `matrices.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.key_arrays import KeyArray, prng_key
    from calque_numpy.random.binomials import binomial, multinomial
    from calque_numpy.random.choices import categorical, choice
    from calque_numpy.random.counts import geometric, poisson
    from calque_numpy.random.floats import bernoulli, rademacher, uniform
    from calque_numpy.random.from_normal import double_sided_maxwell, lognormal, maxwell, truncated_normal, wald
    from calque_numpy.random.from_uniform import (
        cauchy, exponential, gumbel, laplace, logistic, pareto, rayleigh, triangular, weibull_min,
    )
    from calque_numpy.random.gammas import ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
    from calque_numpy.random.gaussian import normal
    from calque_numpy.random.integers import randint
    from calque_numpy.random.keys import PRNGKey, clone, fold_in, key, key_data, key_impl, split, wrap_key_data
    from calque_numpy.random.matrices import multivariate_normal, orthogonal
    from calque_numpy.random.permutations import permutation
    from calque_numpy.random.random_bits import bits
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.key_arrays": "KeyArray, prng_key",
    "calque_numpy.random.binomials": "binomial, multinomial",
    "calque_numpy.random.choices": "categorical, choice",
    "calque_numpy.random.counts": "geometric, poisson",
    "calque_numpy.random.floats": "bernoulli, rademacher, uniform",
    "calque_numpy.random.from_normal": "double_sided_maxwell, lognormal, maxwell, truncated_normal, wald",
    "calque_numpy.random.from_uniform": (
        "cauchy, exponential, gumbel, laplace, logistic, pareto, rayleigh, triangular, weibull_min"
    ),
    "calque_numpy.random.gammas": "ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t",
    "calque_numpy.random.gaussian": "normal",
    "calque_numpy.random.integers": "randint",
    "calque_numpy.random.keys": "PRNGKey, clone, fold_in, key, key_data, key_impl, split, wrap_key_data",
    "calque_numpy.random.matrices": "multivariate_normal, orthogonal",
    "calque_numpy.random.permutations": "permutation",
    "calque_numpy.random.random_bits": "bits",
}

__all__ = [
    # keys
    "KeyArray", "prng_key", "key", "PRNGKey", "split", "fold_in", "clone", "key_data", "wrap_key_data", "key_impl",
    # bits, floats, integers, orders
    "bits", "uniform", "bernoulli", "rademacher", "randint", "permutation", "normal",
    # formulas of uniform numbers
    "exponential", "cauchy", "laplace", "logistic", "gumbel", "pareto", "rayleigh", "weibull_min", "triangular",
    # formulas of normal numbers
    "truncated_normal", "lognormal", "maxwell", "double_sided_maxwell", "wald",
    # gamma-distributed numbers and what is made of them
    "gamma", "loggamma", "beta", "dirichlet", "chisquare", "f", "t", "generalized_normal", "ball",
    # choices
    "categorical", "choice",
    # vectors and matrices
    "multivariate_normal", "orthogonal",
    # counts
    "geometric", "poisson", "binomial", "multinomial",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
