"""Several platforms in one process.  A second client of the host's processor plays the client of a plugin."""

import logging
import os
import re

import numpy as np
import pytest
from jaxlib import xla_client as xc

from calque_core import MissingRuleError, Primitive, ShapeDtypeStruct, config, pure_callback, start_requests
from calque_xla_backend import (
    default_backend,
    device_put,
    devices,
    hlo,
    jit,
    plugins,
    register_lowering,
    register_plugin,
)
from calque_xla_backend.runtime import clients, distributed
from calque_xla_backend.runtime import plugins as plugins_module


@pytest.fixture
def chip(monkeypatch, tmp_path):
    """Make the platform "chip" known; return the list of clients that its plugin has started."""
    started = []

    def start(plugin):
        started.append(xc.make_cpu_client(num_devices=2))
        return started[-1]

    for name in ("_platforms", "_memory"):
        request = getattr(start_requests, name)
        monkeypatch.setattr(start_requests, name, start_requests.Request(request.caller, request.show))
    monkeypatch.setattr(clients, "_clients", dict(clients._clients))
    monkeypatch.setattr(clients, "_default", [])
    monkeypatch.setattr(plugins_module, "_registered", {})
    monkeypatch.setattr(plugins_module, "_problems", {})
    monkeypatch.setattr(plugins_module, "_announced", list)
    monkeypatch.setattr(plugins_module, "_start", start)
    (tmp_path / "chip.so").touch()
    register_plugin("chip", tmp_path / "chip.so")
    return started


class FewDevices:
    """Plays jaxlib's client of the host's processor, and notes the number of threads that XLA would read."""

    threads = ()

    def __init__(self, num_devices, **_):
        self.num_devices = num_devices
        FewDevices.threads = tuple(os.environ.get(name) for name in ("PJRT_NPROC", "NPROC"))

    def local_device_count(self):
        return self.num_devices


@pytest.mark.parametrize(
    ("requested", "environment", "threads"),
    [
        (4, {}, (str(os.cpu_count() + 8), None)),  # three devices may wait for the fourth, and threads still compute
        (1, {}, (None, None)),
        (4, {"PJRT_NPROC": "5"}, ("5", None)),
        (4, {"NPROC": "6"}, (None, "6")),
    ],
)
def test_virtual_devices_that_wait_for_one_another_leave_threads_to_compute(
    requested, environment, threads, monkeypatch
):
    for name in ("PJRT_NPROC", "NPROC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(clients.xc, "make_cpu_client", FewDevices)
    monkeypatch.setattr(clients, "requested_cpu_devices", lambda: requested)
    monkeypatch.setattr(clients, "fix_cpu_devices", lambda count: None)
    assert clients._start_cpu().num_devices == requested
    assert FewDevices.threads == threads
    assert {name: os.environ[name] for name in ("PJRT_NPROC", "NPROC") if name in os.environ} == environment


def refuse(plugin):
    raise RuntimeError("INTERNAL: it is too warm")


def test_the_first_plugin_that_starts_is_the_default(chip):
    assert (default_backend(), len(devices()), len(chip)) == ("chip", 2, 1)
    assert devices() == devices("chip") == chip[0].local_devices()
    x = jit(lambda x: x * 2.0)(np.arange(3.0))
    assert x.device is devices()[0]
    np.testing.assert_array_equal(x, [0.0, 2.0, 4.0])


def test_arrays_move_between_platforms_and_programs_run_where_they_are(chip):
    (host, *_), (one, two) = devices("cpu"), devices("chip")
    x = device_put(np.arange(3.0), two)
    assert (x.device, (x + 1.0).device, jit(np.sin)(x).device) == (two, two, two)
    back = device_put(x, host)
    assert back.device is host
    np.testing.assert_array_equal(back, x)
    assert not np.asarray(x).flags.writeable
    assert jit(np.cos, backend="cpu")(x).device is host
    with config.default_device(one):
        assert jit(np.cos)(1.0).device is one
    with pytest.raises(ValueError, match="Move them to one device"):
        jit(lambda x, y: x + y)(x, back)


def test_the_user_chooses_the_platforms(chip):
    config.platforms("cpu")
    assert (default_backend(), len(chip)) == ("cpu", 0)
    with pytest.raises(RuntimeError, match=r"got backend='chip', but there is no such device\. Use one of: cpu\.$"):
        devices("chip")
    with pytest.raises(RuntimeError, match=r"platforms got 'chip', but a backend has already started with 'cpu'"):
        config.platforms("chip")


def test_a_platform_that_is_not_there_is_refused_by_name(chip):
    config.platforms("gpu", "cpu")
    words = (
        r"^config\.platforms got 'gpu', but there is no such device\. Use one of: chip, cpu\. A GPU needs its plugin"
    )
    with pytest.raises(RuntimeError, match=words):
        devices()


def test_a_plugin_that_fails_is_one_line_of_the_log_and_the_processor_is_used(chip, monkeypatch, caplog):
    monkeypatch.setattr(plugins_module, "_start", refuse)
    with caplog.at_level(logging.WARNING, "calque"):
        assert default_backend() == "cpu"
        assert float(jit(lambda x: x + 1.0)(1.0)) == 2.0
    (record,) = caplog.records
    assert record.getMessage().startswith("the platform 'chip' cannot start")
    assert record.getMessage().endswith("INTERNAL: it is too warm. Programs run on the host's processor.")
    assert plugins()[0].problem == "INTERNAL: it is too warm."
    with pytest.raises(RuntimeError, match=r"the platform 'chip' cannot start .*: INTERNAL: it is too warm\."):
        devices("chip")


def test_a_plugin_that_the_user_asked_for_must_start(chip, monkeypatch):
    monkeypatch.setattr(plugins_module, "_start", refuse)
    config.platforms("chip", "cpu")
    with pytest.raises(RuntimeError, match=r"the platform 'chip' cannot start .*: INTERNAL: it is too warm\."):
        devices()


def test_lowering_rules_are_those_of_the_platform(chip):
    twice_p = Primitive("twice")
    twice_p.def_abstract_eval(lambda x: x)
    register_lowering(twice_p, lambda ctx, x: [hlo.add(x, x)], platform="chip")
    register_lowering(twice_p, lambda ctx, x: [hlo.negate(x)], platform="cpu")
    x = np.arange(3.0)
    np.testing.assert_array_equal(jit(twice_p.bind)(x), 2.0 * x)
    np.testing.assert_array_equal(jit(twice_p.bind, backend="cpu")(x), -x)
    negative_p = Primitive("negative")
    negative_p.def_abstract_eval(lambda x: x)
    register_lowering(negative_p, lambda ctx, x: [hlo.negate(x)], platform="cpu")
    with pytest.raises(MissingRuleError, match="chip") as caught:
        jit(negative_p.bind)(x)
    assert caught.value.platform == "chip"


def test_gpu_is_a_name_of_cuda_and_of_rocm(chip, monkeypatch, tmp_path):
    (tmp_path / "rocm.so").touch()
    register_plugin("rocm", tmp_path / "rocm.so")
    assert devices("gpu") == devices("rocm")
    with config.default_device(devices("gpu")[0]):
        assert default_backend() == "gpu"


def test_memory_settings_are_options_of_a_gpu_alone(chip, tmp_path):
    (tmp_path / "cuda.so").touch()
    register_plugin("cuda", tmp_path / "cuda.so", {"visible_devices": "0"})
    config.device_memory(preallocate=False, fraction=0.5, allocator="bfc")
    options = plugins_module._options("cuda")
    chosen = {key: options[key] for key in ("platform_name", "preallocate", "memory_fraction", "allocator")}
    assert chosen == {"platform_name": "cuda", "preallocate": False, "memory_fraction": 0.5, "allocator": "bfc"}
    assert options["visible_devices"] == "0"
    assert plugins_module._options("chip") == {}


def test_a_plugin_joins_the_processes_of_the_program(chip, monkeypatch):
    monkeypatch.setattr(distributed, "_groups", [distributed.Group(1, 2, "localhost", "the connection", None)])
    assert plugins_module._options("chip") == {"node_id": 1, "num_nodes": 2}


def test_calls_to_python_have_a_target_for_gpus():
    traced = jit(lambda x: pure_callback(np.sin, ShapeDtypeStruct((), np.float64), x)).trace(1.0)
    targets = {
        name: re.findall(r"xla_ffi_python_\w+", traced.lower(platform=name).as_text()) for name in ("cpu", "cuda")
    }
    assert targets == {"cpu": ["xla_ffi_python_cpu_callback"], "cuda": ["xla_ffi_python_gpu_callback"]}


def test_each_platform_has_programs_of_its_own_on_disk(chip):
    assert clients.versions("chip") != clients.versions("cpu")
