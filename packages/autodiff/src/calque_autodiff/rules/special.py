"""The derivatives of the special functions."""

from __future__ import annotations

from math import pi, sqrt

from calque_autodiff.define import defjvp, not_linear
from calque_core.lax import erf_inv_p, erf_p, erfc_p, exp, logistic_p, mul, neg, square, sub

defjvp(logistic_p, lambda x_dot, out, x: mul(x_dot, mul(out, sub(1.0, out))))
defjvp(erf_p, lambda x_dot, out, x: mul(x_dot, mul(2 / sqrt(pi), exp(neg(square(x))))))
defjvp(erfc_p, lambda x_dot, out, x: mul(x_dot, mul(-2 / sqrt(pi), exp(neg(square(x))))))
defjvp(erf_inv_p, lambda x_dot, out, x: mul(x_dot, mul(sqrt(pi) / 2, exp(square(out)))))
not_linear(logistic_p, erf_p, erfc_p, erf_inv_p)
