import sys

import numpy as np
import pytest

from calque_core import jaxpr_as_fun, make_jaxpr
from calque_core.arrays.missing_methods import CHANGES, FUNCTIONS
from calque_core.arrays.numpy_protocol import array_functions

X = np.array([[3.0, 1.0], [2.0, 4.0]])


def refused(use):
    with pytest.raises(AttributeError) as caught:
        make_jaxpr(use)(X)
    return str(caught.value)


ARGUMENTS = {"argpartition": (0,), "repeat": (2,), "take": ([0, 1],), "choose": ([X, X],), "searchsorted": (0.5,)}


@pytest.mark.parametrize("name", [f.__name__ for f in FUNCTIONS])
def test_a_method_of_numpy_s_arrays_is_the_function_of_that_name(host_array, name):
    x = np.array([0, 1]) if name == "choose" else np.sort(X.ravel()) if name == "searchsorted" else X
    args = ARGUMENTS.get(name, ())
    got, want = getattr(host_array(x), name)(*args), getattr(x, name)(*args)
    np.testing.assert_array_equal(got, want)


def test_a_method_takes_the_options_that_jax_has_beside_numpys(monkeypatch, host_array):
    def rule(name):
        return lambda *args, **options: (name, len(args), options)

    for function in (np.argsort, np.compress, np.nonzero, np.repeat, np.take):
        monkeypatch.setitem(array_functions, function, rule(function.__name__))
    x = host_array(X)
    assert x.argsort(descending=True) == ("argsort", 1, {"descending": True})
    assert x.take([0], mode="fill", fill_value=1) == ("take", 2, {"mode": "fill", "fill_value": 1})
    assert x.nonzero(size=2, fill_value=1) == ("nonzero", 1, {"size": 2, "fill_value": 1})
    assert x.repeat(2, total_repeat_length=3) == ("repeat", 2, {"total_repeat_length": 3})
    assert x.compress([True], 0, size=2) == ("compress", 4, {"size": 2})


def test_a_method_without_a_rule_is_refused_for_a_tracer_as_the_function_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "calque_numpy", None)  # as if it were not installed
    monkeypatch.delitem(array_functions, np.cumsum, raising=False)
    with pytest.raises(TypeError, match=r"numpy\.cumsum of a traced array at test_missing_methods.py"):
        make_jaxpr(lambda x: x.cumsum())(X)


def test_other_attributes_of_a_device_array_are_its_value_s(host_array):
    x = host_array(X)
    assert list(x.flat) == [3.0, 1.0, 2.0, 4.0]
    assert (x.strides, x.tobytes(), x.flags.writeable) == (X.strides, X.tobytes(), False)
    np.testing.assert_array_equal(x.view(np.int64), X.view(np.int64))
    np.testing.assert_array_equal(x.compress([True, False], axis=0), X[:1])
    with pytest.raises(ValueError, match="read-only"):
        x.flat[0] = 1.0


def test_a_tracer_says_what_to_write_instead():
    words = refused(lambda x: x.tobytes())
    assert words.startswith("x.tobytes at test_missing_methods.py:")
    assert words.endswith(
        ": a traced array of type float64[2,2] does not have this attribute, because its elements are not in memory. "
        "Return the array from the transformed function, and read the attribute of the result."
    )


def test_the_elements_of_a_tracer_may_be_read_as_one_row():
    f = lambda x: [x.flat[2], *x.flat]
    np.testing.assert_array_equal(jaxpr_as_fun(make_jaxpr(f)(X))(X), [X[1, 0], *X.flat])
    with pytest.raises(TypeError):
        make_jaxpr(lambda x: x.flat.__setitem__(0, 1.0))(X)


DTYPES = ["bool", "int8", "uint16", "float16", "int32", "float32", "complex64", "float64", "complex128"]


@pytest.mark.parametrize("new", DTYPES)
@pytest.mark.parametrize("old", DTYPES)
def test_the_bits_of_a_tracer_are_read_as_another_dtype(old, new):
    x = np.array([[1, 0, 3, 2, 5, 1, 0, 1, 6, 2, 7, 0, 1, 1, 2, 3]] * 2).astype(old)
    if np.dtype(new) == bool:
        x = (x != 0).astype("uint8").view(old) if x.itemsize == 1 else x[:, :0]  # NumPy's bools of other bytes are odd
    (got,) = jaxpr_as_fun(make_jaxpr(lambda x: x.view(new))(x))(x)
    np.testing.assert_array_equal(got, x.view(new))
    assert got.dtype == new


def test_a_view_needs_whole_elements():
    assert make_jaxpr(lambda x: x.view())(X).out_avals[0].shape == (2, 2)
    assert make_jaxpr(lambda x: x.view(np.int64))(1.0).out_avals[0].shape == ()
    with pytest.raises(ValueError, match=r"x.view of float32\[3\] as float64.*Reshape the array first"):
        make_jaxpr(lambda x: x.view(float))(np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"x.view of float64\[\] as float32"):
        make_jaxpr(lambda x: x.view(np.float32))(np.float64(1.0))
    with pytest.raises(TypeError, match=r"x.view\(ndarray\).*Remove the call"):
        make_jaxpr(lambda x: x.view(np.ndarray))(X)


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_an_array_in_place_is_refused(host_array, name):
    with pytest.raises(AttributeError, match=rf"^x\.{name} at .* would change a traced array or a device"):
        getattr(host_array(X), name)
    assert refused(lambda x: getattr(x, name)).endswith(f"{CHANGES[name]}.")


def test_every_attribute_of_numpy_s_arrays_answers_or_says_why_not(host_array):
    removed = {"itemset", "newbyteorder", "ptp"}  # NumPy before 2.4 lists these names, and raises AttributeError
    for name in dir(np.ndarray):
        if not name.startswith("_") and name not in (*CHANGES, *removed, "item", "tolist"):
            assert hasattr(host_array(X), name), name


def test_a_name_that_no_array_has_is_python_s_error(host_array):
    assert refused(lambda x: x.mistake).endswith("object has no attribute 'mistake'")
    assert not hasattr(host_array(X), "__array_interface__")
