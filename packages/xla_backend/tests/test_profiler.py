"""A profile is one file with calque's spans, XLA's own, and the user's."""

import gzip
import json

import numpy as np
import pytest
from jaxlib import _profiler

from calque_core import lax
from calque_core.engine import active
from calque_xla_backend import TraceAnnotation, device_put, jit, profile


def spans(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def named(events, *verbs):
    return [event["name"] for event in events if event["name"].split()[0] in verbs]


def test_a_profile_has_the_phases_of_calls_xlas_spans_and_the_users(tmp_path):
    def wave(x):
        return lax.sin(x)

    f, path = jit(wave), tmp_path / "trace.json"
    with profile(path), TraceAnnotation("epoch", number=3):
        for _ in range(3):
            f(np.ones(3)).block_until_ready()
    events = spans(path)
    assert named(events, "trace", "lower", "compile") == ["trace wave", "lower wave", "compile wave"]
    assert named(events, "run") == ["run wave"] * 3
    (epoch,) = [event for event in events if event["name"] == "epoch"]
    assert epoch["args"]["number"] == "3"
    assert any("Execute" in event["name"] for event in events)
    inside = [event for event in events if event["name"] in ("trace wave", "compile wave")]
    assert all(epoch["ts"] <= event["ts"] <= epoch["ts"] + epoch["dur"] for event in inside)


def test_a_warm_call_on_device_arrays_is_a_span_too_and_the_answer_is_the_same(tmp_path):
    f, x, path = jit(lambda x: lax.mul(x, 2.0)), device_put(np.ones(3)), tmp_path / "trace.json.gz"
    f(x)
    with profile(path):
        y = f(x)
    assert named(spans(path), "run", "trace", "compile") == ["run <lambda>"]
    assert np.array_equal(y, [2.0, 2.0, 2.0])
    assert profile not in active


def test_a_profile_is_written_when_the_block_raises(tmp_path):
    path = tmp_path / "trace.json"

    def fail():
        with profile(str(path)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert json.loads(path.read_text())["traceEvents"]
    assert profile not in active


def test_paths_that_cannot_be_written_are_refused_before_the_block(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match=r"profile at test_profiler.py:\d+ .* cannot write '.*missing.a\.json': the folder '.*missing' does not "
        r"exist\. Make it first, or give another path\.",
    ):
        profile(tmp_path / "missing" / "a.json")
    with pytest.raises(IsADirectoryError, match=r"which is a folder. Give the path of a file, such as 'trace.json'."):
        profile(tmp_path)


def test_a_second_profile_is_refused_and_the_first_goes_on(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    with profile(first):
        with pytest.raises(RuntimeError, match=r"another profile is on in this process\. End that one first\."):
            profile(second).__enter__()
        jit(lambda x: lax.cos(x))(1.0)
    assert named(spans(first), "run") == ["run <lambda>"]
    assert not second.exists()


def test_a_recorder_of_another_library_is_named(tmp_path):
    other = _profiler.ProfilerSession()
    with pytest.raises(RuntimeError, match=r"XLA recorded a profile for another library of this process"):
        profile_nothing(tmp_path / "a.json")
    other.stop()
    assert not (tmp_path / "a.json").exists()


def profile_nothing(path):
    with profile(path):
        pass
