"""The arguments of distributed.initialize, and a process without other ones."""

import re

import numpy as np
import pytest

from calque_xla_backend import device_count, distributed, local_device_count, multihost, process_count, process_index

HERE = r"distributed\.initialize at test_distributed\.py:\d+ \(.*\)"
GOOD = {"coordinator_address": "localhost:1234", "num_processes": 2, "process_id": 1}


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"process_id": 2}, ValueError, "got process_id=2 with num_processes=2. Number the processes from 0 to 1."),
        ({"process_id": -1}, ValueError, "got process_id=-1 with num_processes=2. Number the processes from 0 to 1."),
        ({"num_processes": 0}, ValueError, "got process_id=1 with num_processes=0. Number the processes from 0 to 0."),
        ({"num_processes": 2.0}, TypeError, "got num_processes=2.0. Use an integer."),
        ({"process_id": "1"}, TypeError, "got process_id='1'. Use an integer."),
        ({"coordinator_address": "localhost"}, ValueError, "got coordinator_address='localhost', which is not an"),
        ({"coordinator_bind_address": ":1"}, ValueError, "got coordinator_bind_address=':1', which is not an address"),
        ({"initialization_timeout": 0}, ValueError, "got initialization_timeout=0. Use at least 1 second."),
        ({"heartbeat_timeout_seconds": 0.5}, TypeError, "got heartbeat_timeout_seconds=0.5. Use an integer."),
        ({"shutdown_timeout_seconds": -1}, ValueError, "got shutdown_timeout_seconds=-1. Use at least 1 second."),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, kind, words):
    with pytest.raises(kind, match=f"{HERE} {re.escape(words)}"):
        distributed.initialize(**GOOD | changes)


@pytest.mark.parametrize("name", GOOD)
def test_an_argument_that_is_missing_is_named_with_its_variable(name, monkeypatch):
    monkeypatch.delenv(variable := f"CALQUE_{name.upper()}", raising=False)
    with pytest.raises(ValueError, match=rf"{HERE} got no {name}\. Give the argument, or set {variable} in the env"):
        distributed.initialize(**GOOD | {name: None})


def test_a_variable_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv("CALQUE_PROCESS_ID", "one")
    with pytest.raises(ValueError, match=rf"{HERE}: CALQUE_PROCESS_ID is 'one'\. Set it to a number\."):
        distributed.initialize("localhost:1234", 2)


def test_initialize_after_the_first_use_of_a_device_is_refused():
    assert device_count() >= 1
    with pytest.raises(RuntimeError, match=rf"{HERE} was called after the first use of a device.*Call it before jit,"):
        distributed.initialize(**GOOD)
    assert not distributed.is_initialized()


def test_one_process_has_all_devices():
    assert (process_index(), process_count()) == (0, 1)
    assert local_device_count() == device_count()


def test_shutdown_without_a_connection_does_nothing():
    distributed.shutdown()
    assert not distributed.is_initialized()


def test_one_process_exchanges_values_with_itself():
    tree = {"w": np.arange(3.0), "n": 2}
    out = multihost.broadcast_one_to_all(tree)
    assert (out["w"].tolist(), out["n"].dtype, int(out["n"])) == ([0.0, 1.0, 2.0], np.int64, 2)
    assert multihost.process_allgather(tree)["w"].tolist() == [[0.0, 1.0, 2.0]]
    assert multihost.process_allgather(tree, tiled=True)["w"].tolist() == [0.0, 1.0, 2.0]
    multihost.assert_equal(tree)
    multihost.sync_global_devices("x")


def test_results_share_no_memory_with_the_arguments():
    x = np.arange(3.0)
    multihost.broadcast_one_to_all(x)[0] = 7.0
    multihost.process_allgather(x)[0, 0] = 7.0
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_values_that_are_sourced_by_nobody_are_refused():
    with pytest.raises(ValueError, match="no process is the source"):
        multihost.broadcast_one_to_all(1.0, is_source=False)
