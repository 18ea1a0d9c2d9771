from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, vjp
from calque_core import float0, lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = [
    ((4,), None),
    ((4,), 0),
    ((2, 3), 0),
    ((2, 3), (0, 1)),
    ((2, 3, 4), (0, 2)),
    ((2, 3), ()),
    ((), None),
    ((1,), 0),
]
EMPTY = [((0,), 0), ((0, 3), 0), ((3, 0), 0), ((3, 0), 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), CASES + EMPTY, ids=str)
def test_sums_obey_the_laws(shape, axis, dtype, spaced, laws):
    laws(lambda x: lax.reduce_sum(x, axis), spaced(shape, dtype=dtype))
    laws(lambda x: lax.reduce_sum(x, axis, keepdims=True), spaced(shape, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)
@pytest.mark.parametrize("op", [lax.reduce_max, lax.reduce_min], ids=lambda op: op.__name__)
def test_extremes_obey_the_laws(op, shape, axis, dtype, spaced, laws):
    laws(lambda x: op(x, axis), spaced(shape, dtype=dtype))
    laws(lambda x: op(x, axis, keepdims=True), spaced(shape, dtype=dtype))


@pytest.mark.parametrize(("shape", "axis"), EMPTY, ids=str)
@pytest.mark.parametrize("op", [lax.reduce_max, lax.reduce_min], ids=lambda op: op.__name__)
def test_extremes_of_nothing_have_a_zero_derivative(op, shape, axis):
    x = np.zeros(shape)
    out, out_dot = jvp(lambda x: op(x, axis), (x,), (x,))
    assert out_dot.shape == out.shape
    assert not out_dot.any()
    assert vjp(lambda x: op(x, axis), x)[1](np.ones_like(out))[0].shape == shape


@pytest.mark.parametrize("op", [lax.reduce_max, lax.reduce_min], ids=lambda op: op.__name__)
def test_equal_extremes_share_equally(op):
    x = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert grad(op)(x).tolist() == [[0.25, 0.25], [0.25, 0.25]]


@pytest.mark.parametrize("op", [lax.argmax, lax.argmin], ids=lambda op: op.__name__)
def test_positions_have_float0_tangents(op):
    out, out_dot = jvp(lambda x: op(x, 1), (np.ones((2, 3)),), (np.ones((2, 3)),))
    assert out_dot.dtype == float0
    assert out_dot.shape == out.shape == (2,)


@pytest.mark.parametrize("op", [lax.reduce_and, lax.reduce_or], ids=lambda op: op.__name__)
def test_logic_beside_a_float_does_not_disturb_the_derivative(op):
    def f(x):
        return lax.select(op(lax.gt(x, 0.0)), lax.reduce_sum(lax.square(x)), lax.reduce_sum(x))

    chosen = f(np.array([1.0, -2.0])) == 5.0
    assert grad(f)(np.array([1.0, -2.0])).tolist() == ([2.0, -4.0] if chosen else [1.0, 1.0])


def test_the_derivative_of_a_maximum_divides_averages_alone():
    jaxpr = make_jaxpr(grad(lambda x: lax.reduce_sum(lax.reduce_max(x, 1))))(np.ones((2, 3)))

    [division] = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.div_p]
    assert division.outvars[0].aval.shape == (2,)
