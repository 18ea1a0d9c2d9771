"""Derivatives of and through complex numbers: against differences along both axes, and the conventions."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import check_grads, defjvp, grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from calque_core import Primitive, lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(), (3,), (0,), (2, 3)]
PAIRS = [((), ()), ((2, 3), (2, 3)), ((3,), ()), ((), (3,)), ((0,), ())]
STEP = 1e-6


@pytest.fixture
def points(spaced):
    """Return `points(shape, dtype)`: numbers of all four quadrants, none of them near an axis."""

    def points(shape, dtype="complex128", seed=0):
        z = spaced(shape, -1.3, 1.6, seed=seed) + 1j * spaced(shape, -1.1, 1.7, seed=seed + 1)
        return np.asarray(z).astype(dtype)[()]

    return points


@pytest.mark.parametrize("op", [lax.real, lax.imag, lax.conj, lax.abs, lax.sign], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operations_that_tell_the_parts_apart_obey_the_laws(op, dtype, shape, points, laws):
    laws(op, points(shape, dtype))


@pytest.mark.parametrize("dtypes", [("float64",) * 2, ("float32",) * 2, ("float32", "float64"), ("float16", "float32")])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_putting_together_obeys_the_laws(shapes, dtypes, spaced, laws):
    x, y = (spaced(shape, dtype=dtype, seed=i) for i, (shape, dtype) in enumerate(zip(shapes, dtypes)))
    laws(lax.complex, x, y)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: lax.mul(z, lax.conj(z)),
        lambda z: lax.real(lax.exp(lax.mul(z, 1j))),
        lambda z: lax.complex(lax.imag(z), lax.real(lax.square(z))),
        lambda z: lax.div(lax.conj(z), lax.add(z, 3.0)),
        lambda z: lax.mul(lax.abs(z), lax.sqrt(lax.add(z, 2.0))),
        lambda z: lax.log(lax.abs(z)),
        lambda z: lax.mul(lax.imag(lax.log(z)), lax.real(z)),
        lambda z: lax.select(lax.gt(lax.real(z), 0.0), lax.conj(z), lax.square(z)),
        lambda z: lax.sin(lax.convert_element_type(lax.mul(z, z), np.float64)),
        lambda z: lax.scan(lambda c, x: (lax.mul(c, lax.conj(x)), lax.abs(c)), 1 + 1j, z),
        lambda z: lax.sort(lax.mul(z, lax.conj(lax.add(z, 1j)))),
        lambda z: lax.reduce_sum(lax.mul(lax.reduce_sum(z), lax.conj(z))),
        lambda z: lax.dot(lax.conj(z), z),
    ],
    ids=range(13),
)
def test_functions_of_a_number_and_its_conjugate_obey_the_laws(f, points, laws):
    laws(f, points((3,)))


def partials(f, z):
    """Return the derivatives of f by the real and by the imaginary part of z, from differences."""
    return [(f(z + STEP * t) - f(z - STEP * t)) / (2 * STEP) for t in (1, 1j)]


REAL_VALUED = [lax.real, lax.imag, lax.abs, lambda z: lax.real(lax.sin(z)), lambda z: lax.mul(lax.abs(z), lax.imag(z))]


@pytest.mark.parametrize("f", REAL_VALUED, ids=range(len(REAL_VALUED)))
def test_the_gradient_of_a_real_function_is_by_the_real_part_less_i_times_by_the_imaginary(f):
    z = 0.7 - 0.4j
    by_real, by_imaginary = partials(f, z)
    np.testing.assert_allclose(grad(f)(z), by_real - 1j * by_imaginary, rtol=1e-8)


def test_the_conjugate_of_the_gradient_is_the_steepest_ascent():
    f = lambda z: lax.add(lax.square(lax.abs(lax.sub(z, 1 - 2j))), lax.real(z))
    z = 0.5 + 0.5j
    ascent = np.conj(grad(f)(z))
    directions = np.exp(1j * np.linspace(0, 2 * np.pi, 16, endpoint=False)) * abs(ascent)
    slopes = [jvp(f, (z,), (d,))[1] for d in directions]
    assert jvp(f, (z,), (ascent,))[1] >= max(slopes)


HOLOMORPHIC = [
    lax.sin,
    lax.exp,
    lax.log,
    lax.sqrt,
    lambda z: lax.div(z, lax.add(z, 2.0)),
    lambda z: lax.integer_pow(z, 3),
]


@pytest.mark.parametrize("f", HOLOMORPHIC, ids=range(len(HOLOMORPHIC)))
def test_a_holomorphic_function_multiplies_tangents_and_cotangents_by_its_derivative(f):
    z, t = 0.7 - 0.4j, 0.3 + 2j
    slope, turned = partials(f, z)
    np.testing.assert_allclose(turned, 1j * slope, rtol=1e-8)
    np.testing.assert_allclose(grad(f, holomorphic=True)(z), slope, rtol=1e-8)
    np.testing.assert_allclose(jvp(f, (z,), (t,))[1], slope * t, rtol=1e-8)
    np.testing.assert_allclose(vjp(f, z)[1](t)[0], slope * t, rtol=1e-8)


def test_a_holomorphic_third_derivative_is_that_of_the_function():
    d = lambda f: grad(f, holomorphic=True)
    np.testing.assert_allclose(d(d(d(lax.sin)))(0.3 + 1j), -np.cos(0.3 + 1j), rtol=1e-14)


def test_a_real_argument_of_a_complex_computation_has_a_real_gradient():
    f = lambda x: lax.abs(lax.exp(lax.mul(x, 1 + 2j)))
    value, slope = value_and_grad(f)(0.5)
    assert slope.dtype == np.float64
    np.testing.assert_allclose([value, slope], np.exp(0.5), rtol=1e-14)


def test_a_step_against_the_conjugate_gradient_descends():
    """A complex least squares fit: the gradient step has to be conjugated."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 3)) + 1j * rng.normal(size=(6, 3))
    b = a @ np.array([1 - 2j, 0.5j, -1.0])

    def loss(z):
        r = lax.sub(lax.dot(a, z), b)
        return lax.reduce_sum(lax.real(lax.mul(r, lax.conj(r))))

    z = np.zeros(3, complex)
    for _ in range(400):
        z = z - 0.03 * np.conj(grad(loss)(z))
    np.testing.assert_allclose(z, [1 - 2j, 0.5j, -1.0], atol=1e-6)


def test_the_derivative_of_such_a_step_is_that_of_differences():
    """Through the gradient, the conjugate and the step: what learned optimisers differentiate."""
    potential = lambda z: lax.reduce_sum(lax.mul(lax.square(lax.abs(z)), lax.real(lax.sin(z))))
    step = lambda z, rate: lax.sub(z, lax.mul(rate, lax.conj(grad(potential)(z))))
    check_grads(lambda z, rate: step(step(z, rate), rate), (np.array([0.5 - 0.2j, 0.3 + 1j]), 0.1), order=2)


def test_a_complex_phase_evolves_as_differences_say():
    """A wave equation by small unitary steps, with respect to its potential, its start and the size of the step."""

    def evolved(psi, potential, dt):
        for _ in range(5):
            slope = lax.sub(lax.concatenate([psi[1:], psi[:1]], 0), psi)
            psi = lax.add(psi, lax.mul(lax.mul(0.5j, dt), slope))
            psi = lax.mul(psi, lax.exp(lax.mul(-1j, lax.mul(potential, dt))))
        return lax.square(lax.abs(psi)), lax.reduce_sum(psi)

    psi = np.exp(1j * np.linspace(0, 3, 4)) * [1, 2, 1, 0.5]
    check_grads(evolved, (psi, np.array([0.1, 0.4, -0.3, 1.0]), 0.1), order=2)


def test_a_parameter_that_is_real_gets_a_real_cotangent():
    _, f_vjp = vjp(lambda x, z: lax.mul(x, z), np.float32(2.0), np.complex64(1 + 3j))
    x_bar, z_bar = f_vjp(np.complex64(1 - 1j))
    assert (x_bar, x_bar.dtype) == (4.0, np.float32)
    assert (z_bar, z_bar.dtype) == (2 - 2j, np.complex64)


@pytest.mark.parametrize(
    ("f", "primal", "ct", "wanted"),
    [
        (lax.real, 0j, 2.0, 2.0),
        (lax.imag, 0j, 2.0, -2j),
        (lax.conj, 0j, 1 + 2j, 1 - 2j),
        (lambda x: lax.complex(x, 0.0), 0.0, 1 + 2j, 1.0),
        (lambda y: lax.complex(0.0, y), 0.0, 1 + 2j, -2.0),
        (lambda z: lax.mul(z, 2 + 1j), 0j, 1j, -1 + 2j),
        (lambda z: lax.convert_element_type(z, np.float64), 0j, 2.0, 2.0),
    ],
    ids=range(7),
)
def test_transposes_pair_without_conjugation(f, primal, ct, wanted):
    (found,) = linear_transpose(f, primal)(ct)
    assert found == wanted
    assert np.result_type(found) == np.result_type(primal)


def test_linear_operations_record_themselves_alone():
    for f, name in ((lax.real, "real"), (lax.imag, "imag"), (lax.conj, "conj")):
        jaxpr = make_jaxpr(lambda z, f=f: linearize(f, z)[1](1 + 1j))(np.complex128(1j))
        assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name, name]


@pytest.mark.parametrize("derivative", [lambda f, z: grad(f)(z), lambda f, z: jvp(f, (z,), (1 - 1j,))[1]])
def test_where_no_direction_is_given_abs_and_sign_have_derivative_zero(derivative):
    size = lambda z: lax.add(lax.abs(z), lax.real(lax.sign(z)))
    assert derivative(size, 0j) == 0.0
    assert np.isfinite(derivative(lambda z: lax.real(jvp(size, (z,), (1j,))[1]), 0j))


def test_a_derivative_that_is_right_along_the_real_axis_alone_is_found():
    wrong_p = Primitive("wrong")
    wrong_p.def_impl(lambda z: np.asarray(z) * 2j)
    wrong_p.def_abstract_eval(lambda z: z.strip_weak_type())
    defjvp(wrong_p, lambda t, out, z: lax.mul(2j, lax.conj(t)))
    assert jvp(wrong_p.bind, (1j,), (1 + 0j,))[1] == 2j
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=r"the jvp of|the vjp of"):
            check_grads(wrong_p.bind, (1 + 1j,), 1, (mode,))
