from collections import deque

import numpy as np
import pytest

from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr, stage, typeof
from calque_core.arrays.numpy_sequences import array_of, has_tracer, host_values, leaves, with_arrays


def traced(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


@pytest.mark.parametrize(
    "items", [[1, 2], [1.0, 2], [True], [[1, 2], (3, 4)], [1j, 2.0], [np.int8(1), 2], []], ids=repr
)
def test_a_list_is_the_array_that_numpy_makes_of_it(items):
    got, want = array_of(items), np.asarray(items)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_python_scalars_in_a_list_keep_to_the_settings():
    with config.enable_x64(False):
        assert array_of([1.0, 2.0]).dtype == np.float32
        assert array_of([1, 2]).dtype == np.int32
        assert traced(lambda x: array_of([x, 1.0]), np.float32(2)).dtype == np.float32


@pytest.mark.parametrize(
    ("x", "others"),
    [(np.float32(2), [1.0]), (np.int8(2), [300]), (2.0, [1]), (np.float32([1, 2]), [[3, 4], (5.0, 6)]), (True, [2])],
    ids=repr,
)
def test_traced_items_are_joined_in_the_dtype_that_numpy_finds(x, others):
    got, want = traced(lambda x: array_of([x, *others]), x), np.asarray([x, *others])
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_items_of_several_shapes_are_named():
    with pytest.raises(
        ShapeError, match=r"asarray of a list at .*: the items have different shapes, \(2,\), \(\)\. Give items"
    ):
        make_jaxpr(lambda x: array_of([x, 1.0]))(np.ones(2))


def test_a_tracer_is_seen_in_any_container():
    seen = []
    stage(
        lambda x: seen.extend([has_tracer([1, (x,)]), has_tracer({"a": x}), has_tracer((1, 2))]) or [x], [typeof(1.0)]
    )
    assert seen == [True, True, False]
    assert list(leaves({"a": [1, (2, 3)], "b": 4})) == [1, 2, 3, 4]


def test_device_arrays_become_numpy_s_wherever_they_are(host_array):
    x = host_array([1.0, 2.0])
    got = host_values(([x], {"a": (x, 1)}, "text"))
    assert got[0][0].tolist() == got[1]["a"][0].tolist() == [1.0, 2.0]
    assert (got[1]["a"][1], got[2]) == (1, "text")


def test_arguments_that_mean_arrays_are_told_by_numpy_s_names():
    def fun(a, axis, *args, weights=None, shape=None):
        """A function with NumPy's signature."""

    args, kwargs = with_arrays(fun, ([1, 2], (0, 1), [3], 4), {"weights": [5], "shape": (6,)})
    assert [type(x) for x in args] == [np.ndarray, tuple, np.ndarray, int]
    assert (type(kwargs["weights"]), kwargs["shape"]) == (np.ndarray, (6,))


def test_sequences_of_arrays_stay_sequences():
    (arrays,), _ = with_arrays(lambda arrays: None, ([[1, 2], 3],), {})
    assert [type(x) for x in arrays] == [np.ndarray, int]


def test_a_list_whose_items_have_different_shapes_is_refused_with_the_list():
    with pytest.raises(ShapeError, match=r"^array_of at .*: \[\[1\.0\], \[1\.0, 2\.0\]\] is no array"):
        array_of([[1.0], [1.0, 2.0]])


def test_an_item_of_a_list_may_be_a_range_or_a_deque():
    jaxpr = make_jaxpr(lambda x: array_of([range(2), x, deque([3.0, 4.0])]))(np.ones(2))
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, np.ones(2))
    assert out.tolist() == [[0.0, 1.0], [1.0, 1.0], [3.0, 4.0]]
