import numpy as np

from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_core.lax import platform_dependent, platform_dependent_p


def choose(x, y):
    return platform_dependent(x, y, cpu=lambda x, y: (lax.add(x, y), y), default=lambda x, y: (y, x))


def test_functions_by_platform_map_over_every_axis(check_batching):
    check_batching(choose, [(2, 3), (2, 3)], ["float64", "float64"])


def test_a_result_that_one_function_maps_is_mapped_by_all():
    jaxpr = make_jaxpr(vmap(choose, in_axes=(0, None)))(np.zeros(3), 1.0)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is platform_dependent_p]
    assert [str(v.aval) for v in eqn.outvars] == ["float64[3]", "float64[3]"]
    np.testing.assert_array_equal(vmap(choose, in_axes=(0, None))(np.arange(3.0), 1.0)[1], np.ones(3))
