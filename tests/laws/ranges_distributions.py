"""Rows of the law of ranges: densities and probabilities of distributions, of which a formula has the tails.

Read first: `ranges.py`.
"""

from __future__ import annotations

import numpy as np
import ranges as r
from mpmath import mp
from ranges import Row, Series

from calque_numpy.scipy import stats

INF = np.inf


def far_log1p_square(x: Series) -> Series:
    """Return log(1 + x**2), with the digits of x**-2 for large x."""
    return r.log1p(x * x) if abs(x.value) < 1 else 2 * r.log(abs(x)) + r.log1p(1 / (x * x))


ROWS = [
    Row("stats.logistic.logcdf", stats.logistic.logcdf, lambda x: -r.softplus(-x), every=3),
    Row("stats.gumbel_r.sf", stats.gumbel_r.sf, lambda x: -r.expm1(-r.exp(-x)), every=3, derivatives=1),
    Row("stats.expon.cdf", stats.expon.cdf, lambda x: -r.expm1(-x), asked=(0.0, INF), kinks=(0.0,), every=3),
    Row(
        "stats.cauchy.logpdf",
        stats.cauchy.logpdf,
        lambda x: -far_log1p_square(x) - mp.log(mp.pi),
        every=3,
        derivatives=1,
    ),
]
