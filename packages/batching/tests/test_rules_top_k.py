import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.5)


@pytest.mark.parametrize("axis", [0, 1])
def test_choosing_maps_over_every_axis(axis, check_batching):
    check_batching(lambda x: lax.top_k(x, 2, axis=axis), [(2, 3)], ["float64"])
    check_batching(lambda x: lax.approx_min_k(x, 2, axis), [(2, 3)], ["float64"])


def test_a_mapped_choice_is_one_choice_along_another_axis():
    jaxpr = make_jaxpr(vmap(lambda x: lax.top_k(x, 2), in_axes=1))(np.zeros((5, 3)))
    assert [(eqn.primitive, eqn.params["axis"]) for eqn in jaxpr.eqns[:1]] == [(lax.top_k_p, 0)]
