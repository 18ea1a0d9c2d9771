from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)], ids=str)
def test_logistic_obeys_the_laws(shape, dtype, spaced, laws):
    laws(lax.logistic, spaced(shape, dtype=dtype))


def test_logistic_obeys_the_laws_on_complex_numbers(spaced, laws):
    laws(lax.logistic, spaced((3,)) + 1j * spaced((3,), -0.9, 1.1, seed=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)], ids=str)
def test_erf_inv_obeys_the_laws(shape, dtype, spaced, laws):
    laws(lax.erf_inv, spaced(shape, -0.7, 0.75, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_special_functions_obey_the_laws_on_both_sides_of_zero(name, dtype, spaced, laws):
    laws(getattr(lax, name), spaced((2, 3), 0.4, 2.7, dtype))
    laws(getattr(lax, name), spaced((3,), -0.8, -0.3, dtype))


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((3,), (3,))], ids=str)
@pytest.mark.parametrize("name", ["zeta", "polygamma"])
def test_functions_of_an_order_obey_the_laws_in_the_other_operand(name, shapes, spaced, laws):
    order = np.full(shapes[0], 2.0)
    laws(lambda x: getattr(lax, name)(order, x), spaced(shapes[1], 0.6, 3.0))


@pytest.mark.parametrize("function", [lax.zeta, lax.polygamma])
def test_an_order_has_no_derivative(function):
    with pytest.raises(
        NotImplementedError, match=r"(zeta|polygamma) at .*: no derivative with respect to the .*stop_gradient"
    ):
        grad(lambda n: function(n, 1.5))(2.0)


def test_neighbours_move_with_the_number():
    slopes = grad(lambda x, y: lax.nextafter(x, y), argnums=(0, 1))(1.0, 2.0)
    assert slopes == (1.0, 0.0)


def test_logistic_saturates_without_a_warning():
    assert grad(lax.logistic)(800.0) == 0.0
    assert grad(lax.logistic)(np.float32(-200.0)) == 0.0


@pytest.mark.parametrize("name", ["igamma", "igammac"])
@pytest.mark.parametrize("order", [0.7, 3.0, 260.0])
def test_incomplete_gamma_functions_obey_the_laws_in_the_limit(name, order, spaced, laws):
    laws(lambda x: getattr(lax, name)(order, x), order * spaced((3,), 0.7, 1.4))


@pytest.mark.parametrize(
    ("order", "x"), [(0.7, 0.4), (3.0, 1.5), (3.0, 6.0), (40.0, 70.0), (260.0, 250.0), (260.0, 260.0)]
)
def test_incomplete_gamma_functions_have_a_derivative_in_the_order(order, x):
    step = 1e-5 * order
    for function in (lax.igamma, lax.igammac):
        slope = (function(order + step, x) - function(order - step, x)) / (2 * step)
        np.testing.assert_allclose(grad(function)(order, x), slope, rtol=1e-6)


def test_a_sample_moves_with_the_order_at_its_quantile():
    a, x, step = 2.3, 1.7, 1e-6
    moved = x + step * lax.random_gamma_grad(a, x)
    np.testing.assert_allclose(lax.igamma(a + step, moved), lax.igamma(a, x), rtol=1e-11)


def test_incomplete_beta_functions_obey_the_laws_in_the_limit(spaced, laws):
    laws(lambda x: lax.betainc(2.5, 0.7, x), spaced((3,), 0.1, 0.9))
    assert grad(lambda x: lax.betainc(1.0, 1.0, x))(0.0) == grad(lambda x: lax.betainc(1.0, 1.0, x))(1.0) == 1.0


@pytest.mark.parametrize(
    "function",
    [lambda a: lax.betainc(a, 2.0, 0.5), lambda b: lax.betainc(2.0, b, 0.5), lambda a: lax.igamma_grad_a(a, 1.0)],
)
def test_parameters_without_a_formula_have_no_derivative(function):
    with pytest.raises(NotImplementedError, match=r"no derivative with respect to the .* is implemented"):
        grad(function)(1.5)


@pytest.mark.parametrize(("order", "x"), [(0.5, np.inf), (1.0, np.inf), (2.5, np.inf), (np.inf, 2.0)])
def test_incomplete_gamma_functions_are_flat_where_one_number_is_infinite(order, x):
    for function in (lax.igamma, lax.igammac):
        first = grad(lambda x, function=function: function(order, x))
        assert first(x) == grad(first)(x) == 0.0
    slopes = grad(lambda x: lax.reduce_sum(lax.igamma(2.0, x)))(np.array([1.0, np.inf]))
    np.testing.assert_allclose(slopes, [np.exp(-1.0), 0.0])


@pytest.mark.parametrize(("a", "b"), [(np.inf, 2.0), (0.5, np.inf)])
def test_incomplete_beta_functions_are_flat_inside_where_one_parameter_is_infinite(a, b):
    first = grad(lambda x: lax.betainc(a, b, x))
    assert first(0.5) == grad(first)(0.5) == 0.0


@pytest.mark.parametrize(("a", "x"), [(2.5, 1e-250), (0.125, 1e-100), (1000.0, 1000.0), (30.0, 34.0)])
def test_the_density_of_igamma_keeps_its_digits(a, x):
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
    with mpmath.workdps(40):
        a_, x_ = mpmath.mpf(a), mpmath.mpf(x)
        slope = mpmath.exp((a_ - 1) * mpmath.log(x_) - x_ - mpmath.loggamma(a_))
        curvature = slope * ((a_ - 1) / x_ - 1)
    first = grad(lambda x: lax.igamma(a, x))
    np.testing.assert_allclose(first(x), float(slope), rtol=1e-14)
    np.testing.assert_allclose(grad(first)(x), float(curvature), rtol=1e-14)


def test_the_derivative_of_igamma_in_a_tiny_order_is_finite():
    np.testing.assert_allclose(grad(lambda a: lax.igamma(a, 50.0))(1e-305), -3.7832640295504590e-24, rtol=1e-14)


def test_the_second_derivative_of_atan2_is_finite_beside_the_largest_number():
    x = np.float32(4.4e-20)  # 1 / x**2 overflows, its half does not
    np.testing.assert_allclose(grad(grad(lambda x: lax.atan2(x, np.float32(4.4e-20))))(x), -0.5 / 4.4e-20**2, rtol=1e-5)
