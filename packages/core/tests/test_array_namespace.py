"""`x.__array_namespace__()` and the devices of the array API: what core says about them without any other package."""

import re
import sys
import types

import numpy as np
import pytest

from calque_core import TracerArrayConversionError, config, make_jaxpr, register_aval, typeof
from calque_core.backends import _backends, _of_shardings
from calque_core.engine import known_devices, register_devices
from calque_core.engine.numpy_functions import on_device, placed_like

X = np.array([1.0, 2.0])


class Drum:
    def __repr__(self):
        return "Drum()"


class Drums:
    """The sharding of an array that is divided over drums."""


class Divided:
    """An array that is divided over drums."""

    def __init__(self, shape):
        self.aval, self.device = typeof(np.zeros(shape)), Drums()


register_aval(Divided, lambda x: x.aval)


@pytest.fixture
def drum():
    register_devices(Drum, lambda x, device: (x, device), lambda: [drum], [Drums])
    drum = Drum()
    yield drum
    del _backends[Drum], _of_shardings[Drums]


def traced(fun):
    """Return what `fun` returns for a traced array."""
    seen = []
    make_jaxpr(lambda x: seen.append(fun(x)) or 0)(X)
    return seen[0]


def test_the_namespace_is_calque_numpy(monkeypatch):
    front = types.ModuleType("calque_numpy")
    monkeypatch.setitem(sys.modules, "calque_numpy", front)
    assert traced(lambda x: x.__array_namespace__()) is front
    assert traced(lambda x: x.__array_namespace__(api_version="2023.12")) is front


def test_without_calque_numpy_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "calque_numpy", None)
    with pytest.raises(ModuleNotFoundError, match=r"at test_array_n.*Install it: pip install calque-numpy") as caught:
        traced(lambda x: x.__array_namespace__())
    assert caught.value.name == "calque_numpy"


def test_an_import_that_fails_inside_calque_numpy_is_not_hidden(monkeypatch):
    monkeypatch.setattr(
        "calque_core.late.import_module", lambda _: (_ for _ in ()).throw(ModuleNotFoundError(name="other"))
    )
    with pytest.raises(ModuleNotFoundError) as caught:
        traced(lambda x: x.__array_namespace__())
    assert caught.value.name == "other"


@pytest.mark.parametrize("version", ["2020.01", "2024", 2024.12, ""])
def test_an_unknown_version_is_refused(version):
    with pytest.raises(ValueError, match=f"api_version={version!r}, but .* 2021.12, .* or None for the newest"):
        traced(lambda x: x.__array_namespace__(api_version=version))


def test_a_traced_array_has_no_device_and_goes_to_every_device(drum):
    for device in (None, "cpu", drum):
        assert traced(lambda x, d=device: x.device is None and x.to_device(d) is x)


def test_an_array_is_put_on_a_device_by_its_backend(drum):
    assert known_devices()[0] == "cpu"
    assert known_devices()[-1] is drum
    assert on_device("f", X, drum) == (X, drum)
    assert on_device("f", X, None) is X
    assert type(on_device("f", 1.0, "cpu")) is np.ndarray


def test_an_array_is_put_beside_another_one_and_divided_alike_if_the_shapes_are_equal(drum):
    assert placed_like("f", X, 1.0) is X
    assert placed_like("f", X, np.zeros(3)) is X
    divided = Divided((2,))
    assert placed_like("f", X, divided) == (X, divided.device)
    assert placed_like("f", X, Divided((3,))) == (X, None)
    assert traced(lambda x: placed_like("f", x, divided) is x and placed_like("f", x, Divided((3,))) is x)


def test_a_sharding_is_no_device_that_is_listed_or_the_default(drum):
    drums = Drums()
    assert on_device("f", X, drums) == (X, drums)
    assert not any(isinstance(device, Drums) for device in known_devices())
    with pytest.raises(
        ValueError, match=r"^default_device was set to .* which is not a device of a backend\. Use one of"
    ):
        config.default_device(drums)


@pytest.mark.parametrize("device", ["gpu", "CPU", 0, object], ids=str)
def test_an_unknown_device_is_refused_and_the_known_ones_are_listed(device, drum):
    words = (
        rf"^to_device at test_array_.*got device={re.escape(repr(device))}, which is .* Use one of: 'cpu', "
        r".*Drum\(\); or a sharding\."
    )
    with pytest.raises(ValueError, match=words):
        traced(lambda x: x.to_device(device))


def test_a_stream_is_refused():
    with pytest.raises(TypeError, match=r"got stream=1, but calque has no streams\. Remove stream=\."):
        traced(lambda x: x.to_device("cpu", stream=1))


def test_a_traced_array_is_not_exported():
    for export in (
        lambda x: x.__dlpack__(max_version=(1, 0)),
        lambda x: x.__dlpack_device__(),
        lambda x: np.from_dlpack(x),
    ):
        with pytest.raises(TracerArrayConversionError, match=r"DLPack .* Return the array from .* and export the res"):
            traced(export)
