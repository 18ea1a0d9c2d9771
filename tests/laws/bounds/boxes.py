"""What the laws of bounds compare with: boxes of many kinds, points in them, and values by mpmath."""

from __future__ import annotations

import numpy as np
from mpmath import mp
from ranges import Series, wide

PRECISION, MANY = 240, 2400  # bits of a right value; of a remainder, whose quotient has many digits
SLACK = 2.0**-60  # of a right value, which is rounded to a long double
POINTS = [0.0, 1.0, -1.0, 2.0, 2.0**-126, 2.0**-1022]


@np.errstate(all="ignore")
def boxes(dtype, count, near, rng):
    """Return the ends of `count` boxes, and a point in each: thin, narrow and wide ones of all sizes, some infinite."""
    sizes = rng.uniform(-1, 1, count) * rng.choice([3, 30, np.finfo(dtype).maxexp - 2], count)
    centre = np.ldexp(rng.uniform(1.0, 2.0, count), sizes.astype(int))
    centre *= rng.choice([-1.0, 1.0], count)
    kind = rng.uniform(size=count)
    if near:
        centre = np.where(kind < 0.3, rng.choice(near, count) * (1 + rng.uniform(-1, 1, count) * 2.0**-20), centre)
    centre = np.where(kind > 0.97, rng.choice(POINTS, count), centre).astype(dtype)
    width = np.abs(centre) * np.ldexp(rng.uniform(size=count), rng.choice([-60, -52, -30, -8, -1, 4], count))
    lower, upper = (centre - width * rng.uniform(size=count)).astype(dtype), (centre + width).astype(dtype)
    lower = np.where(rng.uniform(size=count) < 0.02, -np.inf, lower).astype(dtype)
    upper = np.where(rng.uniform(size=count) < 0.02, np.inf, upper).astype(dtype)
    share = rng.choice([0.0, 0.3, 0.7, 1.0, np.nan], count)
    inside = np.clip(lower + share * (upper - lower), lower, upper)
    return lower, upper, np.where(np.isfinite(inside), inside, centre).astype(dtype)


@np.errstate(all="ignore")
def around(centre, rng):
    """Return the ends of boxes around numbers."""
    width = np.abs(centre) * np.ldexp(rng.uniform(size=len(centre)), rng.choice([-60, -8, 2], len(centre)))
    return centre - width.astype(centre.dtype), centre + width.astype(centre.dtype)


@np.errstate(over="ignore")
def right_values(row, xs, ys):
    """Return the values of a row of the law of ranges at points, as long doubles; NaN where there is none."""
    others = [None] * len(xs) if ys is None else ys
    return np.array([right_value(row, x, y) for x, y in zip(xs, others)], np.longdouble)


def right_value(row, x, y):
    with mp.workprec(MANY if "rem" in row.name else PRECISION):
        operands = [Series([mp.mpf(float(x))]), *([] if y is None else [mp.mpf(float(y))])]
        try:
            value = row.reference(*operands).value
        except (ZeroDivisionError, ValueError, ArithmeticError):
            return np.longdouble(np.nan)
        return wide(value) if isinstance(value, mp.mpf) else np.longdouble(np.nan)


@np.errstate(all="ignore")
def outside(lower, upper, right):
    """Tell which right values lie outside of their bounds; a value that does not exist, NaN, lies nowhere."""
    lower, upper = (np.asarray(end).astype(np.longdouble) for end in (lower, upper))
    slack = np.abs(right) * SLACK
    return np.isnan(lower) | np.isnan(upper) | (right + slack < lower) | (right - slack > upper)
