import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax
from calque_core.lax import iota_p
from calque_core.primitives.rules import missing_rule


@pytest.mark.parametrize(
    "make",
    [
        lambda x: lax.iota(np.int32, 4),
        lambda x: lax.full((2, 4), 7.0),
        lax.zeros_like,
        lax.ones_like,
        lambda x: lax.full_like(x, 3),
        lambda x: lax.full_like(x, lax.reduce_sum(x)),
    ],
)
def test_arrays_made_of_a_shape_are_made_for_each_element(make, check_batching):
    check_batching(make, [(2, 4)], ["float64"])


def test_a_counter_is_made_once_for_all_elements():
    assert vmap(lambda x: lax.iota(np.int64, 4), out_axes=None)(np.zeros(3)).shape == (4,)


def test_the_missing_rule_of_iota_gives_its_reason():
    error = missing_rule(iota_p, "batch")

    assert "There is none because it has no operands." in str(error)
