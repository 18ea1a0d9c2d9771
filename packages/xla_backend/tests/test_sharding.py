"""Arrays over several devices: the claims of `shardings.py`, in a process with eight devices."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from claims import claims_of, outcomes_of

from calque_core import Mesh, PartitionSpec, ShapeDtypeStruct
from calque_xla_backend import NamedSharding, SingleDeviceSharding, device_put, devices

SCRIPT = Path(__file__).with_name("shardings.py")


@pytest.fixture(scope="module")
def outcomes():
    return outcomes_of(SCRIPT)


@pytest.mark.parametrize("claim", claims_of(SCRIPT))
def test_on_eight_devices(claim, outcomes):
    assert outcomes[claim] == "ok", outcomes[claim]


def test_a_copy_of_a_sharding_is_the_sharding_and_pickle_names_a_way_out():
    device = devices()[0]
    for sharding in (SingleDeviceSharding(device), NamedSharding(Mesh(np.array([device]), "x"), PartitionSpec("x"))):
        assert copy.deepcopy([sharding])[0] is sharding
        with pytest.raises(
            TypeError, match=r"^a sharding cannot be pickled: it holds .* of this process\. .*[mM]ake it"
        ):
            pickle.dumps(sharding)


def test_a_stand_in_like_an_array_is_where_the_array_is():
    x = device_put(np.ones(3), NamedSharding(Mesh(np.array(devices()[:1]), "x"), PartitionSpec("x")))
    assert ShapeDtypeStruct.like(x) == ShapeDtypeStruct((3,), np.float64, sharding=x.sharding)
