"""Values of the greatest and least elements, against Python's own sort."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calque_core import lax
from calque_core.staging.make_jaxpr import make_jaxpr
from calque_core.types.dtypes import SHORT_DTYPES


def greatest(line, k):
    """Return the k greatest elements with their positions; NaN is the greatest, the first of equal elements first."""
    order = sorted(range(len(line)), key=lambda i: (not math.isnan(line[i]), 0 if math.isnan(line[i]) else -line[i]))
    return [line[i] for i in order[:k]], order[:k]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", "bool"])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_each_line_gives_its_greatest_elements_and_their_positions(axis, dtype, k):
    x = np.random.default_rng(0).integers(0, 5, (4, 5)).astype(dtype)
    values, indices = lax.top_k(x, k, axis=axis)
    assert (values.dtype, indices.dtype) == (np.dtype(dtype), np.int32)
    for i, line in enumerate(np.moveaxis(x, axis, -1)):
        want = greatest(line.tolist(), k)
        got = [np.moveaxis(out, axis, -1)[i].tolist() for out in (values, indices)]
        assert got == list(want)


def test_nan_is_the_greatest_number_whatever_its_sign_and_zeros_are_equal():
    x = np.array([0.0, -0.0, np.inf, -np.float64(np.nan), -0.0, np.nan])
    values, indices = lax.top_k(x, 6)
    assert indices.tolist() == [3, 5, 2, 0, 1, 4]
    np.testing.assert_array_equal(np.signbit(values), np.signbit(x[indices]))


@pytest.mark.parametrize(
    "dtype", [name for name, row in SHORT_DTYPES.items() if row.kind == "f" and row.bits >= 8]
)  # floats of fewer bits have no NaN
def test_nan_is_the_greatest_short_float(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{dtype} is defined by ml_dtypes, which comes with jaxlib")
    values, indices = lax.top_k(np.array([0.25, np.nan, 1.5, -1.5], getattr(ml_dtypes, dtype)), 3)
    assert (str(values.tolist()), indices.tolist()) == ("[nan, 1.5, 0.25]", [1, 2, 0])


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (1, 1)])
def test_there_may_be_no_lines_or_no_elements(shape):
    x = np.zeros(shape, np.float32)
    for function in (lax.top_k, lax.approx_min_k):
        values, indices = function(x, shape[-1])
        assert (values.shape, values.dtype, indices.shape, indices.dtype) == (shape, x.dtype, shape, np.int32)


def test_the_approximate_maximum_is_exact():
    x = np.random.default_rng(1).normal(size=(3, 50))
    got = lax.approx_max_k(x, 5, 1, recall_target=0.1, reduction_input_size_override=100)
    for out, want in zip(got, lax.top_k(x, 5)):
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("function", [lax.approx_max_k, lax.approx_min_k])
def test_the_candidates_of_an_approximation_are_refused(function):
    with pytest.raises(
        ValueError, match=rf"{function.__name__} at test_ops_top_k.py.*: aggregate_to_topk is False, .*"
    ):
        function(np.ones(5), 2, aggregate_to_topk=False)


def test_the_approximate_minimum_is_the_beginning_of_the_sorted_elements():
    x = np.array([[3.0, np.nan, 1.0, 1.0], [-0.0, 0.0, np.inf, -np.inf]])
    values, indices = lax.approx_min_k(x, 3)
    assert indices.tolist() == [[2, 3, 0], [3, 0, 1]]
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, 1))
    np.testing.assert_array_equal(lax.approx_min_k(x, 1, 0)[1], [[1, 1, 0, 1]])


def test_top_k_is_one_equation():
    (eqn,) = make_jaxpr(lambda x: lax.top_k(x, 2, axis=-2))(np.zeros((3, 2))).eqns
    assert (eqn.primitive, eqn.params) == (lax.top_k_p, {"k": 2, "axis": 0})


both = pytest.mark.parametrize(
    "of", [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)], ids=["evaluated", "staged"]
)


@both
@pytest.mark.parametrize("function", [lax.top_k, lax.approx_max_k, lax.approx_min_k])
@pytest.mark.parametrize("k", [-1, 4])
def test_a_number_of_elements_that_the_axis_does_not_have_is_refused(of, function, k):
    message = rf"top_k of float64\[2,3\] at .*: k is {k}, but axis 1 has 3 elements\. Use a number from 0 to 3\."
    with pytest.raises(ValueError, match=message):
        of(lambda x: function(x, k), np.zeros((2, 3)))


@both
@pytest.mark.parametrize("function", [lax.top_k, lax.approx_max_k, lax.approx_min_k])
def test_complex_numbers_have_no_greatest_element(of, function):
    with pytest.raises(TypeError, match=r"top_k of complex128\[3\] at .*: not defined for complex128\. Use sort"):
        of(lambda x: function(x, 1), np.zeros(3, complex))


@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
@pytest.mark.parametrize("recall", [0.0, 1.5, float("nan")])
def test_a_recall_that_is_no_share_is_refused(name, recall):
    with pytest.raises(ValueError, match=rf"{name} at .*: recall_target is .*\. Give a number in \(0, 1\]"):
        getattr(lax, name)(np.zeros(3), 1, recall_target=recall)
