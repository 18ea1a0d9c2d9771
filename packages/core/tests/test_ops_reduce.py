"""Values of the reductions, against Python's own `sum`, `max`, `min`, `all` and `any` over the elements."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pytest

from calque_core import lax
from calque_core.staging.make_jaxpr import make_jaxpr

AXES = [None, 0, 1, -1, (0, 1), (-1, 0), (0, 1, 2), ()]
REFERENCE = {
    "reduce_sum": sum,
    "reduce_max": max,
    "reduce_min": min,
    "reduce_and": functools.partial(functools.reduce, operator.and_),
    "reduce_or": functools.partial(functools.reduce, operator.or_),
}


def reference(function, x: np.ndarray, axis) -> np.ndarray:
    """Apply `function` to the list of elements that each position of the result collects."""
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {a % x.ndim for a in axes}
    kept = [a for a in range(x.ndim) if a not in axes]
    groups: dict[tuple[int, ...], list] = {}
    for index in np.ndindex(x.shape):
        groups.setdefault(tuple(index[a] for a in kept), []).append(x[index].item())
    shape = tuple(x.shape[a] for a in kept)
    return np.array([function(groups[index]) for index in np.ndindex(shape)]).reshape(shape)


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("axis", AXES)
def test_reductions_collect_the_elements_along_their_axes(name, axis):
    x = np.random.default_rng(0).integers(0, 100, (2, 3, 4))
    out = getattr(lax, name)(x, axis)
    np.testing.assert_array_equal(out, reference(REFERENCE[name], x, axis))


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("axis", AXES)
def test_kept_axes_have_size_one(name, axis):
    x = np.random.default_rng(0).integers(0, 100, (2, 3, 4))
    axes = tuple(range(3)) if axis is None else axis
    out = getattr(lax, name)(x, axis, keepdims=True)
    np.testing.assert_array_equal(out, np.expand_dims(getattr(lax, name)(x, axis), axes))


@pytest.mark.parametrize("keepdims", ["no", None, np.array([True, False])], ids=str)
def test_keepdims_is_a_bool(keepdims):
    with pytest.raises(TypeError, match=r"^reduce_max at test_ops_reduce\.py:.*: keepdims is .* Give True or False"):
        lax.reduce_max(np.ones((2, 3)), 1, keepdims=keepdims)


def test_only_an_equation_that_keeps_axes_says_so():
    jaxpr = make_jaxpr(lambda x: [lax.reduce_max(x, 1), lax.reduce_max(x, 1, keepdims=True)])(np.ones((2, 3)))
    assert [eqn.params for eqn in jaxpr.eqns] == [{"axes": (1,)}, {"axes": (1,), "keepdims": True}]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64"])
def test_kept_axes_of_short_dtypes_and_of_no_elements(dtype):
    out = lax.reduce_max(np.zeros((2, 0), dtype), 1, keepdims=True)
    assert (out.dtype, out.tolist()) == (np.dtype(dtype), [[lax.reduce_max(np.zeros(0, dtype)).item()]] * 2)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_argument_is_called_axis(name):
    np.testing.assert_array_equal(getattr(lax, name)(np.array([[1, 2]]), axis=0), [1, 2])


@pytest.mark.parametrize(("name", "expected"), [("reduce_and", [False, True]), ("reduce_or", [True, True])])
def test_logical_reductions_of_bools(name, expected):
    x = np.array([[True, True], [False, True]])
    out = getattr(lax, name)(x, 0)
    assert (out.dtype, list(out)) == (np.dtype(bool), expected)


EMPTY = {
    "reduce_sum": {"int8": 0, "uint16": 0, "float32": 0.0, "complex64": 0j},
    "reduce_max": {"int8": -128, "uint16": 0, "float32": -np.inf, "bool": False},
    "reduce_min": {"int8": 127, "uint16": 65535, "float32": np.inf, "bool": True},
    "reduce_and": {"int8": -1, "uint16": 65535, "bool": True},
    "reduce_or": {"int8": 0, "uint16": 0, "bool": False},
}


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in EMPTY for dtype in EMPTY[name]])
def test_an_empty_axis_gives_the_identity(name, dtype):
    out = getattr(lax, name)(np.zeros((2, 0), dtype), 1)
    assert (out.dtype, list(out)) == (dtype, [EMPTY[name][dtype]] * 2)


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in EMPTY for dtype in EMPTY[name]])
def test_the_identity_changes_no_element(name, dtype):
    x = np.array([0, 1, 1], dtype)
    identity = np.array([EMPTY[name][dtype]], dtype)
    assert getattr(lax, name)(np.concatenate([x, identity])) == getattr(lax, name)(x)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
def test_sums_of_integers_keep_the_dtype_and_wrap_around(dtype):
    out = lax.reduce_sum(np.full(300, 100, dtype))
    assert out.dtype == dtype
    assert int(out) % 2 ** (8 * out.dtype.itemsize) == 30000 % 2 ** (8 * out.dtype.itemsize)


def test_sums_of_half_precision_are_made_in_single():
    out = lax.reduce_sum(np.ones((4096, 2), np.float16), 0)  # along this axis NumPy adds one row after the other
    assert (out.dtype, list(out)) == (np.float16, [4096, 4096])


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_nan_wins_wherever_it_stands(name, position):
    x = np.array([1.0, 2.0, 3.0])
    x[position] = np.nan
    assert np.isnan(getattr(lax, name)(x))


@pytest.mark.parametrize("of", [lambda f, x: f(x), lambda f, x: make_jaxpr(f)(x)], ids=["evaluated", "staged"])
@pytest.mark.parametrize(("name", "dtype"), [
    ("reduce_sum", "bool"), ("reduce_and", "float64"), ("reduce_or", "float64"), ("reduce_xor", "complex128"),
])  # fmt: skip
def test_dtypes_without_the_operation_are_refused_by_name(of, name, dtype):
    x = np.ones(2, dtype)
    with pytest.raises(
        TypeError, match=rf"{name} of {dtype}\[2\] at .*: not defined for {dtype}\. Convert the operand first\."
    ):
        of(getattr(lax, name), x)


def test_the_primitive_holds_canonical_axes():
    (eqn,) = make_jaxpr(lambda x: lax.reduce_sum(x, (-1, 0)))(np.ones((2, 3, 4))).eqns
    assert eqn.params == {"axes": (0, 2)}


@pytest.mark.parametrize(("name", "choose"), [("argmax", max), ("argmin", min)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_positions_are_those_of_the_first_extreme_element(name, choose, axis):
    x = np.random.default_rng(0).integers(0, 4, (3, 5))
    expected = reference(lambda values: values.index(choose(values)), x, axis)
    out = getattr(lax, name)(x, axis)
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == np.int64


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_those_of_the_first_nan(name):
    assert getattr(lax, name)(np.array([1.0, np.nan, 9.0, np.nan, -9.0]), 0) == 1


@pytest.mark.parametrize("index_dtype", ["int8", "uint16", "int64"])
def test_positions_have_the_dtype_asked_for(index_dtype):
    assert lax.argmax(np.array([1, 3, 2]), 0, index_dtype).dtype == index_dtype


@pytest.mark.parametrize("of", [lambda f, x: f(x), lambda f, x: make_jaxpr(f)(x)], ids=["evaluated", "staged"])
@pytest.mark.parametrize("index_dtype", ["float32", "int8"])
def test_positions_that_do_not_fit_the_dtype_are_refused(of, index_dtype):
    with pytest.raises(
        TypeError,
        match=rf"argmax of float64\[200\] at .*: {index_dtype} cannot hold the indices along axis 0 of size 200",
    ):
        of(lambda x: lax.argmax(x, 0, index_dtype), np.zeros(200))


@pytest.mark.parametrize("of", [lambda f, x: f(x), lambda f, x: make_jaxpr(f)(x)], ids=["evaluated", "staged"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_an_empty_axis_has_no_extreme_element(of, name):
    with pytest.raises(
        ValueError, match=rf"{name} of float64\[2,0\] at .*: axis 1 is empty\. Give an axis with elements\."
    ):
        of(lambda x: getattr(lax, name)(x, 1), np.zeros((2, 0)))
    assert getattr(lax, name)(np.zeros((2, 0)), 0).shape == (0,)


@pytest.mark.parametrize(("dtype", "axes"), list(itertools.product(["float32", "int16"], [0, (0, 1)])))
def test_reductions_of_strided_and_reversed_views(dtype, axes):
    x = np.arange(24).reshape(4, 6).astype(dtype)[::-1, ::2]
    for name in ("reduce_sum", "reduce_max", "reduce_min"):
        np.testing.assert_array_equal(getattr(lax, name)(x, axes), reference(REFERENCE[name], x, axes))
