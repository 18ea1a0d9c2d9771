"""Claims about programs and arrays on two devices; `test_two_devices.py` runs this file in a process that has two.

Each function whose name begins with `check_` is a claim.  The output has one line for each: its name, and "ok" or the
traceback.
"""

import copy
import pickle
import threading
import traceback

import numpy as np
import pytest

from calque_core import config, make_jaxpr
from calque_core.lax import jit_p
from calque_pytree import tree_map
from calque_xla_backend import (
    SingleDeviceSharding,
    default_backend,
    device_count,
    device_put,
    devices,
    explain,
    jit,
    live_arrays,
)

config.cpu_devices(2)
ONE, TWO = devices()
HERE = r"two_devices\.py:\d+"


def places(tree):
    """Return the ids of the devices of the arrays in a tree."""
    return tree_map(lambda x: x.device.id, tree)


# The number of devices


def check_the_number_of_devices_is_the_one_that_was_asked_for():
    assert device_count() == 2
    assert [repr(device) for device in devices("cpu")] == ["CpuDevice(id=0)", "CpuDevice(id=1)"]
    config.cpu_devices(2)  # says the same again


def check_another_number_is_refused_once_the_devices_exist():
    with pytest.raises(
        RuntimeError,
        match=r"cpu_devices got 3, but a backend has already started with 2 devices, for the life of .* "
        "Call cpu_devices before the first use of jit",
    ):
        config.cpu_devices(3)


# Arrays on a device


def check_an_array_tells_its_device():
    x = device_put(np.ones(3), TWO)
    assert (x.device, x.devices(), x.sharding) == (TWO, {TWO}, SingleDeviceSharding(TWO))
    assert x.sharding != device_put(1.0, ONE).sharding
    assert hash(x.sharding) == hash(SingleDeviceSharding(TWO))
    assert x.sharding.device_set == {TWO}


def check_device_put_takes_a_prefix_of_devices_and_shardings():
    x = device_put(5.0, TWO)
    tree = {"a": (1.0, np.ones(2)), "b": x, "c": x}
    put = device_put(tree, {"a": TWO, "b": None, "c": device_put(1.0, ONE).sharding})
    assert places(put) == {"a": (1, 1), "b": 1, "c": 0}
    assert put["b"] is x
    assert places(device_put(tree, x.sharding)) == {"a": (1, 1), "b": 1, "c": 1}
    np.testing.assert_array_equal(put["a"][1], np.ones(2))


def check_device_put_names_a_wrong_device_or_a_wrong_prefix():
    with pytest.raises(
        ValueError, match=rf"device_put at {HERE} .* got 'cpu', which is not a device\. Use one of: Cpu"
    ):
        device_put({"a": 1.0}, {"a": "cpu"})
    with pytest.raises(ValueError, match=r"^the argument device of device_put has a dict with the keys \['b'\] at "):
        device_put({"a": 1.0}, {"b": TWO})


def check_a_move_keeps_value_type_and_weakness_and_leaves_the_original():
    x = jit(lambda: 2.0)()
    moved = device_put(x, TWO)
    assert (repr(moved), moved.device, x.device) == ("Array(2., dtype=float64, weak_type=True)", TWO, ONE)
    assert device_put(moved) is moved


def check_copies_stay_on_the_device_and_pickles_leave_it():
    x = device_put(np.ones(2), TWO)
    assert [copy.copy(x).device, copy.deepcopy(x).device, pickle.loads(pickle.dumps(x)).device] == [TWO, TWO, ONE]


def check_live_arrays_know_their_devices():
    x = device_put(np.arange(7.0), TWO)
    (same,) = [y for y in live_arrays() if y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()]
    assert (same.device, same.dtype, same.tolist()) == (TWO, np.float64, x.tolist())
    x.delete()
    assert same.is_deleted()
    assert all(not y.is_deleted() for y in live_arrays())


# Programs


def check_a_program_runs_where_its_arrays_are():
    f = jit(lambda x, y=2.0: (x + y, {"s": x}))
    for device in (ONE, TWO, ONE):
        x = device_put(1.0, device)
        assert places(f(x)) == places(f(x, 3.0)) == places(f(x, y=x)) == (device.id, {"s": device.id})
        assert (x + x).device == x[None].device == np.sin(x).device == device


def check_arrays_on_two_devices_are_refused_with_both_names():
    x, y = device_put(1.0, ONE), device_put(2.0, TWO)
    for f, name in ((jit(lambda x, y: x + y), "jit of <lambda>"), (lambda x, y: x + y, "add")):
        with pytest.raises(
            ValueError, match=rf"^{name} .*got arrays on cpu:0 and cpu:1\. Move them to one device with"
        ):
            f(x, y)
        f(x, x)
        with pytest.raises(ValueError, match="cpu:0 and cpu:1"):
            f(y, x)


def check_a_captured_array_is_a_constant_and_goes_where_the_program_runs():
    table = device_put(np.ones(2), TWO)
    f = jit(lambda x: x + table)
    assert f(device_put(1.0, ONE)).device == ONE
    assert f(device_put(1.0, TWO)).device == TWO
    assert table.device == TWO


def check_an_argument_is_donated_on_its_device():
    f = jit(lambda x: x + 1.0, donate_argnums=0)
    for device in (ONE, TWO):
        x = device_put(np.ones(1000), device)
        assert f(x).device == device
        assert x.is_deleted()


# jit(device=)


def check_device_moves_all_arguments():
    f = jit(lambda x, y: x + y, device=TWO)
    values = [1.0, np.float64(1.0), np.ones(()), device_put(1.0, ONE), device_put(1.0, TWO)]
    for _ in range(2):
        assert {f(x, y).device for x in values for y in values} == {TWO}
    assert {float(f(x, y)) for x in values for y in values} == {2.0}
    assert f.cache_info().traces <= 4  # weak and strong: the device is no part of a trace
    assert values[3].device == ONE


def check_a_donated_argument_that_was_moved_stays():
    f = jit(lambda x: x + 1.0, device=TWO, donate_argnums=0)
    here, there = device_put(np.ones(1000), ONE), device_put(np.ones(1000), TWO)
    f(here), f(there)
    assert (here.is_deleted(), there.is_deleted()) == (False, True)


def check_a_platform_is_its_default_device():
    f = jit(lambda x: x + 1.0, backend="cpu")
    assert f(device_put(1.0, TWO)).device == ONE
    with config.default_device(TWO):
        assert f(device_put(1.0, ONE)).device == TWO


def check_the_device_holds_under_transformations():
    f = jit(lambda x: x * x, device=TWO)
    jaxpr = make_jaxpr(f)(1.0)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is jit_p
    (out,) = jit_p.bind(device_put(3.0, ONE), **eqn.params)
    assert (out.device, float(out)) == (TWO, 9.0)


def check_the_stages_ahead_of_time_know_the_device():
    f = jit(lambda x: x + 1.0, device=TWO)
    compiled = f.lower(np.float64(1.0)).compile()
    assert compiled(1.0).device == compiled(device_put(1.0, TWO)).device == TWO
    with config.default_device(TWO):
        lowered = jit(lambda x: x + 2.0).lower(1.0)
    assert lowered.compile()(1.0).device == TWO


def check_explain_asks_for_the_program_of_the_device():
    f = jit(lambda x: x + 3.0, device=TWO)
    f(1.0)
    assert explain(f, 2.0).action == "nothing"
    with config.default_device(TWO):
        assert "default_device" in str(explain(f, 2.0))


def check_an_inner_device_decides_for_the_whole_program():
    inner = jit(lambda x: x + 1.0, device=TWO)
    outer = jit(lambda x: 2.0 * inner(x))
    assert outer(1.0).device == outer(device_put(1.0, TWO)).device == TWO
    with config.default_device(ONE):
        assert outer(1.0).device == TWO


def check_two_devices_in_one_program_are_refused_with_both_names():
    inner = jit(lambda x: x + 1.0, device=TWO)

    def outer(x):
        return 2.0 * inner(x)

    words = rf"^jit of outer at {HERE} .* runs on cpu:0, but jit of <lambda>, which it calls, on cpu:1\. Use one device"
    with pytest.raises(ValueError, match=words):
        jit(outer)(device_put(1.0, ONE))
    with pytest.raises(ValueError, match=words):
        jit(outer, device=ONE)(1.0)
    assert jit(outer, device=TWO)(device_put(1.0, ONE)).device == TWO


def check_device_and_backend_together_are_refused():
    with pytest.raises(ValueError, match=r"got device=CpuDevice\(id=1\) and backend='cpu'\. Choose one of the two\."):
        jit(abs, device=TWO, backend="cpu")


# default_device


def check_new_arrays_and_programs_of_numpy_values_go_to_the_default_device():
    f = jit(lambda x: x + 1.0)
    for _ in range(2):
        assert f(1.0).device == device_put(1.0).device == ONE
        with config.default_device(TWO):
            assert f(1.0).device == f(np.ones(3)).device == device_put(1.0).device == jit(lambda: 1.0)().device == TWO
            assert f(device_put(1.0, ONE)).device == ONE
            with config.default_device(None):
                assert f(1.0).device == ONE
            assert default_backend() == "cpu"
    assert f(1.0).device == ONE


def check_the_default_device_is_a_setting_of_the_thread():
    f, seen = jit(lambda x: x + 1.0), []
    with config.default_device(TWO):
        thread = threading.Thread(target=lambda: seen.append(f(1.0).device))
        thread.start()
        thread.join()
        seen.append(f(1.0).device)
    assert seen == [ONE, TWO]


def check_the_default_device_of_the_process():
    f = jit(lambda x: x + 1.0)
    config.update("default_device", TWO)
    try:
        assert (f(1.0).device, device_put(2.0).device, config.current().default_device) == (TWO, TWO, TWO)
    finally:
        config.update("default_device", None)
    assert f(1.0).device == ONE


def check_what_is_no_device_is_refused_with_the_list():
    with pytest.raises(
        ValueError,
        match=r"default_device was set to 'cpu', which is not a device of a backend\. Use one of: CpuDevice\(id=0\)",
    ):
        config.default_device("cpu")


if __name__ == "__main__":
    for name, check in [item for item in globals().items() if item[0].startswith("check_")]:
        try:
            check()
            print(repr((name, "ok")))
        except BaseException:  # noqa: BLE001  the parent shows it
            print(repr((name, traceback.format_exc())))
