"""Special functions, each with the numerical method that evaluates it.

They are elementwise primitives as in `arithmetic.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core.known.run import def_joint_evaluation
from calque_core.ops import formulas
from calque_core.ops.approximate import declare_formula, polynomial
from calque_core.ops.arithmetic import abs, add, div, max, min, mul, neg, square, sub
from calque_core.ops.coefficients import SCALED_ERFC
from calque_core.ops.compare import eq, le, lt, select
from calque_core.ops.declare import FLOAT, REAL_OR_COMPLEX, declare, insist
from calque_core.ops.error_regions import ERF_REGIONS, ERF_SERIES, ERFC_REGIONS
from calque_core.ops.exponential import complex_logistic_slope, exp, log, sqrt
from calque_core.ops.operands import floating
from calque_core.ops.rounding import floor
from calque_core.types.avals import typeof

Value = Any


def logistic_impl(x: Value) -> Value:
    """Return 1 / (1 + exp(-x)); no exponential is taken where it can overflow."""
    return _complex_logistic(x) if np.iscomplexobj(x) else _logistic_beside(_decay(x), x)


def _complex_logistic(x: Value) -> Value:
    is_positive = np.real(x) >= 0
    z = np.exp(np.where(is_positive, np.negative(x), x))
    one = np.ones_like(z)
    return _on_its_side(np.where(is_positive, one, z) / (one + z), x)


def _on_its_side(out: Value, x: Value) -> Value:
    """Return a function of complex x, real on the real axis, on the same side of it as x: a quotient loses -0.0."""
    out = np.array(out)
    out.imag = np.where(np.imag(x) == 0, np.imag(x), out.imag)
    return out[()]


def _decay(x: Value) -> Value:
    """Return exp(-|x|), a new array."""
    z = np.abs(x)
    place = z if z.ndim else None
    return np.exp(np.negative(z, out=place), out=place)


def _logistic_beside(decay: Value, x: Value) -> Value:
    """Return exp(min(x, 0)) / (1 + exp(-|x|)): the numerator is 1 or the decay."""
    number = decay.dtype.type  # NumPy 2.0 computes short floats beside a Python int in float32
    out = np.minimum(x, number(0))
    out = np.exp(out, out=out if out.ndim else None)
    out /= decay + number(1)
    return out


logistic_p = declare("logistic", REAL_OR_COMPLEX, logistic_impl)


def logistic(x: Value) -> Value:
    """Return 1 / (1 + exp(-x)), elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import logistic
    >>> logistic(0.0)
    np.float64(0.5)
    """
    return logistic_p.bind(floating(x))


def logistic_slope_impl(x: Value) -> Value:
    """Return exp(-|x|) / (1 + exp(-|x|))**2; of complex numbers, the exponential of -x or x that does not overflow."""
    if np.iscomplexobj(x):
        return formulas.complex_logistic_slope(x)
    return _slope_from(_decay(x))


def _slope_from(decay: Value) -> Value:
    """Return the derivative from exp(-|x|), whose array it overwrites."""
    denominator = decay + decay.dtype.type(1)
    denominator *= denominator
    decay /= denominator
    return decay


def _logistic_with_slope(x: Value) -> tuple[Value, Value]:
    if np.iscomplexobj(x):
        return logistic_impl(x), logistic_slope_impl(x)
    decay = _decay(x)
    return _logistic_beside(decay, x), _slope_from(decay)


def logistic_slope_decomposition(x: Value) -> Value:
    """Return exp(-|x|) max(y, 1 - y)**2: no term cancels, and a compiled program has computed y already."""
    if typeof(x).kind == "c":
        return complex_logistic_slope(x)
    y = logistic(x)
    return mul(exp(neg(abs(x))), square(max(y, sub(1.0, y))))


logistic_slope_p = declare("logistic_slope", REAL_OR_COMPLEX, logistic_slope_impl)
logistic_slope_p.def_rule("decomposition", logistic_slope_decomposition)
def_joint_evaluation(logistic_p, logistic_slope_p, _logistic_with_slope)


def logistic_slope(x: Value) -> Value:
    """Return the derivative of the logistic function, logistic(x) logistic(-x), elementwise.

    It has all digits where logistic(x) is rounded to 1, and so have its derivatives.
    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import logistic_slope
    >>> logistic_slope(0.0)
    np.float64(0.25)
    """
    return logistic_slope_p.bind(floating(x))


# The error functions.  Source of the series of erfc: Shepherd & Laframboise (1981), Chebyshev approximation of
# (1 + 2x) exp(x**2) erfc(x) in 0 <= x < inf, Mathematics of Computation 36, 249-253.


def scaled_erfc(x: Value) -> Value:
    """Return exp(x**2) erfc(x) for x >= 0."""
    near = min(x, _LARGEST)
    return div(polynomial(div(sub(near, 3.75), add(near, 3.75)), SCALED_ERFC), add(1.0, mul(2.0, x)))


def _upper_tail(x: Value) -> Value:
    """Return erfc(x) for x >= 0; exp(-x**2) is split where x is a multiple of 1/16, so that its square is exact."""
    x = min(x, _UNDERFLOW)
    near = mul(floor(mul(x, 16.0)), 1 / 16)
    return mul(mul(exp(neg(square(near))), scaled_erfc(x)), exp(neg(mul(sub(x, near), add(x, near)))))


_UNDERFLOW = 100.0  # erfc(x) is 0 long before
_LARGEST = 1e30  # the series is constant long before


def _erf_near_zero(x: Value) -> Value:
    """Return erf(x) for |x| < 0.75 by its power series (DLMF 7.6.1)."""
    return mul(x, polynomial(square(min(abs(x), 1.0)), ERF_SERIES))


def _erf_formula(x: Value) -> Value:
    far = sub(1.0, _upper_tail(abs(x)))
    return select(lt(abs(x), 0.75), _erf_near_zero(x), select(lt(x, 0.0), neg(far), far))


def _erfc_formula(x: Value) -> Value:
    tail = _upper_tail(abs(x))
    far = select(lt(x, 0.0), sub(2.0, tail), tail)
    return select(lt(abs(x), 0.5), sub(1.0, _erf_near_zero(x)), far)


erf_p = declare_formula("erf", _erf_formula, of_numbers=math.erf, regions={(): ERF_REGIONS})
erfc_p = declare_formula("erfc", _erfc_formula, of_numbers=math.erfc, regions={(): ERFC_REGIONS})


def erf(x: Value) -> Value:
    """Return the error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 4 ulp.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import erf
    >>> erf(np.array([0.0, 0.5, np.inf]))
    array([0.        , 0.52049988, 1.        ])
    """
    return erf_p.bind(*insist("erf", FLOAT, floating(x)))


def erfc(x: Value) -> Value:
    """Return 1 - erf(x) without cancellation for large x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 8 ulp.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import erfc
    >>> erfc(np.array([-np.inf, 0.0, 10.0]))
    array([2.00000000e+00, 1.00000000e+00, 2.08848758e-45])
    """
    return erfc_p.bind(*insist("erfc", FLOAT, floating(x)))


# erf_inv.  Source: M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied
# Statistics 37 (1988), 477-484, routine PPND16, about 1e-16 relative.  As erf_inv(x) = ppnd((1 + x) / 2) / sqrt(2),
# its centred argument q is x / 2 and its tail (1 - |x|) / 2, both exact where they are used: nothing cancels.

_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
_MIDDLE = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(r: Value, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Value:
    """Return the quotient of two polynomials in r, by Horner's rule."""
    numerator, denominator = coefficients
    return div(polynomial(r, numerator), polynomial(r, denominator))


def normal_quantile(q: Value, tail: Value) -> Value:
    """Return the x with a normal distribution function of 1/2 + q, where `tail` is 1/2 - |q|, without its rounding."""
    r = sqrt(neg(log(tail)))
    size = select(le(r, 5.0), _ratio(sub(r, 1.6), _MIDDLE), _ratio(sub(r, 5.0), _TAIL))
    centre = mul(q, _ratio(sub(0.180625, mul(q, q)), _CENTRE))
    return select(le(abs(q), 0.425), centre, select(lt(q, 0.0), neg(size), size))


def _erf_inv_formula(x: Value) -> Value:
    q, size = mul(0.5, x), abs(x)
    tail = select(lt(size, 1.0), mul(0.5, sub(1.0, size)), 0.25)
    inside = mul(normal_quantile(q, tail), math.sqrt(0.5))
    return select(lt(size, 1.0), inside, select(eq(size, 1.0), mul(x, math.inf), math.nan))


erf_inv_p = declare_formula("erf_inv", _erf_inv_formula)


def erf_inv(x: Value) -> Value:
    """Return the inverse of the error function, elementwise: +-inf at +-1, NaN outside [-1, 1].

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    Raises: TypeError for complex numbers.

    >>> from calque_core.lax import erf_inv
    >>> erf_inv(0.5)
    np.float64(0.4769362762044699)
    """
    return erf_inv_p.bind(*insist("erf_inv", FLOAT, floating(x)))
