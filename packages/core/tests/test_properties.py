"""The properties of arrays are those of NumPy's arrays, and cannot be changed."""

import numpy as np
import pytest

from calque_core import make_jaxpr

NAMES = ["shape", "dtype", "ndim", "size", "itemsize", "nbytes"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("x", [np.ones((2, 3)), np.zeros((0, 4), np.int8), np.float32(2.0), np.ones(3, complex)])
def test_a_property_of_a_traced_array_is_that_of_numpys(x, name):
    seen = []
    make_jaxpr(lambda y: seen.append(getattr(y, name)))(x)
    assert seen == [getattr(x, name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_property_cannot_be_set(name):
    with pytest.raises(
        AttributeError, match=rf"x\.{name} at test_properties\.py.* cannot be set: it does not change\."
    ):
        make_jaxpr(lambda x: setattr(x, name, 5))(np.ones(3))


ADVICE = {
    "shape": (3, r"Write x = x\.reshape\(shape\)\."),
    "dtype": (np.int64, r"Write x = x\.astype\(dtype\), or x = x\.view\(dtype\) for the same bytes\."),
    "real": (0.0, r"Write x = value \+ 1j \* x\.imag\."),
    "T": (0.0, r"Make another array\."),
}


@pytest.mark.parametrize("name", ADVICE)
def test_who_sets_a_property_is_told_what_to_write(name):
    value, words = ADVICE[name]
    with pytest.raises(AttributeError, match=words):
        make_jaxpr(lambda x: setattr(x, name, value))(np.ones(3))
