"""Distributions that are a formula of normal numbers.

Read next: `gammas.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi, sqrt
from typing import Any

import numpy as np

from calque_core import finfo, lax, typeof
from calque_core.engine import scaled_erfc
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.lax import broadcast_shapes
from calque_numpy.random.arguments import check_key, check_shape, float_argument, parameters
from calque_numpy.random.floats import between, rademacher, unit_uniform
from calque_numpy.random.gaussian import normal_of, real_normal
from calque_numpy.random.generators import split_key
from calque_numpy.random.threefry import Shape
from calque_numpy.scipy.slopes import declare

Value = Any
DType = Any

_FAR = 3.0  # beyond, differences of the distribution function lose digits


def truncated_normal(
    key: Value, lower: Value, upper: Value, shape: Sequence[int] | None = None, dtype: DType = None
) -> Value:
    """Return numbers of the standard normal distribution between `lower` and `upper`, neither included.

    NaN where no float lies between the bounds.
    Shapes: one key; the bounds broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a bound is not
    real; ShapeError if a bound does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, truncated_normal
    >>> np.round(truncated_normal(key(42), 0.0, 1.0, (2,), np.float32), 4)
    array([0.4311, 0.619 ], dtype=float32)
    """
    key, dtype = check_key("truncated_normal", key), float_argument("truncated_normal", dtype)
    sizes, (lower, upper) = parameters("truncated_normal", shape, dtype, lower=lower, upper=upper)
    u, is_tail, edge = unit_uniform(key, sizes, dtype), lax.bitwise_or(lower > _FAR, upper < -_FAR), dtype.type(_FAR)
    root = dtype.type(sqrt(2))
    near = [lax.select(is_tail, lax.full_like(bound, side), bound) for bound, side in ((lower, -edge), (upper, edge))]
    low, high = (lax.erf(lax.div(bound, root)) for bound in near)
    out = normal_of(between(low, high, u), dtype)
    if not isinstance(is_tail, (np.ndarray, np.generic)) or is_tail.any():
        out = lax.select(broadcast_to(is_tail, sizes), _tail_normals(lower, upper, is_tail, u), out)
    least, greatest = lax.nextafter(lower, dtype.type(inf)), lax.nextafter(upper, dtype.type(-inf))
    out = lax.select(out > lower, out, broadcast_to(least, sizes))
    out = lax.select(out < upper, out, broadcast_to(greatest, sizes))
    return lax.select(broadcast_to(least < upper, sizes), out, lax.full_like(out, np.nan))


def _tail_normals(lower: Value, upper: Value, is_tail: Value, u: Value) -> Value:
    """Return normal numbers between bounds on one side of 0, both of them far from it."""
    one, is_left = typeof(u).dtype.type(1), upper < 0
    near, far = lax.select(is_left, -upper, lower), lax.select(is_left, -lower, upper)
    near, far = lax.select(is_tail, near, lax.ones_like(near)), lax.select(is_tail, far, lax.full_like(far, inf))
    is_left = broadcast_to(is_left, typeof(u).shape)
    most = np.nextafter(one, one - one)  # 1 would give an infinite number
    numbers = tail_normal_p.bind(near, far, lax.select(is_left, lax.min(one - u, most), u))
    return lax.select(is_left, -numbers, numbers)


def _mills(x: Value) -> Value:
    """Return Q(x) / phi(x), the probability of numbers above x >= 0 by the density at x."""
    return scaled_erfc(x * sqrt(0.5)) * sqrt(pi / 2)


def _log_shares(near: Value, far: Value, u: Value) -> tuple[Value, Value, Value]:
    """Return phi(far) / phi(near), 1 - Q(far) / Q(near) and s in Q(x) = exp(-s) Q(near) for the quantile x of `u`."""
    length = far - near
    ratio = lax.exp(-length * (near + 0.5 * length))
    quotient = lax.max(_mills(far) / _mills(near), finfo(typeof(near).dtype).tiny)  # 0 where `far` is infinite
    inside = -lax.expm1(lax.log(quotient) - length * (near + 0.5 * length))
    return ratio, inside, -lax.log1p(-u * inside)


def _tail_normal_formula(near: Value, far: Value, u: Value) -> Value:
    """Solve near d + d**2 / 2 - log(M(near + d) / M(near)) = s for d = x - near, where M = Q / phi.

    Without the logarithm, it is a quadratic equation.  From its solution, three steps of Halley's method suffice.
    """
    _, _, s = _log_shares(near, far, u)
    d = 2.0 * (s / near) / (1.0 + lax.sqrt(1.0 + 2.0 * (s / near) / near))
    for _ in range(3):
        mills = _mills(near + d)
        step = (d * (near + 0.5 * d) - lax.log(mills / _mills(near)) - s) * mills
        d = d - step / (1.0 - 0.5 * step * (1.0 / mills - (near + d)))
    return near + d


def _tail_slope(out: Value, near: Value, u: Value, s: Value) -> Value:
    """Return phi(near) / phi(out)."""
    return lax.exp(s) * _mills(out) / _mills(near)


def _tail_slope_near(out: Value, near: Value, far: Value, u: Value) -> Value:
    _, _, s = _log_shares(near, far, u)
    return (1.0 - u) * _tail_slope(out, near, u, s)


def _tail_slope_far(out: Value, near: Value, far: Value, u: Value) -> Value:
    ratio, _, s = _log_shares(near, far, u)
    return u * ratio * _tail_slope(out, near, u, s)


tail_normal_p = declare("tail_normal", _tail_normal_formula, _tail_slope_near, _tail_slope_far, "the uniform number")


def lognormal(key: Value, sigma: Value = 1.0, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers whose logarithm is normal, of mean 0 and deviation `sigma`.

    Shapes: one key, sigma [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or `sigma` is not
    real; ShapeError if `sigma` does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, lognormal
    >>> np.round(lognormal(key(42), 0.5, (2,), np.float32), 4)
    array([0.9859, 1.2631], dtype=float32)
    """
    key, dtype = check_key("lognormal", key), float_argument("lognormal", dtype)
    sizes, (sigma,) = parameters("lognormal", shape, dtype, sigma=sigma)
    return lax.exp(lax.mul(real_normal(key, sizes, dtype), sigma))


def maxwell(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the Maxwell distribution: the length of three normal numbers.

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not a float dtype.

    >>> import numpy as np
    >>> from calque_numpy.random import key, maxwell
    >>> np.round(maxwell(key(42), (2,), np.float32), 4)
    array([0.5536, 0.2933], dtype=float32)
    """
    key, dtype = check_key("maxwell", key), float_argument("maxwell", dtype)
    return _maxwells(key, check_shape("maxwell", shape), dtype)


def _maxwells(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    parts = real_normal(key, (*shape, 3), dtype)
    return lax.sqrt(lax.reduce_sum(lax.square(parts), (len(shape),)))


def double_sided_maxwell(key: Value, loc: Value, scale: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return `loc` plus `scale` times numbers of the Maxwell distribution with random signs.

    Shapes: one key; loc and scale broadcast to [*s] -> [*shape, *s]; [*s, *s] without `shape`, as in jax.
    Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a parameter is
    not real; ShapeError if the parameters do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.random import double_sided_maxwell, key
    >>> np.round(double_sided_maxwell(key(42), 0.0, 2.0, (2,), np.float32), 4)
    array([-2.762 , -1.3514], dtype=float32)
    """
    key, dtype = check_key("double_sided_maxwell", key), float_argument("double_sided_maxwell", dtype)
    inner, (loc, scale) = parameters("double_sided_maxwell", None, dtype, loc=loc, scale=scale)
    sizes = (check_shape("double_sided_maxwell", shape) or inner) + inner
    keys = split_key(key, (2,))
    loc, scale = (broadcast_to(x, broadcast_shapes(inner, sizes)) for x in (loc, scale))
    return rademacher(keys[1], sizes, dtype) * _maxwells(keys[0], sizes, dtype) * scale + loc


def wald(key: Value, mean: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the Wald distribution: when a Brownian motion of drift 1 / `mean` first reaches 1.

    The derivative in `mean` moves each number along its quantile.
    Shapes: one key, mean [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `lognormal`.
    Source: Michael, Schucany and Haas (1976), Generating random variates using transformations with multiple roots.

    >>> import numpy as np
    >>> from calque_numpy.random import key, wald
    >>> np.round(wald(key(42), 2.0, (2,), np.float32), 4)
    array([2.2266, 3.9277], dtype=float32)
    """
    key, dtype = check_key("wald", key), float_argument("wald", dtype)
    sizes, (mean,) = parameters("wald", shape, dtype, mean=mean)
    keys = split_key(key, (2,))
    size = lax.abs(real_normal(keys[0], sizes, dtype))
    one, two = dtype.type(1), dtype.type(2)  # NumPy 2.0 computes short floats beside a Python int in float32
    fixed = lax.stop_gradient(mean)
    half = fixed * (size * size) / two
    root = lax.sqrt(fixed) * size * lax.sqrt(half / two + one)
    factor = one + half + root  # the roots are the mean times the factor and its inverse: their difference would cancel
    is_smaller = unit_uniform(keys[1], sizes, dtype) <= factor / (factor + one)
    return wald_quantile_p.bind(lax.select(is_smaller, fixed / factor, fixed * factor), mean)


def _wald_slope(out: Value, x: Value, mean: Value) -> Value:
    """Return -(dF / dm) / f at x.  In dF / dm two of the three terms cancel: it is -2 / m**2 exp(2 / m) Q(t).

    Here t = (x / m + 1) / sqrt(x), and exp(2 / m) phi(t) = x**1.5 f.
    """
    root = lax.sqrt(x)
    return 2.0 * (x / mean) * (root / mean) * _mills(root / mean + 1.0 / root)


wald_quantile_p = declare("wald_quantile", lambda x, mean: x, "the random number", _wald_slope)
