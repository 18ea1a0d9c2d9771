"""Derivatives of `gather` and of each `scatter`: with equal places, outside of the operand, at zeros and ties."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose
from calque_core import MissingRuleError, lax

pytestmark = pytest.mark.sampled(keep=0.3)

INTO = lax.ScatterDimensionNumbers((1,), (0,), (0,))
ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))
KINDS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]
ROWS = {
    "different": [[2], [0]],
    "equal": [[1], [1]],
    "outside": [[7], [-3]],
    "one": [[1]],
    "many": [[2], [0], [2], [2], [5]],
}


@pytest.mark.counts
@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("rows", ROWS)
def test_reading_obeys_the_laws(rows, mode, laws, spaced):
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    laws(
        lambda x: lax.sin(lax.gather(x, np.array(ROWS[rows]), numbers, (1, 2), mode=mode, fill_value=2)), spaced((3, 2))
    )


@pytest.mark.counts
@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", KINDS)
def test_writing_obeys_the_laws(name, rows, mode, laws, spaced):
    indices = np.array(ROWS[rows])
    x, updates = spaced((3, 2)), spaced((len(indices), 2), seed=1)
    laws(lambda x, u: lax.sin(getattr(lax, name)(x, indices, u, INTO, mode=mode)) * x, x, updates)


def mul(x, u):
    return lax.scatter_mul(x, np.zeros((len(u), 1), int), u, ELEMENTS)[0]


def test_a_product_has_every_derivative_at_zeros():
    x, u = np.array([2.0]), np.array([0.0, 3.0, 0.0])
    np.testing.assert_array_equal(grad(mul, argnums=1)(x, u), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(mul, argnums=1)(x, np.array([0.0, 3.0, 5.0])), [30.0, 0.0, 0.0])
    second = lambda v: jvp(lambda u: grad(mul, argnums=1)(x, u), (u,), (v,))[1]
    np.testing.assert_array_equal(second(np.array([1.0, 0.0, 0.0])), [0.0, 0.0, 6.0])
    third = jvp(lambda u: jvp(lambda u: grad(mul, argnums=1)(x, u), (u,), (np.eye(3)[0],))[1], (u,), (np.eye(3)[1],))[1]
    np.testing.assert_array_equal(third, [0.0, 0.0, 2.0])


@pytest.mark.parametrize("name", ["scatter_max", "scatter_min"])
def test_equal_extremes_share_the_derivative(name):
    rows, u = np.array([[0], [0], [1]]), np.ones(3)
    x_bar, u_bar = grad(lambda x, u: lax.reduce_sum(getattr(lax, name)(x, rows, u, ELEMENTS)), argnums=(0, 1))(
        np.ones(3), u
    )
    np.testing.assert_allclose(x_bar, [1 / 3, 1 / 2, 1])
    np.testing.assert_allclose(u_bar, [1 / 3, 1 / 3, 1 / 2])


def test_the_last_of_equal_places_has_the_derivative():
    rows = np.array([[1], [0], [1]])
    x_bar, u_bar = grad(
        lambda x, u: lax.reduce_sum(lax.scatter(x, rows, u, ELEMENTS) * np.array([2.0, 3.0, 5.0])), argnums=(0, 1)
    )(np.zeros(3), np.ones(3))
    np.testing.assert_array_equal(x_bar, [0.0, 0.0, 5.0])
    np.testing.assert_array_equal(u_bar, [0.0, 2.0, 3.0])


def test_what_is_not_read_has_no_gradient():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    read = lambda x: lax.gather(x, np.array([1]), numbers, (1,), mode="clip")
    np.testing.assert_array_equal(grad(read)(np.array([np.inf, 2.0, np.nan])), [0.0, 1.0, 0.0])


@pytest.mark.counts
def test_forward_and_reverse_agree_about_a_broken_promise():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    read = lambda x: lax.gather(x, np.array([9]), numbers, (1,), mode="promise_in_bounds")
    x, v = np.arange(3.0), np.array([1.0, 10.0, 100.0])
    assert jvp(read, (x,), (v,))[1] == grad(read)(x) @ v == 100.0


def test_the_transpose_in_the_indices_is_refused():
    read = lambda i: lax.gather_p.bind(
        np.ones(3),
        lax.convert_element_type(i, np.int32),
        dimension_numbers=lax.GatherDimensionNumbers((), (0,), (0,)),
        slice_sizes=(1,),
        indices_are_sorted=False,
        unique_indices=False,
        mode=lax.GatherScatterMode.CLIP,
        fill_value=None,
    )
    with pytest.raises(MissingRuleError, match="not linear"):
        linear_transpose(read, np.ones(1))(1.0)
