"""Normal numbers.

One idea: the inverse of the normal distribution function at a uniform number.  The inverse error function here is
XLA's, with the same approximations step by step, instead of core's more accurate one: XLA loses up to 100 units in the
last place of float32 (2,500 of float64) in the tails, and a key must give the same numbers in evaluation and in
compiled programs.

Sources: M. Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2012), 109-116; for the
logarithm of float64, S. L. Moshier, Cephes Mathematical Library (1992), `log1p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi, sqrt
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.engine import declare_formula
from calque_core.engine.numpy_functions import dtype_argument
from calque_core.extend import real_dtype
from calque_numpy.random.arguments import check_key, check_shape, float_argument
from calque_numpy.random.floats import between, unit_uniform
from calque_numpy.random.generators import split_key
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any
Coefficients = tuple[float, ...]

_FLOAT32, _FLOAT64 = np.dtype("float32"), np.dtype("float64")

_SINGLE_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_SINGLE_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip
_DOUBLE_CENTRE = (
    -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18, 1.115787767802518096e-17,
    -1.333171662854620906e-16, 2.0972767875968561637e-17, 6.6376381343583238325e-15, -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352, -0.00074070253416626697512,
    -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
)  # fmt: skip
_DOUBLE_MIDDLE = (
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
    0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
)  # fmt: skip
_DOUBLE_TAIL = (
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
    7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
    2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
    7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221,
)  # fmt: skip
_LOG_NUMERATOR = (
    4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969, 2.9911919328553073277375e1,
    6.0949667980987787057556e1, 5.7112963590585538103336e1, 2.0039553499201281259648e1,
)  # fmt: skip
_LOG_DENOMINATOR = (
    1.0, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2, 3.0909872225312059774938e2,
    2.1642788614495947685003e2, 6.0118660497603843919306e1,
)  # fmt: skip


def normal(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the standard normal distribution; of a complex dtype, with a mean square modulus of 1.

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not a dtype of floats or complex
    numbers.

    >>> import numpy as np
    >>> from calque_numpy.random import key, normal
    >>> np.round(normal(key(42), (2,), np.float32), 4)
    array([-0.0283,  0.4671], dtype=float32)
    """
    key, sizes = check_key("normal", key), check_shape("normal", shape)
    if dtype is not None and dtype_argument(dtype).kind == "c":
        return _complex_normal(key, sizes, dtype_argument(dtype))
    return real_normal(key, sizes, float_argument("normal", dtype))


def real_normal(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Return numbers of the standard normal distribution; the arguments are checked already."""
    return normal_of(between(*normal_bounds(dtype), unit_uniform(key, shape, dtype)), dtype)


def _complex_normal(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    keys = split_key(key, (2,))
    real, imag = (real_normal(keys[i], shape, real_dtype(dtype)) for i in range(2))
    return lax.div(lax.complex(real, imag), dtype.type(sqrt(2)))


def normal_bounds(dtype: np.dtype[Any]) -> tuple[Value, Value]:
    """Return the bounds of the uniform numbers that become normal ones; -1 would give -inf."""
    one = dtype.type(1)
    return np.nextafter(-one, one), one


def normal_of(u: Value, dtype: np.dtype[Any]) -> Value:
    """Return uniform numbers in (-1, 1) as normal numbers."""
    return lax.mul(erf_inv(u), dtype.type(sqrt(2)))


# The inverse error function of XLA


def erf_inv_formula(x: Value) -> Value:
    dtype = typeof(x).dtype
    inside = _double_erf_inv(x) if dtype == _FLOAT64 else _single_erf_inv(x)
    return lax.select(lax.eq(lax.abs(x), dtype.type(1)), lax.mul(x, dtype.type(inf)), inside)


erf_inv_p = declare_formula("xla_erf_inv", erf_inv_formula)


def erf_inv(x: Value) -> Value:
    """Return the inverse error function as XLA approximates it.  Shapes: x [*s] -> [*s]."""
    return erf_inv_p.bind(x)


def erf_inv_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
    """Return the inverse and its tangent: the slope is 1 / erf'(y) = sqrt(pi) / 2 exp(y**2)."""
    (x,), (x_dot,) = primals, tangents
    out = erf_inv(x)
    return out, lax.mul(x_dot, lax.mul(sqrt(pi) / 2, lax.exp(lax.square(out))))


erf_inv_p.def_rule("jvp", erf_inv_jvp)


def _single_erf_inv(x: Value) -> Value:
    w = lax.neg(lax.log1p(lax.mul(x, lax.neg(x))))
    centre = _polynomial(_SINGLE_CENTRE, lax.sub(w, 2.5), _FLOAT32)
    tail = _polynomial(_SINGLE_TAIL, lax.sub(lax.sqrt(w), 3.0), _FLOAT32)
    return lax.mul(lax.select(lax.lt(w, 5.0), centre, tail), x)


def _double_erf_inv(x: Value) -> Value:
    w = lax.neg(_double_log1p(lax.mul(x, lax.neg(x))))
    root = lax.sqrt(w)
    centre = _polynomial(_DOUBLE_CENTRE, lax.sub(w, 3.125), _FLOAT64)
    middle = _polynomial(_DOUBLE_MIDDLE, lax.sub(root, 3.25), _FLOAT64)
    tail = _polynomial(_DOUBLE_TAIL, lax.sub(root, 5.0), _FLOAT64)
    outer = lax.select(lax.lt(w, 16.0), middle, tail)
    return lax.mul(lax.select(lax.lt(w, 6.25), centre, outer), x)


def _double_log1p(x: Value) -> Value:
    square = lax.mul(x, x)
    numerator, denominator = _polynomial(_LOG_NUMERATOR, x, _FLOAT64), _polynomial(_LOG_DENOMINATOR, x, _FLOAT64)
    correction = lax.sub(lax.mul(x, lax.div(lax.mul(square, numerator), denominator)), lax.mul(square, 0.5))
    is_near = lax.lt(lax.abs(x), sqrt(2) - 1)
    return lax.select(is_near, lax.add(x, correction), lax.log(lax.add(x, 1.0)))


def _polynomial(coefficients: Coefficients, x: Value, dtype: np.dtype[Any]) -> Value:
    """Return the polynomial with these coefficients, from the highest power down, by Horner's rule."""
    first, second, *lower = (dtype.type(c) for c in coefficients)
    out = lax.add(lax.mul(x, first), second)
    for coefficient in lower:
        out = lax.add(lax.mul(out, x), coefficient)
    return out
