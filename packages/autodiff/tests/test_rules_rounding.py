from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose
from calque_core import MissingRuleError, float0, lax

ROUNDINGS = [lax.floor, lax.ceil, lax.round]


@pytest.mark.parametrize("op", ROUNDINGS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("shape", [(), (0,), (3,)], ids=str)
def test_rounding_has_a_zero_derivative(op, shape, spaced, laws):
    laws(op, spaced(shape, -3.0, 3.0))


@pytest.mark.parametrize("op", ROUNDINGS, ids=lambda op: op.__name__)
def test_what_is_added_to_a_rounded_number_keeps_its_derivative(op, spaced, laws):
    laws(lambda x: lax.mul(x, op(x)), spaced((3,), -3.0, 3.0))


def test_a_bool_result_has_a_float0_tangent():
    out, out_dot = jvp(lax.is_finite, (np.ones(2),), (np.ones(2),))
    assert out.tolist() == [True, True]
    assert out_dot.dtype == float0
    assert out_dot.shape == (2,)


def test_grad_through_a_bool_is_zero():
    assert grad(lambda x: lax.convert_element_type(lax.is_finite(x), float))(2.0) == 0.0


def test_transposing_a_rounding_says_that_its_derivative_is_zero():
    with pytest.raises(MissingRuleError, match=r"Transpose rule .* for 'floor' not implemented") as caught:
        linear_transpose(lax.floor, 1.0)(1.0)
    assert "its derivative is zero: rounding is piecewise constant" in str(caught.value)
