from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import UndefinedPrimal, Zero, backward_pass, deflinear, grad, linearize, transpose_jaxpr, vjp
from calque_autodiff.programs.transpose import is_linear
from calque_core import Primitive, check_jaxpr, eval_jaxpr, lax, make_jaxpr, typeof


def test_the_transpose_by_hand_of_a_product_and_a_sum():
    """f(x, y) = x y + y at (2, 4): the cotangents are y and x + 1."""
    assert vjp(lambda x, y: x * y + y, 2.0, 4.0)[1](1.0) == (4.0, 3.0)


def test_a_jaxpr_is_transposed_in_the_arguments_that_are_marked():
    jaxpr = make_jaxpr(lambda a, x, y: (lax.sin(a) * x, x - y))(2.0, 1.0, 1.0)
    transposed, nonzero = transpose_jaxpr(jaxpr, [False, True, True])
    check_jaxpr(transposed)
    assert nonzero == [True, True]
    assert eval_jaxpr(transposed, transposed.consts, 2.0, 1.0, 10.0) == [np.sin(2.0) + 10.0, -10.0]


def test_what_is_not_linear_is_evaluated_forward_first():
    jaxpr = make_jaxpr(lambda a, x: lax.exp(lax.sin(a)) * x)(2.0, 1.0)
    transposed, _ = transpose_jaxpr(jaxpr, [False, True])
    assert [eqn.primitive.name for eqn in transposed.eqns] == ["sin", "exp", "mul"]


def test_zero_cotangents_are_left_out_unless_they_are_asked_for():
    jaxpr = make_jaxpr(lambda x, y: 2.0 * x)(1.0, np.ones(3))
    _, nonzero = transpose_jaxpr(jaxpr, [True, True])
    assert nonzero == [True, False]
    whole, nonzero = transpose_jaxpr(jaxpr, [True, True], instantiate=True)
    assert nonzero == [True, True]
    assert eval_jaxpr(whole, whole.consts, 1.0)[1].tolist() == [0.0, 0.0, 0.0]


def test_cotangents_that_are_not_given_are_zero():
    jaxpr = make_jaxpr(lambda x: (2.0 * x, 3.0 * x))(1.0)
    transposed, _ = transpose_jaxpr(jaxpr, [True], [False, True])
    assert eval_jaxpr(transposed, transposed.consts, 1.0) == [3.0]


def test_a_transpose_is_made_once_per_jaxpr_and_mask():
    jaxpr = make_jaxpr(lambda x, y: 2.0 * x + y)(1.0, 1.0)
    assert transpose_jaxpr(jaxpr, [True, True])[0] is transpose_jaxpr(jaxpr, [True, True])[0]
    assert transpose_jaxpr(jaxpr, [True, True])[0] is not transpose_jaxpr(jaxpr, [True, False])[0]


def test_a_backward_pass_gives_zeros_for_what_is_known():
    jaxpr = make_jaxpr(lambda a, x: a * x)(2.0, 1.0)
    a_bar, x_bar = backward_pass(jaxpr, jaxpr.consts, [3.0, UndefinedPrimal(typeof(1.0))], [1.0])
    assert type(a_bar) is Zero
    assert x_bar == 3.0


def test_an_argument_returned_as_it_is_gets_the_sum_of_its_cotangents():
    assert vjp(lambda x: (x, x, 2.0 * x), 1.0)[1]((1.0, 10.0, 100.0)) == (211.0,)


def test_the_results_of_a_transposed_program_have_the_types_of_its_arguments():
    _, f_lin = linearize(lambda x, y: lax.reduce_sum(x * y), np.ones(3, np.float32), np.float32(2.0))
    jaxpr = make_jaxpr(f_lin)(np.ones(3, np.float32), np.float32(1.0))
    transposed, _ = transpose_jaxpr(jaxpr, [True, True])
    assert [aval.str_short() for aval in transposed.out_avals] == ["f32[3]", "f32[]"]


def test_an_error_of_a_transpose_rule_names_the_line_of_the_operation():
    refused_p = Primitive("refused")
    refused_p.def_impl(lambda x: x)
    refused_p.def_abstract_eval(lambda aval: aval)
    deflinear(refused_p, lambda ct, x: [int("no")])

    def f(x):
        return refused_p.bind(2.0 * x)

    with pytest.raises(ValueError, match="invalid literal") as caught:
        grad(f)(1.0)
    line = f.__code__.co_firstlineno + 1
    assert caught.value.__notes__[0].startswith(f"This happened in the backward pass at test_transpose.py:{line} ")


def test_the_mask_of_linear_operands_tells_them_by_their_class():
    assert is_linear([0.0, UndefinedPrimal(typeof(1.0)), np.ones(2)]) == [False, True, False]
