"""`minimize`: minima of known functions, the end of a search, derivatives by differences, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calque
from calque.scipy.optimize import minimize

METHODS = ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"]


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def bowl(x, a):
    return np.sum((x - a) ** 4 + (x * a) ** 2)


# Near the minimum, rounding moves a gradient in single precision by 1e-4.
@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-3), (np.float64, None)])
@pytest.mark.parametrize("method", METHODS)
def test_the_minimum_of_rosenbrocks_function_is_found(method, dtype, tol):
    result = minimize(rosenbrock, np.zeros(5, dtype), method=method, options={} if tol is None else {"gtol": tol})
    assert result.success
    assert result.x.dtype == result.jac.dtype == dtype
    np.testing.assert_allclose(result.x, np.ones(5), atol=1e-2 if tol else 1e-3)
    np.testing.assert_allclose(result.fun, rosenbrock(result.x))
    assert result.nit <= result.nfev == result.njev < 100


@pytest.mark.parametrize("method", METHODS)
def test_without_steps_the_start_is_the_result(method):
    result = minimize(rosenbrock, np.zeros(5), method=method, options={"maxiter": 0})
    assert (result.nit, result.nfev, result.status, bool(result.success)) == (0, 1, 1, False)
    np.testing.assert_array_equal(result.x, np.zeros(5))


def test_the_inverse_hessian_of_a_quadratic_form_is_found():
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    result = minimize(lambda x: 0.5 * x @ A @ x - x[0], np.zeros(2), method="bfgs", options={"gtol": 1e-9})
    np.testing.assert_allclose(result.hess_inv, np.linalg.inv(A), rtol=1e-5)


def test_a_search_that_cannot_end_says_why():
    assert minimize(rosenbrock, np.zeros(5), method="BFGS", options={"maxiter": 3})[1:3] == (False, 1)
    assert minimize(lambda x: np.sum(x) * np.nan, np.ones(2), method="BFGS")[1:3] == (False, 3)
    options = {"ftol": 0.1, "norm": 2}
    assert minimize(rosenbrock, np.zeros(5), method=METHODS[1], options=options)[1:3] == (True, 4)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_the_minimum_agree_with_differences(method):
    found = lambda a: minimize(bowl, np.zeros(2), (a,), method=method, tol=1e-12)
    a, h = np.array([1.0, 2.0]), 1e-4
    both = [(found(a + h * e), found(a - h * e)) for e in np.eye(2)]
    want = np.stack([(up.x - down.x) / (2 * h) for up, down in both], 1)
    for jacobian in (calque.jacfwd(lambda a: found(a).x)(a), calque.jacrev(lambda a: found(a).x)(a)):
        np.testing.assert_allclose(jacobian, want, atol=1e-6)
    slopes = [(up.fun - down.fun) / (2 * h) for up, down in both]
    np.testing.assert_allclose(calque.grad(lambda a: found(a).fun)(a), slopes, atol=1e-6)


REFUSED = {
    "x0 is float64[2,1]. Give a vector; ravel_pytree": lambda: minimize(rosenbrock, np.ones((2, 1)), method="BFGS"),
    "minimize of complex128[2]": lambda: minimize(rosenbrock, np.ones(2) * 1j, method="BFGS"),
    "args is 1.0. Give a tuple": lambda: minimize(bowl, np.ones(2), 1.0, method="BFGS"),
    "has no method 'CG'. Use one of 'bfgs', 'l-bfgs": lambda: minimize(rosenbrock, np.ones(2), method="CG"),
    "BFGS has no option 'ftol'. Its options are maxiter, gtol": lambda: minimize(
        rosenbrock, np.ones(2), method="BFGS", options={"ftol": 1.0}
    ),
    "scalar": lambda: minimize(lambda x: x, np.ones(2), method="BFGS"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_names_the_values_and_the_way_out(words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        REFUSED[words]()
