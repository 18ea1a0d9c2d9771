"""`jax.scipy.stats.uniform`: the uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque.numpy as cnp
from calque_as_jax.values import to_arrays

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density."""
    is_inside = cnp.logical_and(cnp.greater_equal(x, loc), cnp.less_equal(x, cnp.add(loc, scale)))
    return to_arrays(cnp.where(is_inside, cnp.negative(cnp.log(scale)), -np.inf))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density."""
    return to_arrays(cnp.exp(logpdf(x, loc, scale)))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability of values up to `x`."""
    return to_arrays(cnp.clip(cnp.divide(cnp.subtract(x, loc), scale), 0.0, 1.0))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the value up to which the probability is `q`."""
    return to_arrays(cnp.add(cnp.multiply(q, scale), loc))
