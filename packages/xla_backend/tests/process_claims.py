"""Claims about two processes, which have two devices each; `test_processes.py` runs this file twice.

Arguments: the port of the coordinator, and the number of this process.  Both processes check each claim.
"""

import sys

import numpy as np
import pytest
from claims import report

from calque_core import config
from calque_xla_backend import (
    device_count,
    devices,
    distributed,
    local_device_count,
    local_devices,
    multihost,
    process_count,
    process_index,
)

HERE = r"process_claims\.py:\d+"


# Devices


def check_devices_are_those_of_all_processes_and_local_devices_those_of_one():
    assert [device.process_index for device in devices()] == [0, 0, 1, 1]
    assert local_devices() == [device for device in devices() if device.process_index == process_index()]
    assert devices("cpu") == devices()
    assert local_devices("cpu") == local_devices()


def check_processes_and_devices_are_counted():
    assert (process_count(), device_count(), local_device_count()) == (2, 4, 2)
    assert distributed.is_initialized()


def check_a_second_initialize_is_refused():
    with pytest.raises(RuntimeError, match=rf"distributed\.initialize at {HERE}.* was called twice\. Call it once"):
        distributed.initialize()


# Values for all processes


def check_broadcast_gives_the_values_of_process_0():
    mine = {"w": np.arange(3.0) + process_index(), "n": process_index(), "half": np.float16(process_index() + 0.5)}
    out = multihost.broadcast_one_to_all(mine)
    assert {name: (x.dtype.name, x.tolist()) for name, x in out.items()} == {
        "w": ("float64", [0.0, 1.0, 2.0]), "n": ("int64", 0), "half": ("float16", 0.5)
    }  # fmt: skip


def check_broadcast_takes_the_source_that_is_named():
    assert multihost.broadcast_one_to_all(process_index(), is_source=process_index() == 1) == 1


def check_broadcast_refuses_two_sources_and_none():
    with pytest.raises(
        ValueError, match=rf"broadcast_one_to_all at {HERE}.*: the processes 0, 1 are sources\. Let one"
    ):
        multihost.broadcast_one_to_all(1.0, is_source=True)
    with pytest.raises(ValueError, match=r"no process is the source\. Let one process pass is_source=True"):
        multihost.broadcast_one_to_all(1.0, is_source=False)


def check_broadcast_carries_more_than_one_message_of_grpc():
    size = 3 << 20
    out = multihost.broadcast_one_to_all(np.full(size, process_index() + 1.0))
    assert out.shape == (size,)
    assert (out == 1.0).all()


def check_allgather_stacks_the_arrays_or_joins_them():
    mine = np.array([process_index(), 7], np.int32)
    stacked, joined = multihost.process_allgather(mine), multihost.process_allgather(mine, tiled=True)
    assert (stacked.tolist(), stacked.dtype) == ([[0, 7], [1, 7]], np.int32)
    assert joined.tolist() == [0, 7, 1, 7]
    assert multihost.process_allgather(process_index(), tiled=True).tolist() == [0, 1]


def check_trees_that_do_not_fit_are_refused_in_both_processes():
    with pytest.raises(
        ValueError, match=r"in_tree\['w'\] is f64\[2\] in process 1, f64\[1\] in process 0\. Give arrays"
    ):
        multihost.process_allgather({"w": np.zeros(1 + process_index())})
    with pytest.raises(ValueError, match=r"in_tree has the structure .* in process 1, .* in process 0\. Give trees"):
        multihost.broadcast_one_to_all([1.0] * (1 + process_index()))


def check_equal_values_pass_nan_included():
    multihost.assert_equal({"w": np.array([1.0, np.nan]), "name": 3})


def check_unequal_values_are_named_in_both_processes():
    text = rf"step: multihost\.assert_equal at {HERE}.*: in_tree\['b'\] is array\(1\) in process 1, array\(0\) in"
    with pytest.raises(AssertionError, match=text):
        multihost.assert_equal({"a": 2, "b": process_index()}, "step")


def check_a_barrier_passes_and_names_that_differ_are_shown():
    multihost.sync_global_devices("here")
    with pytest.raises(AssertionError, match=rf"process 1 has 'p1' at {HERE}.*, process 0 'p0' at {HERE}.*Give one"):
        multihost.sync_global_devices(f"p{process_index()}")


def check_processes_in_different_calls_are_told_where_the_other_is():
    calls = [lambda: multihost.sync_global_devices("x"), lambda: multihost.assert_equal(1)]
    with pytest.raises(RuntimeError, match=rf"process {1 - process_index()} is in multihost\..* at {HERE}.* instead"):
        calls[process_index()]()


def check_too_many_bytes_are_refused_with_a_way_out():
    big = np.broadcast_to(np.int8(0), (2**28 + 1,))
    with pytest.raises(
        ValueError, match=r"got 268435457 bytes on each of 2 processes.*make_array_from_process_local_data"
    ):
        multihost.process_allgather(big)
    multihost.sync_global_devices("the order of rounds is kept")


def check_a_leaf_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"in_tree\['name'\] is 'run 1' of type str, which is not an array"):
        multihost.broadcast_one_to_all({"name": "run 1"})


if __name__ == "__main__":
    config.cpu_devices(2)
    distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
    report(globals())
