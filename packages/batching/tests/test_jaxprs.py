import numpy as np

from calque_batching import AxisData, batch_jaxpr_axes
from calque_batching.jaxprs import batch_step, carry_in_front, eval_batched, forwarded_inputs, with_axis
from calque_core import ShapedArray, eval_jaxpr, lax, make_jaxpr

F64 = ShapedArray((), np.float64)
THREE = AxisData(None, 3)


def test_with_axis_puts_the_batch_axis_into_a_type():
    aval = ShapedArray((2, 4), np.float32)

    assert [with_axis(aval, 3, dim).shape for dim in (None, 0, 1, 2)] == [(2, 4), (3, 2, 4), (2, 3, 4), (2, 4, 3)]


def test_the_program_of_a_batch_says_which_results_are_mapped():
    jaxpr = make_jaxpr(lambda x, y: (lax.sin(x), lax.cos(y), lax.add(x, y)))(F64, F64)

    batched, out_dims = batch_jaxpr_axes(jaxpr, THREE, [0, None])

    assert out_dims == [0, None, 0]
    assert [aval.shape for aval in batched.out_avals] == [(3,), (), (3,)]
    x = np.arange(3.0)
    for out, expected in zip(eval_jaxpr(batched, batched.consts, x, 2.0), (np.sin(x), np.cos(2.0), x + 2.0)):
        np.testing.assert_allclose(out, expected)


def test_results_that_are_marked_are_mapped_in_front():
    jaxpr = make_jaxpr(lambda x, y: (x, y))(ShapedArray((2,), np.float64), F64)

    batched, out_dims = batch_jaxpr_axes(jaxpr, THREE, [1, None], [True, True])

    assert out_dims == [0, 0]
    assert [aval.shape for aval in batched.in_avals] == [(2, 3), ()]
    assert [aval.shape for aval in batched.out_avals] == [(3, 2), (3,)]


def test_a_result_keeps_its_place_unless_it_is_marked():
    jaxpr = make_jaxpr(lambda x: x)(ShapedArray((2,), np.float64))

    assert batch_jaxpr_axes(jaxpr, THREE, [1])[1] == [1]


def test_the_program_of_a_batch_is_made_once():
    jaxpr = make_jaxpr(lax.sin)(F64)

    first, _ = batch_jaxpr_axes(jaxpr, THREE, [0])

    assert batch_jaxpr_axes(jaxpr, THREE, (0,))[0] is first
    assert batch_jaxpr_axes(jaxpr, AxisData(None, 4), [0])[0] is not first


def test_a_rule_that_is_replaced_makes_the_program_anew():
    jaxpr = make_jaxpr(lax.sin)(F64)
    first, _ = batch_jaxpr_axes(jaxpr, THREE, [0])
    rule = lax.sin_p.rules["batch"]

    lax.sin_p.def_rule("batch", rule, override=True)

    assert batch_jaxpr_axes(jaxpr, THREE, [0])[0] is not first


def test_a_program_can_be_run_on_a_batch_at_once():
    jaxpr = make_jaxpr(lambda x, y: (lax.mul(x, y), y))(F64, F64)

    outs, dims = eval_batched(jaxpr, AxisData("i", 3), [np.arange(3.0), 2.0], [0, None])

    assert dims == [0, None]
    assert outs[0].tolist() == [0.0, 2.0, 4.0]
    assert outs[1] == 2.0


# Steps of loops


def test_the_mapped_carries_of_a_step_grow_until_it_maps_no_more():
    jaxpr = make_jaxpr(lambda w, a, b, c, x: (b, w * a, c, x))(1.0, 2.0, 3.0, 4.0, 5.0)

    step, out_dims = batch_step(jaxpr, AxisData(None, 2), [0, None, None, None, None], 3, 1)

    assert out_dims == [0, 0, None, None]
    assert [aval.shape for aval in step.in_avals] == [(2,), (2,), (2,), (), ()]
    assert [aval.shape for aval in step.out_avals] == [(2,), (2,), (), ()]


def test_an_initial_carry_gets_its_batch_axes_in_front():
    x, y, z = np.zeros((3, 2)), np.zeros(3), np.ones(4)

    placed = carry_in_front(AxisData(None, 2), [x, y, z], [1, None, None], [0, 0, None])

    assert [v.shape for v in placed] == [(2, 3), (2, 3), (4,)]
    assert placed[2] is z


def test_results_that_repeat_an_argument_are_found():
    matrix = np.ones(2)
    jaxpr = make_jaxpr(lambda x, y: (y, lax.sin(x), x, 2.0, y, matrix))(1.0, 2.0)
    assert forwarded_inputs(jaxpr) == [1, None, 0, None, 1, None]
