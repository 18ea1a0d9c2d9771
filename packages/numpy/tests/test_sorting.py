"""Sorted arrays are NumPy's, NaN last, equal elements in their old order."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import TracerIntegerConversionError, config, eval_jaxpr, make_jaxpr


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_a_sorted_array_is_numpys(axis, dtype, agree):
    x = np.array([[3, 1, 2, 1], [0, 5, 5, 4], [1, 1, 0, 9]]).astype(dtype)
    agree(lambda m, a: [m.sort(a, axis), m.argsort(a, axis, kind="stable"), m.argsort(a, axis, stable=True)], x)


def test_nan_comes_last(agree):
    x = np.array([np.nan, 1.0, -np.inf, np.nan, np.inf, -0.0, 0.0])
    agree(lambda m, a: [m.sort(a), m.argsort(a, kind="stable")], x)


def test_an_empty_array_is_sorted_too(agree):
    agree(lambda m, a: [m.sort(a), m.argsort(a, 0)], np.ones((0, 3)))


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_wrong_arguments_of_sort_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} at test_sorting.py:.*axis 1 is out of range for ndim 1"):
        make_jaxpr(lambda x: getattr(np, name)(x, axis=1))(np.ones(3))
    with pytest.raises(TypeError, match="names fields, but the array has none"):
        make_jaxpr(lambda x: getattr(np, name)(x, order="field"))(np.ones(3))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64"])
def test_in_decreasing_order_equal_elements_keep_theirs_and_nan_stays_last(dtype):
    x = np.array([3, 0, 1, 3, 0, 200]).astype(dtype)
    if x.dtype.kind == "f":
        x[1] = np.nan
    ordered = sorted((i for i in range(6) if x[i] == x[i]), key=lambda i: -float(x[i]))
    want = [*ordered, *(i for i in range(6) if x[i] != x[i])]
    assert cnp.argsort(x, descending=True).tolist() == want
    np.testing.assert_array_equal(cnp.sort(x, descending=True), x[want])


def test_positions_of_a_partition_are_known_integers():
    x = np.array([3.0, 1.0, 2.0])
    for kth in (1, -1, [0, 2], (1,), np.array([1]), np.int64(2)):
        jaxpr = make_jaxpr(lambda x, kth=kth: cnp.partition(x, kth))(x)
        np.testing.assert_array_equal(eval_jaxpr(jaxpr, [], x)[0], [1.0, 2.0, 3.0])
    for name in ("partition", "argpartition"):
        with pytest.raises(TracerIntegerConversionError, match=r"an integer was asked.*the argument kth"):
            make_jaxpr(getattr(cnp, name))(x, 1)


def test_the_positions_of_a_number_have_one_element(agree):
    agree(lambda m, x: [m.argsort(x), m.argsort(x, 0), m.argpartition(x, 0)], np.float32(3))


def test_the_method_sort_returns_a_new_array_where_operators_rebind():
    x = np.array([[3.0, 1.0, 2.0]])
    with config.in_place_operators("rebind"):
        jaxpr = make_jaxpr(lambda x: (x.sort(), x.sort(axis=0)))(x)
    ascending, kept = eval_jaxpr(jaxpr, jaxpr.consts, x)
    np.testing.assert_array_equal(ascending, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(kept, x)
