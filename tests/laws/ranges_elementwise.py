"""Rows of the law of ranges: elementwise functions of `lax`, `numpy` and `nn`.

One idea: a row names the function, and the same function of series.  A function with another name and the same program
is in `SAME`; a function that the law does not ask is in `WITHOUT_ROW`, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import ranges as r
from mpmath import mp
from ranges import Row, Series

import calque.nn as nn
import calque.numpy as jnp
from calque import lax

INF = math.inf
NO_VALUE = {(s * INF, 0): math.nan for s in (-1, 1)}  # of an infinity, where a remainder has none
NO_QUOTIENT = {(0.0, k): 0.0 if k == 2 else math.nan for k in range(4)}
INTEGERS = (1.0, 2.0, -1.0, 0.5, -0.5, 2.5, 1e6)


def shuffled(x: np.ndarray) -> np.ndarray:
    """Return second operands of all sizes and signs, none of which is zero or infinite."""
    usable = x[np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).smallest_normal)]
    return np.random.default_rng(1).choice(usable, x.shape)


def similar(x: np.ndarray) -> np.ndarray:
    """Return second operands of about the size of the first ones."""
    near = np.where(np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).smallest_normal * 8), x, 1)
    factors = np.random.default_rng(2).choice([0.25, 0.75, 1.0, -1.0, 1.5, -3.0], x.shape)
    with np.errstate(all="ignore"):
        moved = (near * factors).astype(x.dtype)
    return np.where(np.isfinite(moved), moved, near)


def moderate(x: np.ndarray) -> np.ndarray:
    """Return second operands between 1/8 and 8 of both signs, integers among them."""
    return np.random.default_rng(3).choice([0.125, -0.5, 0.75, 1.0, -1.0, 1.75, 2.0, -2.0, 3.0, 7.5, -8.0], x.shape)


def powers(x: np.ndarray) -> np.ndarray:
    """Return exponents; of negative numbers, of zeros and infinities, even integers."""
    is_regular = (x > 0) & np.isfinite(x)
    return np.where(is_regular, moderate(x), np.random.default_rng(4).choice([2.0, -2.0, 8.0], x.shape))


def pairs(
    name: str,
    function: Any,
    in_first: Any,
    in_second: Any,
    ends: tuple[Any, Any] = ({}, {}),
    derivatives: int = 2,
    **makers: Any,
) -> Iterable[Row]:
    """Return rows of a function of two operands, in the first and in the second one, for several second operands."""
    for kind, maker in makers.items():
        yield Row(f"{name}(x, {kind})", function, in_first, second=maker, ends=ends[0], derivatives=derivatives)
        if in_second is not None:
            yield Row(
                f"{name}({kind}, x)",
                lambda x, y: function(y, x),
                in_second,
                second=maker,
                ends=ends[1],
                derivatives=derivatives,
            )


def with_second(name: str, function: Any, reference: Any, others: Iterable[float], **more: Any) -> Iterable[Row]:
    """Return rows of a function whose second operand is a known number."""
    for y in others:
        yield Row(f"{name}(x, {y})", lambda x, y=y: function(x, y), lambda x, y=y: reference(x, mp.mpf(y)), **more)


def with_first(name: str, function: Any, reference: Any, others: Iterable[float], **more: Any) -> Iterable[Row]:
    """Return rows of a function whose first operand is a known number."""
    for y in others:
        yield Row(f"{name}({y}, x)", lambda x, y=y: function(y, x), lambda x, y=y: reference(x, mp.mpf(y)), **more)


# References


def nothing(x: Series) -> Series:
    return Series([mp.nan] * len(x.terms))


def power(x: Series, y: Any) -> Series:
    """Return x to the power of a number; NaN for a negative x and a fraction."""
    if x.value < 0:
        if y != mp.floor(y):
            return nothing(x)
        return -power(-x, y) if int(y) % 2 else power(-x, y)
    return x**y


def power_of(y: Series, x: Any) -> Series:
    """Return the number x to the power of a series."""
    if x < 0:
        return nothing(y) if y.value != mp.floor(y.value) else Series([mp.nan] * len(y.terms))
    return r.exp(y * mp.log(x))


def erf_inv(x: Series) -> Series:
    return r.chain(mp.erfinv, lambda x: mp.sqrt(mp.pi) / 2 * r.exp(erf_inv(x) ** 2), x)


def log2(x: Series) -> Series:
    return r.log(x) / mp.log(2)


def log_add_exp(x: Series, y: Any) -> Series:
    return r.softplus(x - y) + y if x.value < y else r.softplus(-(x - y)) + x


def atan2_in_first(x: Series, y: Any) -> Series:
    """Return the angle; NaN at zero, whose sign mpmath lacks: the law then takes the limit."""
    value = lambda x: mp.nan if x == 0 else mp.atan2(x, y)
    return r.chain(value, lambda x: y / (x * x + y * y), x)


def atan2_in_second(x: Series, y: Any) -> Series:
    return r.chain(lambda x: mp.atan2(y, x), lambda x: -y / (x * x + y * y), x)


def sinc(x: Series) -> Series:
    if abs(x.value) > 2.0**-30:
        return r.sinpi(x) / (x * mp.pi)
    x = x * mp.pi
    out = r.constant(0, x)
    for n in range(24, -1, -1):
        out = out * x * x + mp.mpf(-1) ** n / mp.factorial(2 * n + 1)
    return out


def toward_zero(x: Any) -> Any:
    return mp.ceil(x) if x < 0 else mp.floor(x)


def rem(x: Series, y: Any) -> Series:
    return x - toward_zero(x.value / y) * y


def rem_in_second(x: Series, y: Any) -> Series:
    return y - toward_zero(y / x.value) * x


def remainder(x: Series, y: Any) -> Series:
    return x - mp.floor(x.value / y) * y


def remainder_in_second(x: Series, y: Any) -> Series:
    return y - mp.floor(y / x.value) * x


def larger(x: Series, y: Any) -> Series:
    return x if x.value >= y else r.constant(y, x)


def smaller(x: Series, y: Any) -> Series:
    return x if x.value <= y else r.constant(y, x)


def pieces(*choices: tuple[float, Callable[[Series], Series]], otherwise: Callable[[Series], Series]) -> Any:
    """Return a function of series: that of the first bound above x, or the last one."""

    def reference(x: Series) -> Series:
        for bound, piece in choices:
            if x.value <= bound:
                return piece(x)
        return otherwise(x)

    return reference


def zero(x: Series) -> Series:
    return r.constant(0, x)


def one(x: Series) -> Series:
    return r.constant(1, x)


def same(x: Series) -> Series:
    return x


def gelu_by_tanh(x: Series) -> Series:
    inner = (x + x**3 * mp.mpf(0.044715)) * mp.sqrt(8 / mp.pi)
    return x * r.logistic(inner)


def squareplus(x: Series, b: Any = 4) -> Series:
    root = r.sqrt(x * x + b)
    return (x + root) * 0.5 if x.value >= 0 else (b / 2) / (root - x)


def elu(x: Series, alpha: Any = 1) -> Series:
    return x if x.value > 0 else r.expm1(x) * alpha


def log1mexp(x: Series) -> Series:
    return r.log(-r.expm1(-x)) if x.value < 1 else r.log1p(-r.exp(-x))


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# Rows of `lax`

ONE_OPERAND = [
    Row("lax.exp", lax.exp, r.exp, near=(709.78, 88.72, -745.0, -708.4, -87.3)),
    Row("lax.exp2", lax.exp2, lambda x: r.exp(x * mp.log(2)), near=(1023.9, 127.9, -1022.0, -126.0)),
    Row("lax.expm1", lax.expm1, r.expm1, near=(709.78, 88.72, 0.5, -0.5)),
    Row("lax.log", lax.log, r.log, domain=(0, INF), near=(1.0,)),
    Row("lax.log1p", lax.log1p, r.log1p, domain=(-1, INF), near=(-1.0, -0.25, -0.5, 0.5)),
    Row("lax.sqrt", lax.sqrt, r.sqrt, domain=(0, INF)),
    Row("lax.rsqrt", lax.rsqrt, lambda x: 1 / r.sqrt(x), domain=(0, INF)),
    Row("lax.cbrt", lax.cbrt, r.cbrt),
    Row("lax.square", lax.square, lambda x: x * x),
    Row("lax.reciprocal", lax.reciprocal, lambda x: 1 / x),
    Row("lax.sin", lax.sin, r.sin, near=(math.pi, 2 * math.pi, 22.0)),
    Row("lax.cos", lax.cos, r.cos, near=(math.pi / 2, 11.0)),
    Row("lax.tan", lax.tan, r.tan, near=(math.pi / 2, math.pi)),
    Row("lax.asin", lax.asin, r.asin, domain=(-1, 1), near=(1.0, -1.0, 0.5)),
    Row("lax.acos", lax.acos, r.acos, domain=(-1, 1), near=(1.0, -1.0, 0.5)),
    Row("lax.atan", lax.atan, r.atan, near=(1.0,)),
    Row("lax.sinh", lax.sinh, r.sinh, near=(710.4, 89.4, 1.0)),
    Row("lax.cosh", lax.cosh, r.cosh, near=(710.4, 89.4, 1.0)),
    Row("lax.tanh", lax.tanh, r.tanh, near=(0.55, 9.0, 19.06, 22.0)),
    Row("lax.tanh_slope", lax.tanh_slope, lambda x: r.sech(x) * r.sech(x), near=(9.0, 19.06)),
    Row("lax.erf_inv", lax.erf_inv, erf_inv, domain=(-1, 1), near=(1.0, -1.0, 0.85)),
    Row("lax.asinh", lax.asinh, r.asinh, near=(1.0,)),
    Row("lax.acosh", lax.acosh, r.acosh, domain=(1, INF), near=(1.0, 2.0)),
    Row("lax.atanh", lax.atanh, r.atanh, domain=(-1, 1), near=(1.0, -1.0, 0.5)),
    Row(
        "lax.logistic_slope",
        lax.logistic_slope,
        lambda x: r.sech(0.5 * x) * r.sech(0.5 * x) * 0.25,
        near=(18.0, 38.0, -38.0),
    ),
    Row("lax.logistic", lax.logistic, r.logistic, near=(38.0, -38.0, -709.0, -87.0)),
    Row("lax.neg", lax.neg, lambda x: -x),
    Row("lax.abs", lax.abs, abs, kinks=(0.0,)),
    Row("lax.sign", lax.sign, r.step(mp.sign)),
    Row("lax.floor", lax.floor, r.step(mp.floor), near=INTEGERS, kinks=(0.0,), ends={(0.0, 0): 0}),
    Row("lax.ceil", lax.ceil, r.step(mp.ceil), near=INTEGERS, kinks=(0.0,)),
    Row("lax.round", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), r.step(mp.nint), near=INTEGERS),
]
OF_POWERS = [
    row
    for y in (-3, -2, -1, 0, 1, 2, 3, 5, 12)
    for row in [
        Row(
            f"lax.integer_pow(x, {y})",
            lambda x, y=y: lax.integer_pow(x, y),
            lambda x, y=y: x**y,
            of_nan=np.nan if y else 1.0,
        )
    ]
]
TWO_OPERANDS = [
    *with_second("lax.pow", lax.pow, power, (1.0, 2.0, 3.0, -1.0, 100.0), near=(1.0,)),
    *with_second("lax.pow", lax.pow, power, (0.5, 2.5, -0.5, 0.0078125), near=(1.0,), domain=(0, INF)),
    *with_second("lax.pow", lax.pow, power, (0.0,), of_nan=1.0, derivatives=0),
    *with_first("lax.pow", lax.pow, power_of, (1.0,), of_nan=1.0, derivatives=0),
    *with_first("lax.pow", lax.pow, power_of, (2.0, 0.5, 10.0, 1.0009765625), derivatives=2),
    Row("lax.pow(x, fitting)", lax.pow, power, second=powers),
    *pairs("lax.div", lax.div, lambda x, y: x / y, lambda x, y: y / x, any=shuffled, similar=similar),
    *pairs("lax.mul", lax.mul, lambda x, y: x * y, None, any=shuffled),
    *pairs("lax.add", lax.add, lambda x, y: x + y, None, any=shuffled, similar=similar),
    *pairs("lax.sub", lax.sub, lambda x, y: x - y, lambda x, y: y - x, any=shuffled, similar=similar),
    *pairs("lax.atan2", lax.atan2, atan2_in_first, atan2_in_second, any=shuffled, similar=similar, moderate=moderate),
    *pairs("lax.rem", lax.rem, rem, rem_in_second, (NO_VALUE, NO_QUOTIENT), moderate=moderate),
    *with_second("lax.max", lax.max, larger, (1.5, -2.0)),
    *with_second("lax.min", lax.min, smaller, (1.5, -2.0)),
    Row("lax.clamp", lambda x: lax.clamp(-1.5, x, 3.0), lambda x: smaller(larger(x, -1.5), 3)),
]

# Rows of `numpy`

DEGREES = 180
OF_NUMPY = [
    Row("numpy.log2", jnp.log2, log2, domain=(0, INF), near=(1.0,)),
    Row("numpy.log10", jnp.log10, lambda x: r.log(x) / mp.log(10), domain=(0, INF), near=(1.0,)),
    Row("numpy.degrees", jnp.degrees, lambda x: x * DEGREES / mp.pi),
    Row("numpy.radians", jnp.radians, lambda x: x * mp.pi / DEGREES),
    Row("numpy.sinc", jnp.sinc, sinc, near=(1.0, 0.25 / math.pi, 7.0), ends=NO_VALUE),
    Row("numpy.trunc", jnp.trunc, r.step(toward_zero), near=INTEGERS),
    Row("numpy.rint", jnp.rint, r.step(mp.nint), near=INTEGERS),
    Row("numpy.reciprocal", jnp.reciprocal, lambda x: 1 / x),
    Row("numpy.modf[0]", lambda x: jnp.modf(x)[0], lambda x: x - toward_zero(x.value), near=INTEGERS,
        ends={(s * INF, k): 0.0 for s in (-1, 1) for k in (0, 2, 3)} | {(s * INF, 1): math.nan for s in (-1, 1)},
        derivatives=0),
    Row("numpy.modf[1]", lambda x: jnp.modf(x)[1], r.step(toward_zero), near=INTEGERS),
    Row("numpy.frexp[0]", lambda x: jnp.frexp(x)[0], lambda x: x * mp.mpf(2) ** -mp.frexp(x.value)[1] if x.value else x,
        ends={(s * INF, k): s * INF if k == 0 else math.nan for s in (-1, 1) for k in range(4)} | {(0.0, 0): 0.0},
        derivatives=0),
    *pairs("numpy.hypot", jnp.hypot, r.hypot, None, derivatives=1, any=shuffled, moderate=moderate),
    *pairs("numpy.hypot", jnp.hypot, r.hypot, None, similar=similar),
    *pairs("numpy.logaddexp", jnp.logaddexp, log_add_exp, None, any=shuffled, similar=similar, moderate=moderate),
    *pairs("numpy.logaddexp2", jnp.logaddexp2,
           lambda x, y: log_add_exp(x * mp.log(2), y * mp.log(2)) / mp.log(2), None,
           any=shuffled, similar=similar, moderate=moderate),
    *pairs("numpy.remainder", jnp.remainder, remainder, remainder_in_second, (NO_VALUE, NO_QUOTIENT),
           moderate=moderate),
    *with_second("numpy.power", jnp.power, power, (2.0, -2.0, 3.0)),
    *with_second("numpy.power", jnp.power, power, (0.5, -0.5), domain=(0, INF)),
    *with_second("numpy.copysign", jnp.copysign, lambda x, y: abs(x) * mp.sign(y), (2.0, -2.0), kinks=(0.0,)),
    *with_second("numpy.fmod", jnp.fmod, rem, (0.75, -3.0), ends=NO_VALUE),
    *with_second("numpy.floor_divide", jnp.floor_divide,
                 lambda x, y: r.step(lambda x: mp.floor(x / y))(x), (0.75, -3.0),
                 derivatives=0, ends=NO_VALUE),
    *with_second("numpy.heaviside", jnp.heaviside, lambda x, y: r.step(lambda x: (mp.sign(x) + 1) / 2)(x), (0.5,)),
    *with_second("numpy.ldexp", lambda x, y: jnp.ldexp(x, int(y)), lambda x, y: x * mp.mpf(2) ** y,
                 (0, 5, -5, 100, -100, 300, -300, 2000, -2000)),
    *with_second("numpy.fmax", jnp.fmax, larger, (1.5,), of_nan=1.5, derivatives=0),
    *with_second("numpy.fmin", jnp.fmin, smaller, (1.5,), of_nan=1.5, derivatives=0),
]  # fmt: skip

# Rows of `nn`

OF_NN = [
    Row("nn.softplus", nn.softplus, r.softplus, near=(-709.0, -87.0, 37.0)),
    Row("nn.log_sigmoid", nn.log_sigmoid, lambda x: -r.softplus(-x), near=(709.0, 87.0, -37.0)),
    Row("nn.soft_sign", nn.soft_sign, lambda x: x / (1 + abs(x)), kinks=(0.0,)),
    Row("nn.silu", nn.silu, lambda x: x * r.logistic(x), near=(-709.0, -87.0)),
    Row("nn.mish", nn.mish, lambda x: x * r.tanh(r.softplus(x)), near=(-709.0, -87.0)),
    Row("nn.gelu", nn.gelu, gelu_by_tanh, near=(-5.0, -25.0, -18.0)),
    Row("nn.gelu(approximate=False)", lambda x: nn.gelu(x, approximate=False),
        lambda x: x * r.erfc(x * -mp.sqrt(0.5)) * 0.5, near=(-5.0, -13.0, -37.0)),
    Row("nn.squareplus", nn.squareplus, squareplus, near=(2.0, -2.0)),
    Row("nn.elu", nn.elu, elu, kinks=(0.0,)),
    Row("nn.selu", nn.selu, lambda x: elu(x, SELU_ALPHA) * mp.mpf(SELU_SCALE), kinks=(0.0,)),
    Row("nn.celu", lambda x: nn.celu(x, 2.0), lambda x: x if x.value > 0 else r.expm1(x / 2) * 2, kinks=(0.0,)),
    Row("nn.log1mexp", nn.log1mexp, log1mexp, domain=(0, INF), near=(math.log(2), 700.0, 87.0)),
    Row("nn.relu", nn.relu, pieces((0, zero), otherwise=same), kinks=(0.0,)),
    Row("nn.relu6", nn.relu6, pieces((0, zero), (6, same), otherwise=lambda x: r.constant(6, x)), kinks=(0.0, 6.0)),
    Row("nn.leaky_relu", lambda x: nn.leaky_relu(x, 0.25), pieces((0, lambda x: x * 0.25), otherwise=same),
        kinks=(0.0,)),
    Row("nn.hard_sigmoid", nn.hard_sigmoid, pieces((-3, zero), (3, lambda x: (x + 3) / 6), otherwise=one),
        near=(-3.0, 3.0), kinks=(-3.0, 3.0)),
    Row("nn.hard_silu", nn.hard_silu, pieces((-3, zero), (3, lambda x: x * (x + 3) / 6), otherwise=same),
        near=(-3.0, 3.0), kinks=(-3.0, 3.0)),
    Row("nn.hard_tanh", nn.hard_tanh, pieces((-1, lambda x: r.constant(-1, x)), (1, same), otherwise=one),
        near=(-1.0, 1.0), kinks=(-1.0, 1.0)),
    Row("nn.sparse_plus", nn.sparse_plus, pieces((-1, zero), (1, lambda x: (x + 1) ** 2 / 4), otherwise=same),
        near=(-1.0, 1.0), kinks=(-1.0, 1.0)),
    Row("nn.sparse_sigmoid", nn.sparse_sigmoid, pieces((-1, zero), (1, lambda x: (x + 1) / 2), otherwise=one),
        near=(-1.0, 1.0), kinks=(-1.0, 1.0)),
]  # fmt: skip

ROWS = [*ONE_OPERAND, *OF_POWERS, *TWO_OPERANDS, *OF_NUMPY, *OF_NN]

# Functions without a row of their own

SAME = {
    "numpy.abs": "lax.abs",
    "numpy.absolute": "lax.abs",
    "numpy.acos": "lax.acos",
    "numpy.acosh": "lax.acosh",
    "numpy.add": "lax.add",
    "numpy.arccos": "lax.acos",
    "numpy.arccosh": "lax.acosh",
    "numpy.arcsin": "lax.asin",
    "numpy.arcsinh": "lax.asinh",
    "numpy.arctan": "lax.atan",
    "numpy.arctan2": "lax.atan2",
    "numpy.arctanh": "lax.atanh",
    "numpy.around": "numpy.rint",
    "numpy.asin": "lax.asin",
    "numpy.asinh": "lax.asinh",
    "numpy.atan": "lax.atan",
    "numpy.atan2": "lax.atan2",
    "numpy.atanh": "lax.atanh",
    "numpy.cbrt": "lax.cbrt",
    "numpy.ceil": "lax.ceil",
    "numpy.clip": "lax.max",
    "numpy.cos": "lax.cos",
    "numpy.cosh": "lax.cosh",
    "numpy.deg2rad": "numpy.radians",
    "numpy.divide": "lax.div",
    "numpy.exp": "lax.exp",
    "numpy.exp2": "lax.exp2",
    "numpy.expm1": "lax.expm1",
    "numpy.fabs": "lax.abs",
    "numpy.fix": "numpy.trunc",
    "numpy.floor": "lax.floor",
    "numpy.log": "lax.log",
    "numpy.log1p": "lax.log1p",
    "numpy.maximum": "lax.max",
    "numpy.minimum": "lax.min",
    "numpy.mod": "numpy.remainder",
    "numpy.multiply": "lax.mul",
    "numpy.negative": "lax.neg",
    "numpy.pow": "numpy.power",
    "numpy.rad2deg": "numpy.degrees",
    "numpy.round": "numpy.rint",
    "numpy.sign": "lax.sign",
    "numpy.sin": "lax.sin",
    "numpy.sinh": "lax.sinh",
    "numpy.sqrt": "lax.sqrt",
    "numpy.square": "lax.square",
    "numpy.subtract": "lax.sub",
    "numpy.tan": "lax.tan",
    "numpy.tanh": "lax.tanh",
    "numpy.true_divide": "lax.div",
    "nn.hard_swish": "nn.hard_silu",
    "nn.sigmoid": "lax.logistic",
    "nn.swish": "nn.silu",
    "nn.tanh": "lax.tanh",
}
OPERANDS = {
    "numpy.add": 2,
    "numpy.arctan2": 2,
    "numpy.atan2": 2,
    "numpy.clip": 2,
    "numpy.divide": 2,
    "numpy.maximum": 2,
    "numpy.minimum": 2,
    "numpy.mod": 2,
    "numpy.multiply": 2,
    "numpy.pow": 2,
    "numpy.subtract": 2,
    "numpy.true_divide": 2,
}
MOVING = [
    "lax.DotDimensionNumbers", "lax.PaddingConfig", "lax.Precisions", "lax.broadcast_like", "lax.discard",
    "lax.ones_like", "lax.stack", "lax.optimization_barrier", "lax.stop_gradient", "lax.unstack", "lax.zeros_like",
    "lax.real", "lax.imag", "lax.conj", "numpy.array", "numpy.asarray", "numpy.atleast_1d", "numpy.block",
    "numpy.compress", "numpy.conj", "numpy.conjugate", "numpy.copy", "numpy.extract", "numpy.from_dlpack",
    "numpy.full_like", "numpy.histogram_bin_edges", "numpy.hstack", "numpy.imag", "numpy.ones_like",
    "numpy.permute_dims", "numpy.positive", "numpy.ravel", "numpy.real", "numpy.roll", "numpy.squeeze", "numpy.stack",
    "numpy.transpose", "numpy.trim_zeros", "numpy.unstack", "numpy.zeros_like", "nn.identity",
]  # fmt: skip
OF_BITS = [
    "lax.nextafter", "numpy.nextafter", "numpy.spacing", "numpy.isfinite", "numpy.isinf", "numpy.isnan",
    "numpy.isneginf", "numpy.isposinf", "numpy.logical_not", "numpy.signbit", "numpy.angle", "numpy.nan_to_num",
]  # fmt: skip
OF_SERIES = ["numpy.polyadd", "numpy.polysub", "numpy.unwrap", "lax.add_any"]
SPECIAL = [
    "lax.bessel_i0e", "lax.bessel_i1e", "lax.digamma", "lax.lgamma", "lax.igamma", "lax.igammac", "lax.polygamma",
    "lax.zeta", "numpy.i0",
]  # fmt: skip
WITHOUT_ROW = (
    dict.fromkeys(MOVING, "moves numbers and computes none")
    | dict.fromkeys(OF_BITS, "asks for the kind of a number, or for its neighbour: exact, and tested with the dtypes")
    | dict.fromkeys(OF_SERIES, "sums of operands, as lax.add")
    | {"numpy.float_power": "numpy.power in double precision"}
    | dict.fromkeys(SPECIAL, "asked as functions of scipy.special, which compute with it")
)
