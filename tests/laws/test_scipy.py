"""A jitted function and its jitted gradient, given to SciPy's optimizers, solvers and integrators as they are.

Each takes what the compiled functions return: device arrays.  The problems are small, and their answers known.
"""

import contextlib

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import calque
from calque_core import current_trace, evaluation

START = np.array([-1.2, 1.0])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


f = calque.jit(rosenbrock)
jac = calque.jit(calque.grad(rosenbrock))
hess = calque.jit(calque.hessian(rosenbrock))
hessp = calque.jit(lambda x, p: calque.jvp(calque.grad(rosenbrock), (x,), (p,))[1])
f_and_jac = calque.jit(calque.value_and_grad(rosenbrock))

BY_GRADIENT = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"]
BY_HESSIAN = ["Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"]
BY_VALUE = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"]


@pytest.mark.parametrize("method", BY_GRADIENT)
def test_minimize_takes_a_function_and_its_gradient(method):
    result = scipy.optimize.minimize(f, START, jac=jac, method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-2)


@pytest.mark.parametrize("method", BY_HESSIAN)
def test_minimize_takes_a_hessian(method):
    result = scipy.optimize.minimize(f, START, jac=jac, hess=hess, method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_minimize_takes_products_with_the_hessian(method):
    result = scipy.optimize.minimize(f, START, jac=jac, hessp=hessp, method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", BY_VALUE)
def test_minimize_takes_a_function_alone(method):
    result = scipy.optimize.minimize(calque.jit(lambda x: np.sum((x - 1.0) ** 2)), START, method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)


def test_minimize_takes_value_and_gradient_in_one():
    result = scipy.optimize.minimize(f_and_jac, START, jac=True)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-4)


def test_minimize_takes_constraints_with_gradients():
    circle = calque.jit(lambda x: 1.0 - np.sum(x**2))
    constraint = {"type": "ineq", "fun": circle, "jac": calque.jit(calque.grad(circle))}
    result = scipy.optimize.minimize(f, [0.5, 0.5], jac=jac, method="SLSQP", constraints=constraint)
    np.testing.assert_allclose(result.x, [0.7864, 0.6177], atol=1e-3)


def test_check_grad_finds_the_gradient_right():
    assert scipy.optimize.check_grad(f, jac, START) < 1e-3


@pytest.mark.parametrize("method", ["brent", "golden", "bounded"])
def test_minimize_scalar(method):
    bounds = (-5.0, 5.0) if method == "bounded" else None
    result = scipy.optimize.minimize_scalar(calque.jit(lambda x: (x - 2.0) ** 2), method=method, bounds=bounds)
    np.testing.assert_allclose(result.x, 2.0, rtol=1e-6)


GLOBAL = {
    "basinhopping": lambda: scipy.optimize.basinhopping(
        f, START, niter=2, minimizer_kwargs={"jac": jac, "method": "BFGS"}, rng=0
    ),
    "differential_evolution": lambda: scipy.optimize.differential_evolution(f, [(-2, 2)] * 2, rng=0, maxiter=60),
    "dual_annealing": lambda: scipy.optimize.dual_annealing(f, [(-2, 2)] * 2, rng=0, maxiter=50),
    "shgo": lambda: scipy.optimize.shgo(f, [(-2, 2)] * 2, options={"jac": jac}),
    "direct": lambda: scipy.optimize.direct(f, [(-2, 2.5)] * 2, maxfun=4000),
}


@pytest.mark.parametrize("search", GLOBAL.values(), ids=GLOBAL)
def test_searches_for_a_global_minimum(search):
    np.testing.assert_allclose(search().x, 1.0, atol=2e-2)


# Fits and equations

TIMES = np.linspace(0.0, 2.0, 9)
DATA = 2.5 * np.exp(-1.3 * TIMES)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method):
    residuals = calque.jit(lambda p: p[0] * np.exp(-p[1] * TIMES) - DATA)
    result = scipy.optimize.least_squares(
        residuals, [1.0, 1.0], jac=calque.jit(calque.jacfwd(residuals)), method=method
    )
    np.testing.assert_allclose(result.x, [2.5, 1.3], rtol=1e-6)


def test_leastsq_of_minpack():
    residuals = calque.jit(lambda p: p[0] * np.exp(-p[1] * TIMES) - DATA)
    fitted, _ = scipy.optimize.leastsq(residuals, [1.0, 1.0], Dfun=calque.jit(calque.jacfwd(residuals)))
    np.testing.assert_allclose(fitted, [2.5, 1.3], rtol=1e-6)


def test_curve_fit():
    def model(t, a, b):
        return a * np.exp(-b * t)

    jacobian = calque.jit(lambda t, a, b: np.stack(calque.jacfwd(model, argnums=(1, 2))(t, a, b), 1))
    fitted, covariance = scipy.optimize.curve_fit(calque.jit(model), TIMES, DATA, p0=[1.0, 1.0], jac=jacobian)
    np.testing.assert_allclose(fitted, [2.5, 1.3], rtol=1e-6)
    assert covariance.shape == (2, 2)


@calque.jit
def equations(x):
    return np.stack([x[0] + 2.0 * x[1] - 2.0, x[0] ** 2 + 4.0 * x[1] ** 2 - 4.0])


equations_jac = calque.jit(calque.jacrev(equations))


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_root(method):
    derivative = equations_jac if method in ("hybr", "lm") else None
    result = scipy.optimize.root(equations, [1.5, 0.5], jac=derivative, method=method)
    np.testing.assert_allclose(equations(result.x), 0.0, atol=1e-5)


def test_fsolve():
    np.testing.assert_allclose(
        equations(scipy.optimize.fsolve(equations, [1.5, 0.5], fprime=equations_jac)), 0, atol=1e-9
    )


def cubic(x):
    return x**3 - 2.0


@pytest.mark.parametrize("method", ["brentq", "bisect", "secant", "newton", "halley"])
def test_root_scalar(method):
    first, second = calque.grad(cubic), calque.grad(calque.grad(cubic))
    options = {
        "brentq": {"bracket": (0.0, 2.0)},
        "bisect": {"bracket": (0.0, 2.0)},
        "secant": {"x0": 1.0, "x1": 2.0},
        "newton": {"x0": 1.0, "fprime": calque.jit(first)},
        "halley": {"x0": 1.0, "fprime": calque.jit(first), "fprime2": calque.jit(second)},
    }[method]
    result = scipy.optimize.root_scalar(calque.jit(cubic), method=method, **options)
    np.testing.assert_allclose(result.root, 2.0 ** (1 / 3), rtol=1e-9)


def test_newton_of_an_array():
    out = scipy.optimize.newton(calque.jit(lambda x: x**2 - np.array([2.0, 3.0])), np.array([1.0, 1.0]))
    np.testing.assert_allclose(out, np.sqrt([2.0, 3.0]), rtol=1e-9)


def test_fixed_point():
    """SciPy assigns to elements of the result, since it takes all arrays with a namespace for writable."""
    cosine = calque.jit(lambda x: np.cos(x))
    with pytest.raises(TypeError, match=r"cannot be changed in place.*numpy\.array\(x\)"):
        scipy.optimize.fixed_point(cosine, 0.5)
    out = scipy.optimize.fixed_point(lambda x: np.array(cosine(x)), 0.5)
    np.testing.assert_allclose(out, 0.7390851332151607)


# Differential equations and integrals


def energy(y):
    return np.sum(y**2) / 2 + np.sum(y**4) / 4


flow = calque.jit(lambda t, y: -calque.grad(energy)(y))
flow_jac = calque.jit(lambda t, y: -calque.hessian(energy)(y))


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp(method):
    derivative = {"jac": flow_jac} if method in ("Radau", "BDF", "LSODA") else {}
    y0 = np.array([1.0, -0.5])
    result = scipy.integrate.solve_ivp(flow, (0.0, 1.0), y0, method=method, rtol=1e-6, atol=1e-9, **derivative)
    decay = np.exp(-2.0)
    np.testing.assert_allclose(result.y[:, -1] ** 2, y0**2 * decay / (1 + y0**2 * (1 - decay)), rtol=1e-3)


def test_solve_ivp_takes_a_jitted_event():
    event = calque.jit(lambda t, y: y[0] - 0.5)
    result = scipy.integrate.solve_ivp(flow, (0.0, 2.0), [1.0, 0.5], events=lambda t, y: event(t, y))
    assert result.t_events[0].size == 1


def test_odeint():
    out = scipy.integrate.odeint(flow, [1.0, -0.5], [0.0, 1.0], Dfun=flow_jac, tfirst=True)
    decay = np.exp(-2.0)
    np.testing.assert_allclose(out[-1, 0] ** 2, decay / (2 - decay), rtol=1e-5)


def test_the_classes_of_fortran_s_integrators():
    for name in ("vode", "lsoda", "dopri5", "dop853"):
        solver = scipy.integrate.ode(flow).set_integrator(name).set_initial_value([1.0, -0.5], 0.0)
        np.testing.assert_allclose(solver.integrate(1.0)[0] ** 2, np.exp(-2.0) / (2 - np.exp(-2.0)), rtol=1e-3)


def test_quad():
    out, error = scipy.integrate.quad(calque.jit(lambda x: np.exp(-(x**2))), -np.inf, np.inf)
    np.testing.assert_allclose(out, np.sqrt(np.pi), rtol=1e-9)
    assert error < 1e-6


def test_dblquad_and_quad_vec():
    out, _ = scipy.integrate.dblquad(calque.jit(lambda y, x: x * y), 0.0, 1.0, 0.0, 1.0, epsabs=1e-4)
    np.testing.assert_allclose(out, 0.25, rtol=1e-6)
    vector, _ = scipy.integrate.quad_vec(calque.jit(lambda x: x ** np.array([1.0, 2.0])), 0.0, 1.0)
    np.testing.assert_allclose(vector, [1 / 2, 1 / 3], rtol=1e-9)


def test_a_boundary_value_problem():
    fun = calque.jit(lambda x, y: np.stack([y[1], -y[0]]))
    boundary = calque.jit(lambda ya, yb: np.stack([ya[0], yb[0] - 1.0]))
    x = np.linspace(0.0, np.pi / 2, 5)
    result = scipy.integrate.solve_bvp(fun, boundary, x, np.zeros((2, 5)))
    np.testing.assert_allclose(result.sol(np.pi / 4)[0], np.sin(np.pi / 4), atol=1e-3)


# Traced values


def test_a_function_that_computes_with_python_numbers_is_named_with_the_ways_out():
    area = lambda a: scipy.integrate.quad(lambda x: a * x, 0.0, 1.0)[0]
    words = r"float\(\) was asked of .*\. scipy\.integrate\.quad computes with Python's numbers\. .*pure_callback\."
    with pytest.raises(TypeError, match=words):
        calque.grad(area)(2.0)


def test_a_solver_that_raises_its_own_error_has_ours_as_the_cause():
    least = lambda a: scipy.optimize.minimize(lambda x: a * x[0] ** 2, np.ones(1)).fun
    with pytest.raises(ValueError, match="objective function must return a scalar") as caught:
        calque.grad(least)(2.0)
    assert "scipy.optimize.minimize makes NumPy's arrays of its arguments" in str(caught.value.__cause__)


def test_a_solver_in_c_that_goes_on_after_an_error_leaves_nothing_behind():
    """
    SciPy calls the function again while the first error is set.

    CPython does not define that state: which error arrives, and of which type, depends on the moment.
    """
    root = lambda a: scipy.optimize.brentq(lambda x: x * x - a, 0.0, 3.0)
    for _ in range(5):
        with contextlib.suppress(Exception):
            calque.grad(root)(2.0)
        assert current_trace() is evaluation
        assert calque.grad(lambda x: x * x)(3.0) == 6.0
