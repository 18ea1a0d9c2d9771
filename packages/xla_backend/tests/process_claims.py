"""Claims about two processes, which have two devices each; `test_processes.py` runs this file twice.

Arguments: the port of the coordinator, and the number of this process.  Both processes check each claim.
"""

import sys

import numpy as np
import pytest
from claims import report

from calque_core import PartitionSpec as P
from calque_core import config, lax, shard_map
from calque_xla_backend import (
    NamedSharding,
    device_count,
    device_put,
    devices,
    distributed,
    jit,
    local_device_count,
    local_devices,
    make_array_from_process_local_data,
    make_mesh,
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
        distributed.initialize("localhost:1", 2, process_index())


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


# Arrays over the devices of both processes


def mesh():
    """Return a mesh whose axis "i" goes over the processes, and "j" over the devices of each."""
    return make_mesh((2, 2), ("i", "j"))


def over(*names):
    """Return a sharding over the mesh."""
    return NamedSharding(mesh(), P(*names))


ROWS = np.arange(32.0).reshape(8, 4)


def local_rows():
    """Return the rows of this process."""
    return ROWS[4 * process_index() : 4 * process_index() + 4]


def check_an_array_of_all_processes_has_the_elements_of_each():
    for spec, mine in [
        (("i",), local_rows()),
        (("i", "j"), local_rows()),
        (("j", "i"), ROWS[:, 2 * process_index() : 2 * process_index() + 2]),
        ((("i", "j"),), local_rows()),
        (("j",), ROWS),
        ((), ROWS),
    ]:
        x = make_array_from_process_local_data(over(*spec), mine)
        assert (x.shape, x.sharding, x.is_fully_addressable) == (ROWS.shape, over(*spec), False)
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), ROWS[shard.index])
        np.testing.assert_array_equal(multihost.process_allgather(x, tiled=True), ROWS)


def check_local_data_may_be_the_whole_axis_if_the_global_shape_says_so():
    x = make_array_from_process_local_data(over("i", "j"), ROWS, ROWS.shape)
    np.testing.assert_array_equal(multihost.process_allgather(x, tiled=True), ROWS)


def check_local_data_that_does_not_fit_is_refused_with_the_numbers():
    words = r"local_data of the shape \(4, 3\), but the devices of this process hold \(1, 2\) of \(2, 2\) parts of its"
    with pytest.raises(ValueError, match=rf"make_array_from_process_local_data at {HERE}.* got {words} axes\. Give"):
        make_array_from_process_local_data(over("i", "j"), np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"\(4, 4\) for the global_shape \(9, 4\), but the devices of this"):
        make_array_from_process_local_data(over("i", "j"), np.ones((4, 4)), (9, 4))
    with pytest.raises(TypeError, match=r"got .* as its sharding\. Use a NamedSharding\."):
        make_array_from_process_local_data(local_devices()[0], np.ones(4))
    with pytest.raises(TypeError, match=r"got .* as local_data\. Use a NumPy array\."):
        make_array_from_process_local_data(over("i"), "rows")


def check_device_put_takes_the_elements_of_this_process():
    x = device_put(ROWS, over("i"))
    assert [shard.data is None for shard in x.global_shards] == [i // 2 != process_index() for i in range(4)]
    np.testing.assert_array_equal(multihost.process_allgather(x, tiled=True), ROWS)


def check_reading_elements_of_other_processes_is_refused_with_a_way_out():
    x = device_put(ROWS, over("i"))
    words = r"has elements on devices of other processes.*Use multihost\.process_allgather, or read its addressable_sh"
    for read in (np.asarray, lambda y: y.tolist(), multihost.broadcast_one_to_all):
        with pytest.raises(RuntimeError, match=words):
            read(x)
    assert repr(x) == str(x) == f"Array(float64[8,4], {over('i')})"


def check_gathering_arrays_of_all_processes_stacks_nothing():
    with pytest.raises(ValueError, match=r"in_tree\['w'\] is an array over devices of several processes\. Use tiled"):
        multihost.process_allgather({"w": device_put(ROWS, over("i"))})
    both = multihost.process_allgather({"w": device_put(ROWS, over("i")), "n": process_index()}, tiled=True)
    assert both["n"].tolist() == [0, 1]
    np.testing.assert_array_equal(both["w"], ROWS)


def check_a_copy_on_all_devices_is_read_like_any_array():
    x = device_put(ROWS, over())
    np.testing.assert_array_equal(np.asarray(x), ROWS)
    assert repr(x).startswith("Array([[")


def check_programs_move_arrays_between_processes_and_device_put_does_not():
    x = device_put(ROWS, over("i"))
    with pytest.raises(ValueError, match=rf"device_put at {HERE}.*only programs move\. Use jit\(lambda x: x, out_sha"):
        device_put(x, over("j"))
    moved = jit(lambda x: x, out_shardings=over("j"))(x)
    assert moved.sharding == over("j")
    np.testing.assert_array_equal(np.asarray(moved.addressable_data(1)), ROWS[4:])


def check_devices_of_other_processes_are_refused():
    theirs = [device for device in devices() if device.process_index != process_index()]
    words = (
        rf"cpu:\d+ at {HERE}.*: only other processes have these devices; this process, number {process_index()}, has"
    )
    for put in (
        lambda: device_put(1.0, theirs[0]),
        lambda: device_put(ROWS, NamedSharding(make_mesh((2,), "i", devices=theirs), P("i"))),
        lambda: jit(lax.sin, device=theirs[0])(1.0),
    ):
        with pytest.raises(ValueError, match=words):
            put()


# Programs over the devices of both processes


def check_a_divided_program_has_the_values_of_one_process():
    x = make_array_from_process_local_data(over("i", "j"), local_rows())
    total, product = jit(lambda x: (lax.reduce_sum(x, (0, 1)), lax.dot(x, lax.transpose(x, (1, 0)))))(x)
    assert float(total) == ROWS.sum()
    np.testing.assert_array_equal(multihost.process_allgather(product, tiled=True), ROWS @ ROWS.T)


def check_operations_outside_of_jit_run_in_all_processes():
    x = make_array_from_process_local_data(over("i"), local_rows())
    np.testing.assert_array_equal(multihost.process_allgather(lax.neg(x) + 1.0, tiled=True), 1.0 - ROWS)


def check_collectives_of_shard_map_go_over_processes():
    x = make_array_from_process_local_data(over("i", "j"), local_rows())
    body = shard_map(
        lambda x: (lax.psum(x, "i"), lax.axis_index("i") + 0 * lax.psum(1, "j")),
        mesh=mesh(),
        in_specs=P("i", "j"),
        out_specs=(P(None, "j"), P()),
        check_vma=False,
    )
    summed, _ = jit(body)(x)
    np.testing.assert_array_equal(multihost.process_allgather(summed, tiled=True), ROWS[:4] + ROWS[4:])


def check_a_loop_of_collectives_keeps_its_order():
    x = make_array_from_process_local_data(over(("i", "j")), local_rows())
    f = jit(lambda x: lax.reduce_sum(x * x, (0, 1)))
    assert [float(f(x + k)) for k in range(20)] == [((ROWS + k) ** 2).sum() for k in range(20)]


if __name__ == "__main__":
    config.cpu_devices(2)
    distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
    report(globals())
