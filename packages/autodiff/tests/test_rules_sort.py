from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose, vjp
from calque_core import MissingRuleError, float0, lax, make_jaxpr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((0,), 0), ((1,), 0), ((2, 0), 1)], ids=str
)
def test_sorting_obeys_the_laws(shape, axis, dtype, spaced, laws):
    laws(lambda x: lax.sort(x, axis), spaced(shape, dtype=dtype))


def test_arrays_sorted_together_obey_the_laws_in_each(spaced, laws):
    xs = [spaced((3, 4), seed=i) for i in range(3)]
    laws(lambda *xs: lax.sort(xs, 0), *xs)


def test_arrays_sorted_by_two_keys_obey_the_laws_in_each(spaced, laws):
    first, *rest = np.array([1.0, 0.0, 1.0, 0.0, 1.0]), spaced((5,), seed=1), spaced((5,), seed=2)
    laws(lambda *xs: lax.sort((first, *xs), num_keys=2)[1:], *rest)


def test_equal_keys_keep_their_order_in_the_derivative():
    _, out_dot = jvp(lax.sort, (np.array([1.0, 0.0, 1.0, 0.0]),), (np.array([1.0, 2.0, 3.0, 4.0]),))
    assert out_dot.tolist() == [2.0, 4.0, 1.0, 3.0]


def test_integers_carried_along_have_float0_tangents_and_cotangents():
    keys, numbers = np.array([2.0, 1.0, 3.0]), np.arange(3)
    outs, dots = jvp(lambda x: lax.sort((x, numbers)), (keys,), (np.array([1.0, 2.0, 3.0]),))
    assert outs[1].tolist() == [1, 0, 2]
    assert dots[0].tolist() == [2.0, 1.0, 3.0]
    assert dots[1].dtype == float0
    key_bar, number_bar = vjp(lambda x, n: lax.sort((x, n))[0], keys, numbers)[1](np.array([1.0, 2.0, 3.0]))
    assert key_bar.tolist() == [2.0, 1.0, 3.0]
    assert number_bar.dtype == float0


def test_sorting_by_integer_keys_moves_floats_and_back(spaced, laws):
    keys = np.array([3, 1, 2, 1])
    laws(lambda x: lax.mul(lax.sort((keys, x))[1], np.arange(4.0)), spaced((4,)))


def test_the_gradient_of_the_median_is_one_hot():
    assert grad(lambda x: lax.sort(x)[2])(np.array([5.0, 1.0, 4.0, 2.0, 3.0])).tolist() == [0, 0, 0, 0, 1]


def test_sorting_by_a_known_key_is_linear_and_by_an_unknown_one_is_refused():
    keys = np.array([2, 0, 1])
    moved = linear_transpose(lambda x: lax.sort((keys, x))[1], np.zeros(3))(np.array([1.0, 2.0, 3.0]))[0]
    assert moved.tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(MissingRuleError, match=r"'sort'.* cannot be transposed"):
        linear_transpose(lax.sort, np.zeros(3))(np.ones(3))


def test_a_gradient_sorts_once():
    program = make_jaxpr(grad(lambda x: lax.reduce_sum(lax.sin(lax.sort(x)))))(np.arange(3.0))
    assert [eqn.primitive.name for eqn in program.eqns].count("sort") == 1
