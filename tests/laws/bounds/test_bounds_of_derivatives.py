"""Bounds of the derivatives of other packages, and derivatives of bounds."""

from __future__ import annotations

import numpy as np
import pytest
from exact_programs import exactly
from mpmath import mp

from calque_autodiff import grad, jvp
from calque_bounds import bounds
from calque_core import lax
from calque_jet import jet
from calque_xla_backend import jit

FUNCTIONS = {
    "exp of sin": lambda x: lax.exp(lax.sin(x)),
    "quotient": lambda x: lax.tanh(x) / (1.0 + x * x),
    "logarithm": lambda x: lax.log(x) * lax.sqrt(x),
    "power": lambda x: lax.pow(x, 2.5) - lax.integer_pow(x, 3),
    "call": jit(lambda x: lax.erf(x) * lax.atan(x)),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, y: lax.cos(y * x), x),
}
DERIVATIVES = {
    "grad": grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "jet": lambda f: lambda x: jet(f, (x,), ([1.0],))[1][0],
    "grad of jit": lambda f: grad(jit(f)),
}


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_derivative_lies_outside(name, derivative):
    f, (lower, upper) = FUNCTIONS[name], (0.8, 0.9)
    low, high = bounds(DERIVATIVES[derivative](f))(lower, upper)
    for x in np.linspace(lower, upper, 5):
        with mp.workprec(300):
            step = mp.mpf(2) ** -100
            ends = [exactly(lambda d, x=x: f(x + d), np.float64(s * 2.0**-100)) for s in (-1, 1)]
            right = (ends[1].item() - ends[0].item()) / (2 * step)
        assert mp.mpf(float(low)) <= right <= mp.mpf(float(high))
    assert high - low < 20.0


@pytest.mark.parametrize("degree", [0, 2])
def test_a_bound_has_a_derivative(degree):
    upper = lambda end: bounds(lambda x: lax.exp(x) * x, degree)(0.5, end)[1]
    differences = (upper(1.0 + 1e-6) - upper(1.0 - 1e-6)) / 2e-6
    np.testing.assert_allclose(grad(upper)(1.0), differences, rtol=1e-6)
    np.testing.assert_allclose(jit(grad(upper))(1.0), differences, rtol=1e-6)


@pytest.mark.parametrize("constant", [5e-324, -1e-310, 1e-308])
def test_a_subnormal_number_is_no_zero_in_a_compiled_program(constant):
    low, high = jit(lambda c: bounds(lambda x: x * c * 1e300)(1.0, 2.0))(np.float64(constant))
    for x in (1.0, 2.0):
        with mp.workprec(300):
            right = mp.mpf(x) * mp.mpf(constant) * mp.mpf(1e300)
        assert mp.mpf(float(low)) <= right <= mp.mpf(float(high))
