"""`calque.scipy.optimize.minimize` beside SciPy's; compiled and batched searches take the steps of evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import calque
from calque.scipy.optimize import minimize

METHODS = {"BFGS": "BFGS", "L-BFGS-B": "l-bfgs-experimental-do-not-rely-on-this"}
STARTS = np.array([[1.0, 1.0], [-3.0, 3.0], [-3.0, -3.0], [4.0, -1.0]])


def himmelblau(x, a=7.0):
    return (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - a) ** 2


def eggholder(x):
    return -(x[1] + 47) * np.sin(abs(x[0] / 2 + x[1] + 47) ** 0.5) - x[0] * np.sin(abs(x[0] - x[1] - 47) ** 0.5)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("fun", "start"), [(himmelblau, STARTS[0]), (eggholder, np.array([100.0, 100.0]))])
def test_minima_agree_with_scipy_in_about_as_many_calls(name, fun, start):
    ours = minimize(fun, start, method=METHODS[name])
    theirs = scipy.optimize.minimize(fun, start, jac=calque.grad(fun), method=name)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-5)
    assert ours.success
    assert ours.nfev <= theirs.nfev + 5


@pytest.mark.parametrize("method", METHODS.values())
def test_a_compiled_batch_of_searches_and_their_derivatives_equals_a_loop(method):
    def search(x, a):
        result = minimize(himmelblau, x, (a,), method=method)
        return result.fun + result.x.sum(), result._replace(hess_inv=None)

    gradient = calque.grad(search, argnums=1, has_aux=True)
    slopes, results = calque.jit(calque.vmap(gradient, in_axes=(0, None)))(STARTS, 7.0)
    for i, start in enumerate(STARTS):
        slope, result = gradient(start, 7.0)
        np.testing.assert_allclose(slopes[i], slope, rtol=1e-5)
        np.testing.assert_allclose(results.x[i], result.x, rtol=1e-6)
        assert (results.nit[i], results.status[i]) == (result.nit, result.status)
