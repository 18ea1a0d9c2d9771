from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, linear_transpose
from calque_core import MissingRuleError, lax

pytestmark = pytest.mark.sampled(keep=0.1)

BATCHED = np.array([2, 0])


@pytest.mark.parametrize("index", [0, 1, -1, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_reading_and_replacing_a_slice_obey_the_laws(index, axis, laws, spaced):
    x, i = spaced((3, 2)), np.int32(index)
    laws(lambda x: lax.sin(lax.dynamic_index_in_dim(x, i, axis)), x)
    update = spaced((2, 3)[axis], seed=1)
    laws(lambda x, y: lax.sin(lax.dynamic_update_index_in_dim(x, y, i, axis)) * x, x, update)


def test_an_index_with_axes_obeys_the_laws(laws, spaced):
    x, update = spaced((2, 3, 2)), spaced((2, 2), seed=1)
    laws(lambda x: lax.sin(lax.dynamic_index_p.bind(x, BATCHED)), x)
    laws(lambda x, y: lax.sin(lax.dynamic_update_index_p.bind(x, y, BATCHED)) * x, x, update)


def test_what_is_not_read_has_no_gradient():
    bar = grad(lambda x: lax.dynamic_index_in_dim(x, 1, keepdims=False))(np.array([np.inf, 2.0, np.nan]))
    np.testing.assert_array_equal(bar, [0.0, 1.0, 0.0])


def test_the_transpose_in_the_index_is_refused():
    index = lambda i: lax.dynamic_index_p.bind(np.ones(3), lax.convert_element_type(i, np.int32))
    with pytest.raises(MissingRuleError, match="not linear"):
        linear_transpose(index, 1.0)(1.0)
