"""Gamma-distributed numbers, and the distributions that are made of them.

One idea: each element draws candidates from a key of its own until one is accepted; all elements draw together, and
an accepted number stays.  The derivative in the parameter is that of the distribution function at the
number (`calque_special.random_gamma_grad`), not of the loop.  Small parameters give numbers below the range of their
dtype, so ratios and powers of gamma-distributed numbers are computed from their logarithms.
Source: Marsaglia and Tsang (2000), A simple method for generating gamma variables.

Read next: `lanes.py`, the draws from many keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod
from typing import Any, Literal

import numpy as np

import calque_special
from calque_core import Primitive, Zero, finfo, lax, typeof
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.extend import Shape, where, zero_tangent
from calque_numpy.random.arguments import (
    at_least_single,
    check_key,
    check_real,
    check_shape,
    float_argument,
    parameters,
)
from calque_numpy.random.floats import rademacher
from calque_numpy.random.from_uniform import exponential_of
from calque_numpy.random.gaussian import real_normal
from calque_numpy.random.generators import impl_and_words, split_key, words_of_each
from calque_numpy.random.lanes import normal_lanes, split_lanes, uniform_lanes
from calque_numpy.scipy.slopes import declare
from calque_special.kit import log_sample_slopes

Value = Any
DType = Any
Pair = tuple[Value, Value]
Form = Literal["number", "log", "power"]

random_gamma_p = Primitive("random_gamma")
_SQUEEZE = 0.0331


@random_gamma_p.def_abstract_eval(cached=True)
def random_gamma_abstract_eval(a_aval: Any, *key_avals: Any, form: Form, impl: str) -> Any:
    return a_aval.strip_weak_type()


@random_gamma_p.def_rule("decomposition")
def random_gamma_decomposition(a: Value, *words: Value, form: Form, impl: str) -> Value:
    """Draw by Marsaglia and Tsang for a >= 1; for a < 1, gamma(a) is gamma(a + 1) U**(1 / a).

    The results are the numbers; in the form "log" their logarithms; in the form "power" min(a, 1) times these.
    """
    shape = typeof(a).shape
    lanes = (prod(shape),)
    keys, boost_keys = split_lanes(impl, lax.stack([lax.reshape(x, lanes) for x in words], 0), 2)
    a, dtype = lax.reshape(a, lanes), typeof(a).dtype
    one = dtype.type(1)  # NumPy 2.0 computes short floats beside a Python int in float32
    is_large = a >= 1
    d = lax.select(is_large, a, a + one) - dtype.type(1 / 3)
    volume = _accepted_volumes(impl, keys, d)
    u = uniform_lanes(impl, boost_keys, dtype)
    if form == "number":
        boost = lax.select(is_large, lax.ones_like(a), lax.pow(one - u, one / a))
        out, at_zero = d * volume * boost, 0.0
    else:
        log_u = lax.select(is_large, lax.zeros_like(a), lax.log1p(-u))
        logs = lax.log(d) + lax.log(volume)
        if form == "power":
            out, at_zero = lax.select(is_large, logs, logs * a) + log_u, 0.0
        else:
            out, at_zero = logs + lax.select(lax.eq(log_u, 0), log_u, log_u * (one / a)), -np.inf
    if form != "power":
        out = lax.select(lax.eq(a, 0), lax.full_like(a, at_zero), out)
    return lax.reshape(lax.select(a >= 0, out, lax.full_like(a, np.nan)), shape)


def _accepted_volumes(impl: str, keys: Value, d: Value) -> Value:
    """Return v = (1 + c x)**3 for accepted normal x, where d v is gamma-distributed; c is 1 / sqrt(9 d)."""
    dtype = typeof(d).dtype
    one, c = dtype.type(1), dtype.type(1 / 3) / lax.sqrt(d)

    def draw(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        keys, volume, is_open = carry
        keys, x_keys, u_keys = split_lanes(impl, keys, 3)
        x, v = _positive(impl, x_keys, c, is_open)
        u = uniform_lanes(impl, u_keys, dtype)
        square, v = x * x, v * v * v
        volume = lax.select(is_open, v, volume)
        is_outside = u >= one - dtype.type(_SQUEEZE) * (square * square)
        is_rejected = lax.log(u) >= square * dtype.type(0.5) + d * (one - v + lax.log(v))
        return keys, volume, lax.bitwise_and(is_open, lax.bitwise_and(is_outside, is_rejected))

    start = (keys, lax.ones_like(d), lax.full_like(d, True, bool))
    return lax.while_loop(lambda carry: lax.reduce_or(carry[2]), draw, start)[1]


def _positive(impl: str, keys: Value, c: Value, is_open: Value) -> Pair:
    """Return normal x and v = 1 + c x, drawn again where v is not positive."""

    def draw(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        keys, x, v = carry
        keys, x_keys = split_lanes(impl, keys, 2)
        is_new = v <= 0
        x = lax.select(is_new, normal_lanes(impl, x_keys, typeof(c).dtype), x)
        return keys, x, lax.select(is_new, typeof(c).dtype.type(1) + x * c, v)

    start = (keys, lax.zeros_like(c), lax.select(is_open, lax.full_like(c, -1), lax.ones_like(c)))
    _, x, v = lax.while_loop(lambda carry: lax.reduce_or(carry[2] <= 0), draw, start)
    return x, v


@random_gamma_p.def_impl
def random_gamma_impl(a: Value, *words: Value, form: Form, impl: str) -> Value:
    with np.errstate(all="ignore"):  # of candidates that are not chosen
        return random_gamma_decomposition(a, *words, form=form, impl=impl)


@random_gamma_p.def_rule("jvp")
def random_gamma_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, form: Form, impl: str) -> Pair:
    a, a_dot = primals[0], tangents[0]
    out = random_gamma_p.bind(*primals, form=form, impl=impl)
    if type(a_dot) is Zero:
        return out, zero_tangent(out)
    if form == "number":
        return out, lax.mul(a_dot, calque_special.random_gamma_grad(a, out))
    if form == "power":
        return out, lax.mul(a_dot, power_slope_p.bind(a, lax.div(out, _below_one(a))))
    most = finfo(typeof(a).dtype).max  # of an infinite slope, exp(out) times the slope would be nan
    return out, lax.mul(a_dot, lax.min(log_slope_p.bind(a, out), most))


def _below_one(a: Value) -> Value:
    return lax.select(a < 1, a, lax.ones_like(a))


_KNOWN = "the parameter of random numbers", "a random number"
log_slope_p = declare("random_loggamma_grad", lambda a, log_x: log_sample_slopes(a, lax.exp(log_x), log_x)[0], *_KNOWN)
power_slope_p = declare(
    "random_gamma_power_grad", lambda a, log_x: log_sample_slopes(a, lax.exp(log_x), log_x)[1], *_KNOWN
)


def _gammas(key: Value, a: Value, shape: Shape, form: Form = "number") -> Value:
    """Return gamma-distributed numbers in a form; `a` has the dtype of the result, and its shape or rank 0."""
    impl, _ = impl_and_words(key)
    numbers = random_gamma_p.bind(broadcast_to(a, shape), *words_of_each(key, shape), form=form, impl=impl)
    return lax.optimization_barrier(numbers)  # without it, XLA copies the last step into each use: 9 s of CPU, not 2


def gamma(key: Value, a: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the gamma distribution of density proportional to x**(a - 1) exp(-x).

    Shapes: one key, a [*s] -> [*s], or `shape`; `a` broadcasts to it.  Dtype: `dtype`, or the default float.
    NaN where `a` is NaN.  The derivative in `a` moves each number along its quantile.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or `a` is not
    real; ShapeError if `a` does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import gamma, key
    >>> np.round(gamma(key(42), 2.0, (2,), np.float32), 3)
    array([3.673, 1.092], dtype=float32)
    """
    key, dtype = check_key("gamma", key), float_argument("gamma", dtype)
    sizes, (a,) = parameters("gamma", shape, dtype, a=a)
    return _gammas(key, a, sizes)


def loggamma(key: Value, a: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return the logarithms of gamma-distributed numbers, exact also where the numbers would be too small.

    Shapes, dtypes and errors: as `gamma`.  For one key, they are the logarithms of the numbers of `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, loggamma
    >>> np.round(loggamma(key(42), 1e-3, (2,), np.float32), 1)
    array([-537.9, -162.3], dtype=float32)
    """
    key, dtype = check_key("loggamma", key), float_argument("loggamma", dtype)
    sizes, (a,) = parameters("loggamma", shape, dtype, a=a)
    return _gammas(key, a, sizes, "log")


def beta(key: Value, a: Value, b: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the beta distribution: x / (x + y) for gamma-distributed x and y.

    Shapes: one key; a and b broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import beta, key
    >>> np.round(beta(key(42), 2.0, 3.0, (2,), np.float32), 3)
    array([0.432, 0.313], dtype=float32)
    """
    key, dtype = check_key("beta", key), float_argument("beta", dtype)
    sizes, pair = parameters("beta", shape, dtype, a=a, b=b)
    keys = split_key(key, (2,))
    log_x, log_y = (_gammas(keys[i], _with_finite_logs(pair[i]), sizes, "log") for i in range(2))
    log_max = lax.max(log_x, log_y)
    x, y = lax.exp(log_x - log_max), lax.exp(log_y - log_max)
    return x / (x + y)


def _with_finite_logs(a: Value) -> Value:
    """Return parameters, raised to the least one for which the logarithm of no gamma-distributed number overflows."""
    info = finfo(typeof(a).dtype)
    least = lax.full_like(a, 2 * (info.nmant + 1) * log(2) / float(info.max))
    return lax.select(lax.bitwise_and(a >= 0, a < least), least, a)


def dirichlet(key: Value, alpha: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return vectors of the Dirichlet distribution: gamma-distributed numbers divided by their sum.

    Shapes: one key, alpha [*s, n] -> [*s, n], or [*shape, n].  Dtype: `dtype`, or the default float.
    Raises: as `gamma`; ValueError if `alpha` has no axis.

    >>> import numpy as np
    >>> from calque_numpy.random import dirichlet, key
    >>> np.round(dirichlet(key(42), np.ones(3), (), np.float32), 3)
    array([0.478, 0.074, 0.448], dtype=float32)
    """
    key, dtype = check_key("dirichlet", key), float_argument("dirichlet", dtype)
    check_real("dirichlet", "alpha", alpha)
    if not typeof(alpha).shape:
        raise ValueError(f"dirichlet{where()}: alpha has type {typeof(alpha)}. Give a vector of parameters.")
    whole = None if shape is None else (*check_shape("dirichlet", shape), typeof(alpha).shape[-1])
    sizes, (alpha,) = parameters("dirichlet", whole, dtype, alpha=alpha)
    return _softmax(_gammas(key, _with_finite_logs(alpha), sizes, "log"))


def _softmax(x: Value) -> Value:
    axis = typeof(x).ndim - 1
    terms = lax.exp(x - lax.stop_gradient(lax.reduce_max(x, axis, keepdims=True)))
    return terms / lax.reduce_sum(terms, axis, keepdims=True)


def chisquare(key: Value, df: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the chi-square distribution with `df` degrees of freedom.

    Shapes: one key, df [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import chisquare, key
    >>> np.round(chisquare(key(42), 3.0, (2,), np.float32), 3)
    array([5.871, 1.398], dtype=float32)
    """
    key, dtype = check_key("chisquare", key), float_argument("chisquare", dtype)
    sizes, (df,) = parameters("chisquare", shape, dtype, df=df)
    return _chi_squares(key, df, sizes)


def _chi_squares(key: Value, df: Value, shape: Shape) -> Value:
    two = typeof(df).dtype.type(2)
    return lax.exp(_gammas(key, df / two, shape, "log")) * two


def f(key: Value, dfnum: Value, dfden: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the F distribution: the ratio of two chi-square numbers, each by its degrees of freedom.

    Shapes: one key; dfnum and dfden broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import f, key
    >>> np.round(f(key(42), 3.0, 4.0, (2,), np.float32), 3)
    array([0.745, 0.479], dtype=float32)
    """
    key, dtype = check_key("f", key), float_argument("f", dtype)
    sizes, pair = parameters("f", shape, dtype, dfnum=dfnum, dfden=dfden)
    keys, halves = split_key(key, (2,)), [_with_finite_logs(df / dtype.type(2)) for df in pair]
    numerator, denominator = (_gammas(k, half, sizes, "log") for k, half in zip((keys[1], keys[0]), halves))
    return lax.exp((numerator - lax.log(halves[0])) - (denominator - lax.log(halves[1])))


def t(key: Value, df: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of Student's t distribution with `df` degrees of freedom.

    Shapes: one key, df [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, t
    >>> np.round(t(key(42), 3.0, (2,), np.float32), 3)
    array([ 0.09 , -1.736], dtype=float32)
    """
    key, dtype = check_key("t", key), float_argument("t", dtype)
    sizes, (df,) = parameters("t", shape, dtype, df=df)
    keys = split_key(key, (2,))
    half = df / dtype.type(2)
    log_ratio = lax.log(half) - _gammas(keys[1], half, sizes, "log")
    return real_normal(keys[0], sizes, dtype) * lax.exp(log_ratio / dtype.type(2))


def generalized_normal(key: Value, p: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers whose density is proportional to exp(-abs(x)**p).

    Shapes: one key, p [] -> shape.  Dtype: `dtype`, or the default float.
    Raises: as `gamma`.

    >>> import numpy as np
    >>> from calque_numpy.random import generalized_normal, key
    >>> np.round(generalized_normal(key(42), 3.0, (2,), np.float32), 3)
    array([-0.694, -0.276], dtype=float32)
    """
    key, dtype = check_key("generalized_normal", key), float_argument("generalized_normal", dtype)
    sizes, (p,) = parameters("generalized_normal", shape, dtype, p=p)
    log_size, sign = _generalized_normals(key, p, sizes, dtype)
    return sign * lax.exp(log_size)


def _generalized_normals(key: Value, p: Value, shape: Shape, dtype: np.dtype[Any]) -> Pair:
    """Return the logarithms of the sizes of numbers, gamma-distributed numbers to the power 1 / p, and their signs."""
    keys = split_key(key, (2,))
    a = dtype.type(1) / p
    power = _gammas(keys[0], a, shape, "power")
    return lax.select(a < 1, lax.ones_like(a), a) * power, rademacher(keys[1], shape, dtype)


def ball(key: Value, d: int, p: Value = 2, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return points distributed uniformly in the unit ball of the `p`-norm, of `d` dimensions.

    Shapes: one key, p [] -> [*shape, d].  Dtype: `dtype`, or the default float.
    Raises: as `gamma`; TypeError if `d` is not an integer, ValueError if it is negative.

    >>> import numpy as np
    >>> from calque_numpy.random import ball, key
    >>> np.round(ball(key(42), 2, dtype=np.float32), 3)
    array([-0.323, -0.061], dtype=float32)
    """
    key, dtype = check_key("ball", key), float_argument("ball", dtype)
    points = check_shape("ball", (*check_shape("ball", shape), d))
    _, (p,) = parameters("ball", (), dtype, p=p)
    keys = split_key(key, (2,))
    log_size, sign = _generalized_normals(keys[0], p, points, dtype)
    e = exponential_of(keys[1], points[:-1], dtype)
    axis = len(points) - 1
    # Logarithms of 16 bits would give points outside of the ball.
    log_size, e, p, sign = (lax.convert_element_type(x, at_least_single(dtype)) for x in (log_size, e, p, sign))
    logs = p * log_size
    log_e = lax.expand_dims(lax.log(lax.max(e, finfo(dtype).tiny)), (axis,))
    log_max = lax.stop_gradient(lax.max(log_e, lax.reduce_max(logs, axis, keepdims=True)))
    total = lax.reduce_sum(lax.exp(logs - log_max), axis, keepdims=True) + lax.exp(log_e - log_max)
    return lax.convert_element_type(sign * lax.exp(log_size - (log_max + lax.log(total)) / p), dtype)
