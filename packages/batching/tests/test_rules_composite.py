import numpy as np

from calque_batching import vmap
from calque_core import lax, make_jaxpr

NAMED = lax.composite(lambda x: (lax.sin(x), lax.reduce_sum(x, 0), 2.0), "my.triple")


def test_a_composite_maps_over_every_axis(check_batching):
    check_batching(lambda x: NAMED(x)[:2], [(2, 3)], ["float64"])


def test_a_batch_is_that_of_the_decomposition():
    jaxpr = make_jaxpr(vmap(NAMED))(np.zeros((3, 2)))
    assert lax.composite_p not in [eqn.primitive for eqn in jaxpr.eqns]
