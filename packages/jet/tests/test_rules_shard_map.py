"""Taylor series of sharded programs, against the series of the same program on one device."""

import numpy as np
import pytest

from calque_core import AbstractMesh, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.lax import shard_map_p
from calque_jet import jet

MESH = AbstractMesh((4,), ("i",))
X = np.linspace(0.1, 0.8, 8)
SERIES = [np.cos(X), np.sin(3 * X), X**2]


def over(body, in_specs, out_specs, **options):
    return shard_map(body, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


@pytest.mark.parametrize("check_vma", [True, False])
def test_the_series_are_those_of_the_program_on_one_device(check_vma):
    sharded = over(
        lambda x: lax.exp(x) / lax.psum(lax.reduce_sum(lax.exp(x)), "i"), P("i"), P("i"), check_vma=check_vma
    )
    softmax = lambda x: lax.exp(x) / lax.reduce_sum(lax.exp(x))
    value, series = jet(sharded, (X,), (SERIES,))
    want, want_series = jet(softmax, (X,), (SERIES,))
    np.testing.assert_allclose(value, want)
    np.testing.assert_allclose(series, want_series)


def test_an_operand_without_a_series_has_no_coefficients_inside():
    f = over(lambda w, x: w * x, (P(), P("i")), P("i"))
    jaxpr = make_jaxpr(lambda x: jet(lambda x: f(2.0, x), (x,), (SERIES,)))(X)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is shard_map_p]
    assert eqn.params["in_specs"] == (P(), *[P("i")] * 4)
    assert len(eqn.outvars) == 4
