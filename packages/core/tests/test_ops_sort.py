"""Values of sorting, against Python's own stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax
from calque_core.errors import ShapeError
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.types.dtypes import SHORT_DTYPES


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool"])
def test_sort_orders_each_line(axis, dtype):
    x = np.random.default_rng(0).integers(0, 100, (3, 4)).astype(dtype)
    expected = np.apply_along_axis(lambda line: np.array(sorted(line.tolist()), dtype), axis, x)
    np.testing.assert_array_equal(lax.sort(x, axis), expected)


def test_sort_does_not_touch_its_operand():
    x = np.array([3, 1, 2])
    lax.sort(x)
    assert list(x) == [3, 1, 2]


def test_nan_comes_last_and_zeros_keep_their_order():
    out = lax.sort(np.array([np.nan, 0.0, np.inf, -0.0, -np.inf, -1.0]))
    np.testing.assert_array_equal(out, [-np.inf, -1.0, 0.0, -0.0, np.inf, np.nan])
    assert list(np.signbit(out[2:4])) == [False, True]


def test_many_equal_keys_keep_their_order():
    x = np.tile([1.0, 0.0, -0.0, -0.0, 0.0], 200)
    out = lax.sort(x)
    np.testing.assert_array_equal(np.signbit(out[:800]), np.signbit(x[x == 0]))


def test_complex_numbers_are_ordered_by_real_then_imaginary_part():
    assert list(lax.sort(np.array([1 + 2j, 0 + 3j, 1 - 1j]))) == [3j, 1 - 1j, 1 + 2j]


@pytest.mark.parametrize("num_keys", [1, 2, 3])
def test_several_arrays_are_rearranged_together_by_their_keys(num_keys):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 3, 20), rng.integers(0, 2, 20), np.arange(20)]
    expected = sorted(zip(*rows), key=lambda row: row[:num_keys])
    outs = lax.sort(tuple(rows), num_keys=num_keys)
    assert isinstance(outs, tuple)
    assert list(zip(*outs)) == expected


def test_several_arrays_are_sorted_along_an_axis():
    keys = np.array([[2, 0], [1, 3]])
    keys_out, values_out = lax.sort((keys, 10.0 * keys), 0)
    np.testing.assert_array_equal(keys_out, [[1, 0], [2, 3]])
    np.testing.assert_array_equal(values_out, 10.0 * keys_out)


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0), (1, 1)])
def test_sorting_nothing_or_one_element(shape):
    x = np.zeros(shape)
    assert lax.sort(x).shape == shape
    assert all(out.shape == shape for out in lax.sort((x, x), num_keys=2))


def test_sort_stages_one_equation_with_many_results():
    x, y = np.array([3, 1, 2]), np.array([0.0, 1.0, 2.0])
    jaxpr = make_jaxpr(lambda x, y: lax.sort((x, y)))(x, y)
    (eqn,) = jaxpr.eqns
    assert eqn.params == {"dimension": 0, "is_stable": True, "num_keys": 1}
    outs = eval_jaxpr(jaxpr, jaxpr.consts, x, y)
    assert [out.tolist() for out in outs] == [[1, 2, 3], [1.0, 2.0, 0.0]]


both = pytest.mark.parametrize(
    "of", [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)], ids=["evaluated", "staged"]
)


@both
@pytest.mark.parametrize("num_keys", [0, 3])
def test_a_number_of_keys_that_does_not_fit_is_refused(of, num_keys):
    with pytest.raises(ValueError, match=rf"sort at .*: num_keys is {num_keys}\. Use a number from 1 to 2"):
        of(lambda x: lax.sort((x, x), num_keys=num_keys), np.zeros(2))


@both
def test_shapes_that_differ_are_refused(of):
    with pytest.raises(
        ShapeError, match=r"sort of float64\[2\] and float64\[3\] at .*: the shapes differ\. Broadcast the operands"
    ):
        of(lambda x: lax.sort((x, np.zeros(3))), np.zeros(2))


def test_sorting_no_operands_is_refused():
    with pytest.raises(ValueError, match=r"sort at .* got no operands\. Give at least one array\."):
        lax.sort(())


@pytest.mark.parametrize(
    "dtype", [name for name, row in SHORT_DTYPES.items() if row.kind == "f" and row.bits >= 8]
)  # floats of fewer bits have no NaN
def test_nan_comes_last_among_floats_that_numpy_does_not_have(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{dtype} is defined by ml_dtypes, which comes with jaxlib")
    x = np.array([0.25, np.nan, 1.5, -1.5], getattr(ml_dtypes, dtype))
    assert str(lax.sort(x).tolist()) == "[-1.5, 0.25, 1.5, nan]"
    assert lax.sort((x, np.arange(4)))[1].tolist() == [3, 0, 2, 1]
    assert lax.sort((x, x, np.arange(4)), num_keys=2)[2].tolist() == [3, 0, 2, 1]
