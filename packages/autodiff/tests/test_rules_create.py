from __future__ import annotations

import numpy as np

from calque_autodiff import grad, jvp
from calque_core import lax


def test_arrays_made_of_a_shape_are_constants():
    assert grad(lambda x: lax.reduce_sum(lax.mul(lax.iota(float, 4), x)))(2.0) == 6.0


def test_filled_arrays_carry_the_derivative_of_their_fill_value(laws):
    laws(lambda x: lax.mul(lax.full((2, 3), x), x), 1.5)


def test_arrays_like_another_do_not_depend_on_its_values():
    out, out_dot = jvp(lambda x: lax.add(lax.zeros_like(x), lax.ones_like(x)), (np.arange(3.0),), (np.ones(3),))
    assert out.tolist() == [1.0, 1.0, 1.0]
    assert out_dot.tolist() == [0.0, 0.0, 0.0]


def test_an_operation_without_operands_says_why_it_has_no_rules():
    assert lax.iota_p.holes["jvp"] == lax.iota_p.holes["transpose"] == "it has no operands"
