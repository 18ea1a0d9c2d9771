"""What users ask of a backend before its start; a backend is played by the functions that it would call."""

import pytest

from calque_core import config, start_requests
from calque_core.engine import fix_device_memory, fix_platforms, requested_device_memory, requested_platforms


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    for name in ("_platforms", "_memory"):
        request = getattr(start_requests, name)
        monkeypatch.setattr(start_requests, name, start_requests.Request(request.caller, request.show))


def test_platforms_are_asked_for_before_a_backend_starts():
    assert requested_platforms() == ()
    config.platforms("cuda", "cpu")
    config.platforms("cpu")
    assert requested_platforms() == ("cpu",)
    fix_platforms(("cpu",))
    config.platforms("cpu")
    words = r"^platforms got 'cuda' and 'cpu', but a backend has already started with 'cpu', for the life of .* before"
    with pytest.raises(RuntimeError, match=words):
        config.platforms("cuda", "cpu")
    assert requested_platforms() == ("cpu",)


def test_a_platform_is_a_name():
    with pytest.raises(TypeError, match=r"^platforms got \['cpu'\]\. Use names of platforms, such as platf"):
        config.platforms(["cpu"])
    with pytest.raises(ValueError, match=r"^platforms got no name\. Name at least one platform"):
        config.platforms()


def test_memory_is_chosen_before_an_accelerator_starts():
    assert requested_device_memory() == (None, None, None)
    config.device_memory(fraction=0.5, preallocate=False)
    assert requested_device_memory() == (False, 0.5, None)
    fix_device_memory(requested_device_memory())
    config.device_memory(preallocate=False, fraction=0.5)
    words = r"^device_memory got allocator='bfc', but a backend has already started with preallocate=False, fraction="
    with pytest.raises(RuntimeError, match=words):
        config.device_memory(allocator="bfc")


@pytest.mark.parametrize(
    ("choice", "advice"),
    [
        ({"preallocate": "yes"}, r"got preallocate='yes'\. Use True or False\."),
        ({"fraction": 0}, r"got fraction=0\. Use a number above 0, and 1 at most\."),
        ({"fraction": 1.1}, r"got fraction=1\.1\. Use a number above 0"),
        ({"fraction": "all"}, r"got fraction='all'\. Use a number above 0"),
        ({"allocator": "malloc"}, r"got allocator='malloc'\. Use one of: default, platform, bfc, cuda_async, vmm\."),
    ],
    ids=str,
)
def test_other_choices_of_memory_are_refused(choice, advice):
    with pytest.raises(ValueError, match="^device_memory " + advice):
        config.device_memory(**choice)
    assert requested_device_memory() == (None, None, None)
