from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose, vjp
from calque_core import MissingRuleError, float0, lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

RANKS = [
    ((), (), ()),
    ((3,), (3,), (3,)),
    ((), (3,), ()),
    ((3,), (), ()),
    ((), (), (3,)),
    ((), (3,), (3,)),
    ((3,), (), (3,)),
]
RANKS += [((0,), (), ()), ((), (0,), ()), ((1,), (), (1,))]


@pytest.mark.parametrize("op", [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge], ids=lambda op: op.__name__)
def test_comparisons_have_float0_tangents(op):
    out, out_dot = jvp(op, (np.arange(3.0), 1.0), (np.ones(3), 1.0))
    assert out.dtype == bool
    assert out_dot.dtype == float0


def test_operations_on_integers_beside_floats_do_not_disturb_the_derivative():
    def f(x, n):
        k = lax.shift_left(lax.bitwise_and(n, 6), lax.bitwise_not(lax.bitwise_xor(n, ~1)))
        return lax.mul(x, lax.convert_element_type(k, float))

    x_bar, n_bar = vjp(f, 3.0, 5)[1](1.0)
    assert x_bar == f(1.0, 5)
    assert n_bar.dtype == float0


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shapes", RANKS, ids=str)
def test_choices_obey_the_laws_in_each_case_and_rank(shapes, dtype, spaced, laws):
    which = spaced(shapes[0]) > 0
    laws(lambda x, y: lax.select_n(which, x, y), spaced(shapes[1], dtype=dtype), spaced(shapes[2], dtype=dtype, seed=1))


@pytest.mark.parametrize("which_shape", [(), (4,)], ids=str)
def test_choices_among_several_obey_the_laws(which_shape, spaced, laws):
    which = np.array([2, 0, 3, 1], np.int32)[: 4 if which_shape else 1].reshape(which_shape)[()]
    cases = [spaced(shape, seed=i) for i, shape in enumerate([(4,), (), (4,), (4,)])]
    laws(lambda *cases: lax.select_n(which, *cases), *cases)


def test_a_case_that_is_not_chosen_cannot_poison_the_gradient():
    x = np.array([0.0, 4.0])
    with np.errstate(divide="ignore"):
        bar = vjp(lambda x: lax.select(lax.gt(x, 1.0), x, lax.mul(x, 2.0)), x)[1](np.array([1.0, np.inf]))[0]
    assert bar.tolist() == [2.0, np.inf]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", RANKS, ids=str)
def test_clamps_obey_the_laws_in_each_operand_and_rank(shapes, dtype, spaced, laws):
    low, x, high = (
        spaced(shapes[0], -1.0, 0.1, dtype),
        spaced(shapes[1], -2.0, 2.0, dtype),
        spaced(shapes[2], 0.4, 1.5, dtype),
    )
    laws(lax.clamp, low, x, high)


def test_a_clamp_between_crossed_bounds_depends_on_the_upper_one():
    for x in (0.1, 1.7, 3.0):
        assert [float(bar) for bar in vjp(lax.clamp, 2.0, x, 0.5)[1](1.0)] == [0.0, 0.0, 1.0]


def test_a_clamp_has_no_slope_at_its_bounds():
    assert [grad(lax.clamp, argnums=1)(0.0, x, 1.0) for x in (0.0, 0.5, 1.0)] == [0.0, 1.0, 0.0]


def test_transposing_a_choice_by_an_unknown_condition_is_refused():
    def f(x):
        return lax.select(lax.gt(x, 0.0), x, 0.0)

    with pytest.raises(MissingRuleError, match=r"'select_n'.* cannot be transposed"):
        linear_transpose(f, 1.0)(1.0)


def test_a_constant_case_of_a_choice_has_no_cotangent():
    program = make_jaxpr(grad(lambda x: lax.select(lax.gt(x, 0.0), x, 0.0)))(1.0)
    assert [eqn.primitive.name for eqn in program.eqns].count("select_n") == 2  # the value and one cotangent
