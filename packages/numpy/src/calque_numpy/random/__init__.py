"""Random numbers from explicit keys: the same key gives the same numbers, traced or not, here and in compiled programs.

`key`, `split` and `fold_in` make keys; every other function makes numbers from a key.  The numbers are those of
`jax.random` with its default settings, at equal dtypes: bits, unit floats, integers and orders to the bit, and formulas
of them to a few units in the last place.

Read next: `keys.py`; then by subject: `floats.py`, `integers.py`, `gaussian.py`, `from_uniform.py`, `from_normal.py`,
`gammas.py`, `choices.py`, `counts.py`, `binomials.py`, `matrices.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "keys": {
        "calque_numpy.key_arrays": "KeyArray, prng_key",
        "calque_numpy.random.keys": "key, PRNGKey, split, fold_in, clone, key_data, wrap_key_data, key_impl",
    },
    "bits, floats, integers, orders": {
        "calque_numpy.random.random_bits": "bits",
        "calque_numpy.random.floats": "uniform, bernoulli, rademacher",
        "calque_numpy.random.integers": "randint",
        "calque_numpy.random.permutations": "permutation",
        "calque_numpy.random.gaussian": "normal",
    },
    "formulas of uniform numbers": {
        "calque_numpy.random.from_uniform": (
            "exponential, cauchy, laplace, logistic, gumbel, pareto, rayleigh, weibull_min, triangular"
        ),
    },
    "formulas of normal numbers": {
        "calque_numpy.random.from_normal": "truncated_normal, lognormal, maxwell, double_sided_maxwell, wald",
    },
    "gamma-distributed numbers and what is made of them": {
        "calque_numpy.random.gammas": "gamma, loggamma, beta, dirichlet, chisquare, f, t, generalized_normal, ball",
    },
    "choices": {"calque_numpy.random.choices": "categorical, choice"},
    "vectors and matrices": {"calque_numpy.random.matrices": "multivariate_normal, orthogonal"},
    "counts": {
        "calque_numpy.random.counts": "geometric, poisson",
        "calque_numpy.random.binomials": "binomial, multinomial",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
