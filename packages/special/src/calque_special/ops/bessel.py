"""The modified Bessel functions of the first kind, of order 0 and 1, times exp(-|x|).

They are power series below 8, whose terms are positive (DLMF 10.25.2), and polynomials in 1 / x above.

They are elementwise primitives, and each is a formula in other operations (`calque_core.engine.declare_formula`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import declare_formula, evaluate_together, polynomial
from calque_core.extend import real_operands
from calque_core.lax import abs, div, exp, ge, lt, max, min, mul, neg, rsqrt, select, square, sub
from calque_special.ops.bessel_regions import I0_SERIES, I0E_REGIONS, I1_SERIES, I1E_REGIONS
from calque_special.ops.coefficients import BESSEL_DECAY, BESSEL_DECAY_LARGE, BESSEL_I0_LARGE, BESSEL_I1_LARGE

Value = Any

_LARGE = 8.0
_MIDDLE = 2.0


def _near_series(size: Value, coefficients: Sequence[float]) -> Value:
    size = min(size, _LARGE)
    return mul(exp(neg(size)), polynomial(square(size), coefficients))


def _far_series(size: Value, coefficients: Sequence[float]) -> Value:
    size = max(size, _LARGE)
    return mul(polynomial(sub(div(16.0, size), 1.0), coefficients), rsqrt(size))


def _bessel_i0e_formula(x: Value) -> Value:
    size = abs(x)
    return select(lt(size, _LARGE), _near_series(size, I0_SERIES), _far_series(size, BESSEL_I0_LARGE))


def _bessel_i1e_formula(x: Value) -> Value:
    size = abs(x)
    far = _far_series(size, BESSEL_I1_LARGE)
    return select(lt(size, _LARGE), mul(x, _near_series(size, I1_SERIES)), select(lt(x, 0.0), neg(far), far))


def bessel_decay(x: Value) -> Value:
    """Return exp(-x) (I_0(x) - I_1(x)) for x >= 2, where the two functions cancel."""
    is_large = ge(x, _LARGE)  # no min or max: at a tie they would halve the derivative
    near = select(is_large, _LARGE, select(lt(x, _MIDDLE), _MIDDLE, x))
    middle = div(polynomial(div(sub(near, 5.0), 3.0), BESSEL_DECAY), square(near))
    far = select(is_large, x, _LARGE)
    large = mul(polynomial(sub(div(16.0, far), 1.0), BESSEL_DECAY_LARGE), div(rsqrt(far), far))
    return select(is_large, large, middle)


bessel_i0e_p = declare_formula("bessel_i0e", _bessel_i0e_formula, regions={(): I0E_REGIONS})
bessel_i1e_p = declare_formula("bessel_i1e", _bessel_i1e_formula, regions={(): I1E_REGIONS})
evaluate_together(bessel_i0e_p, bessel_i1e_p)


def bessel_i0e(x: Value) -> Value:
    """Return exp(-|x|) I_0(x), elementwise; I_0 is the modified Bessel function of order 0.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 8 ulp.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import bessel_i0e
    >>> bessel_i0e(np.array([0.0, 1.0, 1e6]))
    array([1.00000000e+00, 4.65759608e-01, 3.98942330e-04])
    """
    return bessel_i0e_p.bind(*real_operands("bessel_i0e", x))


def bessel_i1e(x: Value) -> Value:
    """Return exp(-|x|) I_1(x), elementwise; I_1 is the modified Bessel function of order 1, an odd function.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.  Accuracy: 8 ulp.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import bessel_i1e
    >>> bessel_i1e(np.array([0.0, 1.0, -1e6]))
    array([ 0.        ,  0.20791042, -0.00039894])
    """
    return bessel_i1e_p.bind(*real_operands("bessel_i1e", x))
