"""The rules of calque_special beside the packages that read them, and its names in the packages below and above."""

from __future__ import annotations

import numpy as np
import pytest

import calque
import calque_special as special
from calque_autodiff import check_grads, grad
from calque_batching import vmap
from calque_core import Primitive, lax
from calque_jet import jet
from calque_xla_backend import jit

POSITIVE, NEGATIVE = np.array([[0.45, 1.2, 2.6], [0.9, 1.9, 0.6]]), np.array([-0.75, -0.31, -0.44])


@pytest.mark.parametrize("name", special.__all__)
def test_lax_has_the_names_of_the_family(name):
    assert getattr(lax, name) is getattr(calque.lax, name) is getattr(special, name)
    assert name in calque.lax.__all__
    assert name not in lax.__all__


def test_the_rules_of_a_primitive_are_in_the_package_that_declares_it():
    for name in special.__all__:
        primitive = getattr(special, name)
        if isinstance(primitive, Primitive):
            assert primitive.family.startswith("calque_special.ops.")
            modules = {primitive._rules[kind].module for kind in ("jvp", "batch") if kind in primitive.rules}
            assert modules == {primitive.family.replace(".ops.", ".rules.")}


# Derivatives


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_derivatives_are_right_on_both_sides_of_zero(name, dtype):
    for x in (POSITIVE, NEGATIVE, np.array(0.7), np.zeros(0)):
        check_grads(getattr(special, name), (x.astype(dtype),), 2)


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((3,), (3,))], ids=str)
@pytest.mark.parametrize("name", ["zeta", "polygamma"])
def test_functions_of_an_order_have_derivatives_in_the_other_operand(name, shapes):
    order = np.full(shapes[0], 2.0)
    x = np.array([0.7, 1.5, 2.8]) if shapes[1] else np.float64(1.3)
    check_grads(lambda x: getattr(special, name)(order, x), (x,), 2)


@pytest.mark.parametrize("function", [special.zeta, special.polygamma])
def test_an_order_has_no_derivative(function):
    with pytest.raises(
        NotImplementedError, match=r"(zeta|polygamma) at .*: no derivative with respect to the .*stop_gradient"
    ):
        grad(lambda n: function(n, 1.5))(2.0)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
@pytest.mark.parametrize("order", [0.7, 3.0, 260.0])
def test_incomplete_gamma_functions_obey_the_laws_in_the_limit(name, order):
    check_grads(lambda x: getattr(special, name)(order, x), (order * np.array([0.74, 0.95, 1.33]),), 2)


@pytest.mark.parametrize(
    ("order", "x"), [(0.7, 0.4), (3.0, 1.5), (3.0, 6.0), (40.0, 70.0), (260.0, 250.0), (260.0, 260.0)]
)
def test_incomplete_gamma_functions_have_a_derivative_in_the_order(order, x):
    step = 1e-5 * order
    for function in (special.igamma, special.igammac):
        slope = (function(order + step, x) - function(order - step, x)) / (2 * step)
        np.testing.assert_allclose(grad(function)(order, x), slope, rtol=1e-6)


def test_a_sample_moves_with_the_order_at_its_quantile():
    a, x, step = 2.3, 1.7, 1e-6
    moved = x + step * special.random_gamma_grad(a, x)
    np.testing.assert_allclose(special.igamma(a + step, moved), special.igamma(a, x), rtol=1e-11)


def test_incomplete_beta_functions_obey_the_laws_in_the_limit():
    check_grads(lambda x: special.betainc(2.5, 0.7, x), (np.array([0.15, 0.4, 0.8]),), 2)
    assert grad(lambda x: special.betainc(1.0, 1.0, x))(0.0) == grad(lambda x: special.betainc(1.0, 1.0, x))(1.0) == 1.0


@pytest.mark.parametrize(
    "function",
    [
        lambda a: special.betainc(a, 2.0, 0.5),
        lambda b: special.betainc(2.0, b, 0.5),
        lambda a: special.igamma_grad_a(a, 1.0),
    ],
)
def test_parameters_without_a_formula_have_no_derivative(function):
    with pytest.raises(NotImplementedError, match=r"no derivative with respect to the .* is implemented"):
        grad(function)(1.5)


@pytest.mark.parametrize(("order", "x"), [(0.5, np.inf), (1.0, np.inf), (2.5, np.inf), (np.inf, 2.0)])
def test_incomplete_gamma_functions_are_flat_where_one_number_is_infinite(order, x):
    for function in (special.igamma, special.igammac):
        first = grad(lambda x, function=function: function(order, x))
        assert first(x) == grad(first)(x) == 0.0
    slopes = grad(lambda x: lax.reduce_sum(special.igamma(2.0, x)))(np.array([1.0, np.inf]))
    np.testing.assert_allclose(slopes, [np.exp(-1.0), 0.0])


@pytest.mark.parametrize(("a", "b"), [(np.inf, 2.0), (0.5, np.inf)])
def test_incomplete_beta_functions_are_flat_inside_where_one_parameter_is_infinite(a, b):
    first = grad(lambda x: special.betainc(a, b, x))
    assert first(0.5) == grad(first)(0.5) == 0.0


@pytest.mark.parametrize(("a", "x"), [(2.5, 1e-250), (0.125, 1e-100), (1000.0, 1000.0), (30.0, 34.0)])
def test_the_density_of_igamma_keeps_its_digits(a, x):
    mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
    with mpmath.workdps(40):
        a_, x_ = mpmath.mpf(a), mpmath.mpf(x)
        slope = mpmath.exp((a_ - 1) * mpmath.log(x_) - x_ - mpmath.loggamma(a_))
        curvature = slope * ((a_ - 1) / x_ - 1)
    first = grad(lambda x: special.igamma(a, x))
    np.testing.assert_allclose(first(x), float(slope), rtol=1e-14)
    np.testing.assert_allclose(grad(first)(x), float(curvature), rtol=1e-14)


def test_the_derivative_of_igamma_in_a_tiny_order_is_finite():
    np.testing.assert_allclose(grad(lambda a: special.igamma(a, 50.0))(1e-305), -3.7832640295504590e-24, rtol=1e-14)


# Taylor series, batches, compiled programs


def test_an_order_has_no_taylor_series():
    with pytest.raises(NotImplementedError, match=r"zeta at .*: no Taylor series with respect to its first operand"):
        jet(lambda n: special.zeta(n, 1.5), (2.0,), ([1.0],))


def inside(x):
    return 0.1 + 0.8 * abs(lax.tanh(x))


PAIRS = {
    "zeta": lambda x, y: special.zeta(2.0 + abs(x), 1.0 + abs(y)),
    "polygamma": lambda x, y: special.polygamma(lax.floor(abs(x)), 1.0 + abs(y)),
    **{
        name: lambda x, y, name=name: getattr(special, name)(inside(x), inside(y))
        for name in ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad")
    },
    "betainc": lambda x, y: special.betainc(inside(x), inside(y), 0.3),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 0), (0, 1)], ids=str)
def test_functions_of_two_operands_map_over_every_pair_of_axes(name, in_axes):
    f, rng = PAIRS[name], np.random.default_rng(0)
    x, y = rng.uniform(-2.0, 2.0, (3, 3)), rng.uniform(-2.0, 2.0, (3, 3))
    rows = [[z if axis is None else z.take(i, axis) for z, axis in zip((x, y), in_axes)] for i in range(3)]
    np.testing.assert_allclose(vmap(f, in_axes)(x, y), [f(*row) for row in rows], rtol=1e-13)
    np.testing.assert_allclose(
        vmap(f)(x[:, 0], y), [f(a, b) for a, b in zip(x[:, 0], y)], rtol=1e-13
    )  # one operand of each is a number


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("name", "ulps"), [("lgamma", 1e4), ("bessel_i0e", 4), ("bessel_i1e", 4)])  # lgamma: its zeros
def test_compiled_functions_are_those_of_evaluation(name, ulps, dtype):
    rng, f = np.random.default_rng(0), getattr(special, name)
    x = np.concatenate([rng.choice([0.05, 1.0, 7.0], 400) * rng.normal(size=400), SPECIAL]).astype(dtype)
    with np.errstate(all="ignore"):
        want = f(x)
    got = np.asarray(jit(f)(x))
    assert got.dtype == want.dtype == dtype
    is_finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~is_finite], want[~is_finite])
    gaps = np.abs(got[is_finite].astype(float) - want[is_finite]) / np.spacing(np.abs(want[is_finite])).astype(float)
    assert gaps.max() <= ulps
