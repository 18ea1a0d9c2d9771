"""`vmap(missing="loop")`: operations without a batching rule run for one element after the other."""

import numpy as np
import pytest

from calque_batching import batch_jaxpr_axes, vmap
from calque_batching.batch_trace import AxisData
from calque_core import MissingRuleError, Primitive, eval_jaxpr, lax, make_jaxpr

XS = np.arange(6.0).reshape(2, 3)

swap_p = Primitive("swap", multiple_results=True)  # of two operands and a parameter, without a batching rule
swap_p.def_impl(lambda x, y, *, scale: [y * scale, x])
swap_p.def_abstract_eval(lambda x_aval, y_aval, *, scale: [y_aval.strip_weak_type(), x_aval.strip_weak_type()])


def swap(x, y):
    return swap_p.bind(x, y, scale=2.0)


def test_without_it_the_error_names_it():
    with pytest.raises(MissingRuleError, match="Batching rule for 'swap' not implemented") as caught:
        vmap(swap)(XS, XS)
    assert "vmap(.., missing='loop') runs 'swap' for one element after the other." in str(caught.value)


def test_other_values_of_it_are_refused():
    with pytest.raises(ValueError, match=r"vmap of swap \(.*\) got missing='map'\. Give 'error' or 'loop'\."):
        vmap(swap, missing="map")


@pytest.mark.parametrize("in_axes", [(0, 0), (1, -1), (0, None), (None, 1)])
def test_the_results_are_those_of_the_elements(in_axes):
    loop = vmap(swap, in_axes, missing="loop")
    first, second = vmap(lambda x, y: (y * 2.0, x), in_axes, out_axes=0)(XS, XS + 1.0)
    staged = make_jaxpr(loop)(XS, XS + 1.0)
    for outs in (loop(XS, XS + 1.0), eval_jaxpr(staged, staged.consts, XS, XS + 1.0)):
        np.testing.assert_array_equal(outs[0], first)
        np.testing.assert_array_equal(outs[1], second)


def test_a_batch_without_elements_has_results_of_the_right_types():
    first, second = vmap(swap, missing="loop")(np.ones((0, 3), "float32"), np.ones((0, 2)))
    assert (first.shape, first.dtype, second.shape, second.dtype) == ((0, 2), "float64", (0, 3), "float32")


def test_only_the_operation_without_a_rule_is_a_loop():
    jaxpr = make_jaxpr(vmap(lambda x: lax.sin(swap(x * 2.0, x)[0]), missing="loop"))(XS)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "scan", "sin"]


def test_it_holds_in_programs_inside_and_is_part_of_their_key():
    repeated = lambda x: lax.fori_loop(0, 3, lambda i, y: swap(y, y)[0], x)
    np.testing.assert_array_equal(vmap(repeated, missing="loop")(XS), 8.0 * XS)
    jaxpr = make_jaxpr(swap)(1.0, 1.0)
    batch_jaxpr_axes(jaxpr, AxisData(None, 2, "loop"), [0, 0])
    with pytest.raises(MissingRuleError):
        batch_jaxpr_axes(jaxpr, AxisData(None, 2), [0, 0])


def test_each_vmap_has_its_own():
    both = vmap(vmap(swap, missing="loop"), missing="loop")
    np.testing.assert_array_equal(both(XS, XS)[0], 2.0 * XS)
    with pytest.raises(MissingRuleError):
        vmap(vmap(swap, missing="loop"))(XS, XS)


def test_an_operation_on_unmapped_operands_runs_once():
    jaxpr = make_jaxpr(vmap(lambda x: x + swap(1.0, 2.0)[0], missing="loop"))(XS)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["swap", "add"]


def test_the_loop_needs_the_types_of_the_operation():
    untyped_p = Primitive("untyped")
    untyped_p.def_impl(lambda x: x)
    with pytest.raises(MissingRuleError, match="Abstract evaluation for 'untyped' not implemented"):
        vmap(untyped_p.bind, missing="loop")(XS)
