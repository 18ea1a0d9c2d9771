from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose, vjp
from calque_core import MissingRuleError, lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]

UNARY = [
    (lax.neg, -2.0, 2.0),
    (lax.abs, -2.0, 2.0),
    (lax.square, -2.0, 2.0),
    (lax.sqrt, 0.5, 3.0),
    (lax.rsqrt, 0.5, 3.0),
    (lax.exp, -2.0, 2.0),
    (lax.expm1, -2.0, 2.0),
    (lax.log, 0.5, 3.0),
    (lax.log1p, -0.5, 3.0),
    (lax.sin, -3.0, 3.0),
    (lax.cos, -3.0, 3.0),
    (lax.tan, -1.0, 1.0),
    (lax.tanh, -2.0, 2.0),
    (lax.asin, -0.8, 0.8),
    (lax.acos, -0.8, 0.8),
    (lax.atan, -2.0, 2.0),
    (lax.sinh, -2.0, 2.0),
    (lax.cosh, -2.0, 2.0),
    (lax.asinh, -2.0, 2.0),
    (lax.acosh, 1.2, 3.0),
    (lax.atanh, -0.8, 0.8),
    (lax.exp2, -2.0, 2.0),
    (lax.sign, -2.0, 2.0),
]
BINARY = [
    (lax.add, -2.0, 2.0),
    (lax.sub, -2.0, 2.0),
    (lax.mul, -2.0, 2.0),
    (lax.div, 0.5, 2.0),
    (lax.pow, 0.5, 2.0),
    (lax.atan2, -2.0, 2.0),
    (lax.max, -2.0, 2.0),
    (lax.min, -2.0, 2.0),
]
SHAPES = [(), (0,), (1,), (3,), (2, 3)]
PAIRS = [((), ()), ((3,), ()), ((), (3,)), ((3,), (3,)), ((0,), ()), ((), (0,)), ((1,), ()), ((), (1,)), ((2, 2), ())]


def name_of(value):
    return getattr(value, "__name__", None)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("op", "low", "high"), UNARY, ids=name_of)
def test_unary_operations_obey_the_laws(op, low, high, shape, dtype, spaced, laws):
    laws(op, spaced(shape, low, high, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize(("op", "low", "high"), BINARY, ids=name_of)
def test_binary_operations_obey_the_laws_in_each_operand_and_rank(op, low, high, shapes, dtype, spaced, laws):
    x, y = spaced(shapes[0], low, high, dtype), spaced(shapes[1], low + 0.21, high + 0.21, dtype, seed=1)
    laws(op, x, y)


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_remainders_obey_the_laws(shapes, spaced, laws):
    laws(lax.rem, spaced(shapes[0], -7.0, 7.3), spaced(shapes[1], 1.1, 2.3))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cube_roots_obey_the_laws_on_both_sides_of_zero(shape, dtype, spaced, laws):
    laws(lax.cbrt, spaced(shape, 0.5, 3.0, dtype))
    laws(lax.cbrt, spaced(shape, -3.0, -0.5, dtype))


@pytest.mark.parametrize("op", [lax.asin, lax.acos, lax.atan, lax.asinh, lax.acosh, lax.atanh], ids=name_of)
def test_inverse_functions_of_complex_numbers_obey_the_laws_in_every_quadrant(op, laws):
    for corner in (1 + 1j, -1 + 1j, -1 - 1j, 1 - 1j):
        laws(op, corner * np.array([0.4, 1.3, 2.7]) + 0.3)


@pytest.mark.parametrize(
    ("f", "point", "slope"),
    [
        (lax.asinh, 1e200, 1e-200),
        (lax.asinh, np.inf, 0.0),
        (lax.asinh, -np.inf, 0.0),
        (lax.asinh, np.float32(-np.inf), 0.0),
        (lax.acosh, 1e200, 1e-200),
        (lax.atan, 1e100, 1e-200),
        (lax.cbrt, 0.0, np.inf),
        (lambda x: lax.atan2(x, 1e200), 1e200, 0.5e-200),
        (lambda x: lax.atan2(1e-200, x), 1e-200, -0.5e200),
        (lambda x: lax.asin(1 - x), 1e-14, -7071067.811865493),
    ],
)
def test_inverse_functions_have_derivatives_where_squares_overflow_or_cancel(f, point, slope):
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(grad(f)(point), slope, rtol=1e-3)


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 3, 5])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integer_powers_obey_the_laws(y, shape, spaced, laws):
    laws(lambda x: lax.integer_pow(x, y), spaced(shape, 0.5, 2.0))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_of_tangents_obey_the_laws(shape, spaced, laws):
    laws(lax.add_any, spaced(shape), spaced(shape, seed=1))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("op", [op for op, _, _ in UNARY], ids=name_of)
def test_unary_operations_obey_the_laws_on_complex_numbers(op, dtype, spaced, laws):
    x = (spaced((3,), 0.4, 1.3) + 1j * spaced((3,), -0.9, 1.1, seed=1)).astype(dtype)
    laws(op, x)


@pytest.mark.parametrize("op", [lax.add, lax.sub, lax.mul, lax.div, lax.pow], ids=name_of)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_binary_operations_obey_the_laws_on_complex_numbers(op, shapes, spaced, laws):
    x, y = (spaced(s, 0.4, 1.3, seed=i) + 1j * spaced(s, -0.9, 1.1, seed=i + 2) for i, s in enumerate(shapes))
    laws(op, x, y)


@pytest.mark.parametrize("op", [lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.pow], ids=name_of)
def test_one_operand_given_twice_gets_both_contributions(op, spaced, laws):
    laws(lambda x: op(x, lax.add(lax.square(x), 0.3)), spaced((3,), 1.1, 2.0))


@pytest.mark.parametrize("op", [lax.max, lax.min], ids=name_of)
def test_a_tie_is_shared_equally(op):
    assert vjp(op, 2.0, 2.0)[1](1.0) == (0.5, 0.5)


def test_the_derivative_of_abs_at_zero_is_that_from_the_right():
    """The convention of the field; a complex abs has no right, and derivative 0 there."""
    assert grad(lax.abs)(0.0) == 1.0
    assert grad(lambda x: lax.reduce_sum(lax.abs(x)))(np.zeros(2, np.float32)).tolist() == [1.0, 1.0]
    assert jvp(lax.abs, (0j,), (1 + 1j,))[1] == 0.0


def test_the_derivative_of_a_zeroth_power_is_zero_at_zero_too():
    """A constant has no derivative: not 0 * inf.  Cf. https://github.com/jax-ml/jax/issues/18450."""
    assert grad(lax.pow)(0.0, 0.0) == 0.0
    assert grad(lambda x: lax.integer_pow(x, 0))(0.0) == 0.0


@pytest.mark.parametrize(("exponent", "slope"), [(1.0, 1.0), (2.0, 0.0), (3.0, 0.0)])
def test_powers_of_zero_have_their_slope(exponent, slope):
    assert grad(lax.pow)(0.0, exponent) == slope
    assert grad(lax.pow, argnums=1)(0.0, exponent) == 0.0


def test_mixed_second_derivatives_of_a_zeroth_power_agree():
    """They are 1 / x: a special case of the first derivative must not drop it."""
    assert grad(grad(lax.pow, argnums=0), argnums=1)(2.0, 0.0) == 0.5
    assert grad(grad(lax.pow, argnums=1), argnums=0)(2.0, 0.0) == 0.5


def test_the_slope_of_a_root_at_zero_is_infinite():
    with np.errstate(divide="ignore"):
        assert grad(lax.sqrt)(0.0) == np.inf


@pytest.mark.parametrize("f", [lambda x: lax.div(1.0, x), lambda x: lax.mul(x, x)], ids=["div", "mul"])
def test_transposing_what_is_not_linear_is_refused(f):
    with pytest.raises(MissingRuleError, match=r"'(div|mul)'.* cannot be transposed in .* not linear"):
        linear_transpose(f, 1.0)(1.0)


def test_transposing_an_operation_without_a_linear_operand_says_why():
    with pytest.raises(MissingRuleError, match=r"Transpose rule .* for 'sin' not implemented") as caught:
        linear_transpose(lax.sin, 1.0)(1.0)
    assert "There is none because it is not linear; only the derivative of a function is transposed." in str(
        caught.value
    )


def test_python_scalars_and_integers_beside_a_float_take_its_dtype():
    x = np.float32(2.0)
    for f in (lambda x: 3 * x, lambda x: lax.mul(x, 2.5), lambda x: lax.add(1, x), lambda x: lax.div(x, 2)):
        assert grad(f)(x).dtype == np.float32


def test_the_tangent_of_a_quotient_is_one_division():
    """The result stands for x / y, so the gradient in both operands divides once more, not twice."""
    x = np.array([1.0, -2.0])
    forward = make_jaxpr(lambda x, y: jvp(lax.div, (x, y), (y, x)))(x, x)
    backward = make_jaxpr(grad(lambda x, y: lax.reduce_sum(lax.div(x, y)), argnums=(0, 1)))(x, x)

    assert [eqn.primitive.name for eqn in forward.eqns] == ["div", "mul", "sub", "div"]
    assert [eqn.primitive for eqn in backward.eqns].count(lax.div_p) == 2


def test_the_tangent_of_a_difference_is_one_difference():
    x = np.array([1.0, -2.0])
    jaxpr = make_jaxpr(lambda x, y: jvp(lax.sub, (x, y), (y, x)))(x, x)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sub", "sub"]


def test_the_cotangent_of_a_scalar_subtracted_from_an_array_is_negated_after_the_sum():
    jaxpr = make_jaxpr(grad(lambda x, y: lax.reduce_sum(lax.square(lax.sub(x, y))), argnums=1))(np.ones(3), 2.0)

    [negation] = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.neg_p]
    assert negation.outvars[0].aval.shape == ()
