from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, linear_transpose
from calque_core import MissingRuleError, lax

pytestmark = pytest.mark.sampled(keep=0.1)


@pytest.mark.parametrize("index", [0, 1, -1, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_reading_and_replacing_a_slice_obey_the_laws(index, axis, laws, spaced):
    x, i = spaced((3, 2)), np.int32(index)
    laws(lambda x: lax.sin(lax.dynamic_index_in_dim(x, i, axis)), x)
    update = spaced((2, 3)[axis], seed=1)
    laws(lambda x, y: lax.sin(lax.dynamic_update_index_in_dim(x, y, i, axis)) * x, x, update)


@pytest.mark.parametrize("corner", [(0, 0), (1, -2), (9, 9)], ids=str)
def test_a_window_obeys_the_laws(corner, laws, spaced):
    x, update, starts = spaced((3, 4)), spaced((2, 3), seed=1), [np.int32(i) for i in corner]
    laws(lambda x: lax.sin(lax.dynamic_slice(x, starts, (2, 3))), x)
    laws(lambda x, y: lax.sin(lax.dynamic_update_slice(x, y, starts)) * x, x, update)


def test_what_is_not_read_has_no_gradient():
    bar = grad(lambda x: lax.dynamic_index_in_dim(x, 1, keepdims=False))(np.array([np.inf, 2.0, np.nan]))
    np.testing.assert_array_equal(bar, [0.0, 1.0, 0.0])


def test_the_transpose_in_the_index_is_refused():
    index = lambda i: lax.dynamic_slice_p.bind(np.ones(3), lax.convert_element_type(i, np.int32), slice_sizes=(1,))
    with pytest.raises(MissingRuleError, match="not linear"):
        linear_transpose(index, 1.0)(np.ones(1))
