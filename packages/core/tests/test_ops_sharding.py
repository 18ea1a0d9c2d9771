import numpy as np
import pytest

from calque_core import AbstractMesh, ShapeError, make_jaxpr
from calque_core import PartitionSpec as P
from calque_core.lax import sharding_constraint_p

MESH = AbstractMesh((2,), ("i",))


def constrained(x):
    return sharding_constraint_p.bind(x, mesh=MESH, spec=P("i"))


def test_a_constraint_changes_no_value_and_keeps_the_type():
    x = np.arange(4, dtype=np.int8)

    assert constrained(x) is x
    assert str(make_jaxpr(constrained)(x).out_avals[0]) == "int8[4]"


@pytest.mark.parametrize("run", [constrained, make_jaxpr(constrained)])
def test_a_spec_that_does_not_fit_is_refused(run):
    with pytest.raises(ShapeError, match=r"sharding_constraint of float64\[3\].*size 3, which does not divide into 2"):
        run(np.zeros(3))
