from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose
from calque_core import MissingRuleError, float0, lax


@pytest.mark.parametrize("function", [lax.top_k, lax.approx_min_k])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (1,), (2, 0), (0, 3)], ids=str)
def test_choosing_obeys_the_laws(function, shape, spaced, laws):
    laws(lambda x: function(x, (shape[-1] + 1) // 2)[0], spaced(shape))


def test_the_first_of_equal_elements_has_the_derivative():
    assert grad(lambda x: lax.top_k(x, 1)[0][0])(np.array([1.0, 3.0, 3.0])).tolist() == [0.0, 1.0, 0.0]


def test_positions_have_float0_tangents():
    _, (values_dot, indices_dot) = jvp(lambda x: lax.top_k(x, 2), (np.array([1.0, 3.0, 2.0]),), (np.arange(3.0),))
    assert values_dot.tolist() == [1.0, 2.0]
    assert indices_dot.dtype == float0


def test_the_choice_of_an_unknown_array_is_not_linear():
    with pytest.raises(MissingRuleError, match="not linear, because of 'top_k'"):
        linear_transpose(lambda x: lax.top_k(x, 1)[0], np.zeros(3))(np.ones(1))
