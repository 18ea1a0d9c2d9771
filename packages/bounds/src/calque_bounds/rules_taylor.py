"""Taylor rules of functions of numbers: kind "taylor", `rule(*series, **params) -> series`.

One idea: a function with y' = h(y) x' gives its coefficients one after the other.  A constant such as log(2) is an
operation, which the trace of bounds encloses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from calque_bounds import series as ts
from calque_bounds.series import Coefficient, Series, instantiate, minus, plus, product, solution, square, times
from calque_bounds.taylor_trace import jumping, linear_series, step_series
from calque_core import Primitive, is_tracer, lax, rules, typeof

Value = Any
Combine = Callable[[Any, Any], Any]
RULES = rules("taylor")


# Arithmetic


def spread(xs: Series, like: Value) -> Series:
    """Return a series in the shape of a result; coefficients of rank 0 are broadcast."""
    return [None if x is None else lax.broadcast_like(x, like) for x in xs] if typeof(like).shape else xs


def both(xs: Series, ys: Series) -> tuple[Series, Series]:
    """Return two series of one shape."""
    return spread(xs, ys[0]), spread(ys, xs[0])


lax.add_p.def_rule("taylor", lambda xs, ys: list(map(plus, *both(xs, ys))))
lax.sub_p.def_rule("taylor", lambda xs, ys: list(map(minus, *both(xs, ys))))
lax.div_p.def_rule("taylor", lambda xs, ys: ts.quotient(*both(xs, ys)))
lax.square_p.def_rule("taylor", square)


@lax.mul_p.def_rule("taylor")
def mul_taylor(xs: Series, ys: Series) -> Series:
    return square(xs) if xs is ys else [product(xs, ys, k) for k in range(len(xs))]


@lax.integer_pow_p.def_rule("taylor")
def integer_pow_taylor(xs: Series, *, y: int) -> Series:
    if y == 0:
        return [lax.ones_like(xs[0]), *[None] * (len(xs) - 1)]
    powers = ts.whole_power(xs, abs(y))
    return powers if y > 0 else [lax.integer_pow(xs[0], y), *ts.reciprocal(powers)[1:]]


@lax.pow_p.def_rule("taylor")
def pow_taylor(xs: Series, ys: Series) -> Series:
    """Take the recurrence for a constant exponent, and exp(y log(x)) for any other."""
    xs, ys = both(xs, ys)
    if any(y is not None for y in ys[1:]):
        logs = ts.integral(lax.log(xs[0]), ts.reciprocal(xs), xs)
        return exponential(lax.pow(xs[0], ys[0]), [product(logs, ys, k) for k in range(len(xs))])
    exponent = ys[0]
    if not is_tracer(exponent) and np.ndim(exponent) == 0 and exponent in WHOLE:
        return integer_pow_taylor(xs, y=int(exponent))
    return ts.power(lax.pow(xs[0], exponent), xs, exponent)


WHOLE = range(-64, 65)  # powers with these exponents have derivatives at zero, too


# Kinks and choices


@lax.abs_p.def_rule("taylor")
def abs_taylor(xs: Series) -> Series:
    sign = lax.sign(xs[0])
    return jumping([lax.abs(xs[0]), *(times(x, sign) for x in xs[1:])], sign, first=2)


def extreme(choose: Combine, is_chosen: Combine, xs: Series, ys: Series) -> Series:
    """Return the series of the larger or the smaller of two numbers."""
    xs, ys = both(xs, ys)
    is_first = is_chosen(xs[0], ys[0])
    return jumping([choose(xs[0], ys[0]), *chosen_series(is_first, ys, xs)[1:]], is_first, first=2)


max_taylor, min_taylor = partial(extreme, lax.max, lax.ge), partial(extreme, lax.min, lax.le)
lax.max_p.def_rule("taylor", max_taylor)
lax.min_p.def_rule("taylor", min_taylor)
lax.clamp_p.def_rule("taylor", lambda low, xs, high: min_taylor(max_taylor(xs, low), high))


def chosen_series(which: Value, *cases: Series) -> Series:
    """Return the series that a selector chooses, without its jumps."""
    out: Series = []
    for coefficients in zip(*cases):
        if all(x is None for x in coefficients):
            out.append(None)
        else:
            out.append(lax.select_n(which, *(instantiate(x, case[0]) for x, case in zip(coefficients, cases))))
    return out


@lax.select_n_p.def_rule("taylor")
def select_n_taylor(which: Series, *cases: Series) -> Series:
    return jumping(chosen_series(which[0], *cases), which[0])


def reduced(primitive: Primitive, rule: Combine, xs: Series, *, axes: tuple[int, ...], **keepdims: bool) -> Series:
    """Return the series of a reduction, by the rule of two operands."""
    start = primitive.bind(xs[0], axes=axes, **keepdims)
    out = reduce(rule, rows_of(xs, axes))
    return [start, *(None if x is None else lax.reshape(x, typeof(start).shape) for x in out[1:])]


def rows_of(xs: Series, axes: tuple[int, ...]) -> list[Series]:
    """Return the series of the elements along axes."""
    shape = typeof(xs[0]).shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    sizes = (math.prod(shape[axis] for axis in axes), *[shape[axis] for axis in kept])
    split = [x if x is None else lax.unstack(lax.reshape(lax.transpose(x, (*axes, *kept)), sizes)) for x in xs]
    return [[x if x is None else x[row] for x in split] for row in range(sizes[0])]


lax.reduce_max_p.def_rule("taylor", partial(reduced, lax.reduce_max_p, max_taylor))
lax.reduce_min_p.def_rule("taylor", partial(reduced, lax.reduce_min_p, min_taylor))

# Conversions, positions, and values that stay


@lax.convert_element_type_p.def_rule("taylor")
def convert_taylor(xs: Series, **params: Any) -> Series:
    """Convert the coefficients of floats; a bool or an integer jumps."""
    is_smooth = typeof(xs[0]).kind == "f" and params["new_dtype"].kind == "f"
    return (linear_series if is_smooth else step_series)(lax.convert_element_type_p, [xs], params)[0]


lax.gather_p.def_rule("taylor", lambda *xs, **params: linear_series(lax.gather_p, xs, params)[0])
for _primitive in (lax.stop_gradient_p, lax.discard_p, lax.name_p):
    _primitive.def_rule("taylor", lambda xs, **_: xs)  # the function itself, whose derivative is not stopped
for _primitive in (lax.custom_linear_solve_p, lax.custom_root_p):  # refused, as for intervals
    _primitive.def_rule("taylor", rules("bounds")[_primitive])
lax.optimization_barrier_p.def_rule("taylor", lambda *xs: list(xs))
lax.sign_p.def_rule("taylor", lambda xs: step_series(lax.sign_p, [xs], {})[0])
lax.reduce_precision_p.def_rule("taylor", lambda xs, **bits: step_series(lax.reduce_precision_p, [xs], bits)[0])

# Powers and roots

for _primitive, _exponent, _divisor in ((lax.sqrt_p, 1.0, 2.0), (lax.rsqrt_p, -1.0, 2.0), (lax.cbrt_p, 1.0, 3.0)):
    _primitive.def_rule(
        "taylor",
        lambda xs, _fun=_primitive, _by=(_exponent, _divisor): ts.power(_fun.bind(xs[0]), xs, *_by),
    )

# Functions with y' = h(y) x'


def newest_square(ys: Series) -> Coefficient:
    """Return the last coefficient of y**2."""
    return square(ys)[-1]


def first_only(number: float, ys: Series) -> Coefficient:
    """Return the coefficient of a constant, of the order of the last coefficient of y."""
    return lax.full_like(ys[0], number) if len(ys) == 1 else None


def exponential(start: Value, xs: Series) -> Series:
    return solution([start], lambda y: [y[-1]], xs)[0]


def pi_root(like: Value) -> Value:
    """Return the square root of pi."""
    return lax.sqrt(lax.mul(lax.atan(lax.ones_like(like)), 4.0))


def def_solution(primitive: Primitive, slope: Callable[[Series], Coefficient]) -> None:
    """Define the rule of a function with y' = h(y) x'; `slope(y)` is the last coefficient of h."""

    @primitive.def_rule("taylor")
    def solved(xs: Series) -> Series:
        return solution([primitive.bind(xs[0])], lambda y: [slope(y)], xs)[0]


def_solution(lax.exp_p, lambda y: y[-1])
def_solution(lax.exp2_p, lambda y: times(y[-1], lax.log(lax.full_like(y[0], 2.0))))
def_solution(lax.expm1_p, lambda y: plus(y[-1], first_only(1.0, y)))
def_solution(lax.tan_p, lambda y: plus(newest_square(y), first_only(1.0, y)))
def_solution(lax.tanh_p, lambda y: minus(first_only(1.0, y), newest_square(y)))
def_solution(lax.logistic_p, lambda y: minus(y[-1], newest_square(y)))

# Functions with y' = h(x) x'


def def_integral(primitive: Primitive, slope: Callable[[Series], Series]) -> None:
    """Define the rule of a function with y' = h(x) x'."""

    @primitive.def_rule("taylor")
    def integrated(xs: Series) -> Series:
        return ts.integral(primitive.bind(xs[0]), slope(xs), xs)


def inverse_root(xs: Series) -> Series:
    """Return the series of 1 / sqrt(x)."""
    return ts.power(lax.rsqrt(xs[0]), xs, -1.0, 2.0)


def from_one(xs: Series) -> Series:
    """Return the series of 1 - x**2."""
    return ts.added(ts.negative(square(xs)), 1.0)


def bell(xs: Series) -> Series:
    """Return the series of 2 / sqrt(pi) exp(-x**2)."""
    factor = lax.div(2.0, pi_root(xs[0]))
    exponents = ts.negative(square(xs))
    return [times(x, factor) for x in exponential(lax.exp(exponents[0]), exponents)]


def_integral(lax.log_p, ts.reciprocal)
def_integral(lax.log1p_p, lambda xs: ts.reciprocal(ts.added(xs, 1.0)))
def_integral(lax.asin_p, lambda xs: inverse_root(from_one(xs)))
def_integral(lax.acos_p, lambda xs: ts.negative(inverse_root(from_one(xs))))
def_integral(lax.atan_p, lambda xs: ts.reciprocal(ts.added(square(xs), 1.0)))
def_integral(lax.asinh_p, lambda xs: inverse_root(ts.added(square(xs), 1.0)))
def_integral(lax.acosh_p, lambda xs: inverse_root(ts.added(square(xs), -1.0)))
def_integral(lax.atanh_p, lambda xs: ts.reciprocal(from_one(xs)))
def_integral(lax.erf_p, bell)
def_integral(lax.erfc_p, lambda xs: ts.negative(bell(xs)))

# Pairs of functions, and functions of two numbers


def def_pair(first: Primitive, second: Primitive, combine: Combine) -> None:
    """Define the rules of two functions, where the second is the derivative of the first."""

    def pair(xs: Series) -> list[Series]:
        starts = [first.bind(xs[0]), second.bind(xs[0])]
        return solution(starts, lambda y, z: [z[-1], combine(None, y[-1])], xs)

    first.def_rule("taylor", lambda xs: pair(xs)[0])
    second.def_rule("taylor", lambda xs: pair(xs)[1])


def_pair(lax.sin_p, lax.cos_p, minus)
def_pair(lax.sinh_p, lax.cosh_p, plus)
lax.tanh_slope_p.def_rule("taylor", lambda xs: from_one(RULES[lax.tanh_p](xs)))
lax.logistic_slope_p.def_rule("taylor", lambda xs: falling_product(RULES[lax.logistic_p](xs)))


def falling_product(ys: Series) -> Series:
    """Return the series of y (1 - y)."""
    return mul_taylor(ys, ts.added(ts.negative(ys), 1.0))


@lax.atan2_p.def_rule("taylor")
def atan2_taylor(ys: Series, xs: Series) -> Series:
    """Integrate (x y' - y x') / (x**2 + y**2).  The angle jumps where y changes its sign, unless x is positive."""
    ys, xs = both(ys, xs)
    y_moves, x_moves = ([times(c, float(k)) for k, c in enumerate(series[1:], 1)] for series in (ys, xs))
    turns = [minus(product(xs, y_moves, k), product(ys, x_moves, k)) for k in range(len(xs) - 1)]
    speeds = ts.quotient(turns, [plus(x, y) for x, y in zip(square(xs), square(ys))][: len(turns)])
    angles = [lax.atan2(ys[0], xs[0]), *(None if c is None else lax.div(c, k + 1.0) for k, c in enumerate(speeds))]
    return jumping(angles, lax.bitwise_or(lax.gt(xs[0], 0.0), lax.ge(ys[0], 0.0)))
