"""`jax.scipy.stats.norm`: the normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque.numpy as cnp
from calque.scipy import special
from calque_as_jax.values import to_arrays

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density."""
    z = cnp.divide(cnp.subtract(x, loc), scale)
    return to_arrays(-0.5 * z * z - cnp.log(scale) - 0.5 * float(np.log(2 * np.pi)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density."""
    return to_arrays(cnp.exp(logpdf(x, loc, scale)))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability of values up to `x`."""
    return to_arrays(special.ndtr(cnp.divide(cnp.subtract(x, loc), scale)))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability of values up to `x`."""
    return to_arrays(special.log_ndtr(cnp.divide(cnp.subtract(x, loc), scale)))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability of values above `x`."""
    return to_arrays(special.ndtr(cnp.divide(cnp.subtract(loc, x), scale)))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability of values above `x`."""
    return to_arrays(special.log_ndtr(cnp.divide(cnp.subtract(loc, x), scale)))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the value up to which the probability is `q`."""
    return to_arrays(cnp.add(cnp.multiply(special.ndtri(q), scale), loc))
