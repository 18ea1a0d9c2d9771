"""Results whose shape depends on values are NumPy's for known values, and have the size that is said otherwise."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, jaxpr_as_fun, make_jaxpr
from calque_core.config import disable_jit

X = np.array([[3, 0, 1], [0, 3, 7]])
KNOWN = {
    "nonzero": lambda m, x: m.nonzero(x),
    "flatnonzero": lambda m, x: m.flatnonzero(x),
    "argwhere": lambda m, x: [m.argwhere(x), m.argwhere(x[0, 0])],
    "unique": lambda m, x: m.unique(x, True, True, True),
    "unique rows": lambda m, x: m.unique(x, axis=0),
    "unique_values": lambda m, x: np.sort(m.unique_values(x)),  # in no order by NumPy
    "unique_all": lambda m, x: tuple(m.unique_all(x)),
    "unique_counts": lambda m, x: tuple(m.unique_counts(x)),
    "unique_inverse": lambda m, x: tuple(m.unique_inverse(x)),
    "intersect1d": lambda m, x: m.intersect1d(x, [1, 7, 8]),
    "setdiff1d": lambda m, x: m.setdiff1d(x, [1, 7, 8]),
    "setxor1d": lambda m, x: m.setxor1d(x, [1, 7, 8]),
    "union1d": lambda m, x: m.union1d(x, [1, 7, 8]),
    "union1d with a number": lambda m, x: m.union1d(x, 7),
}
TRACED = sorted(set(KNOWN) - {"unique rows", "unique_values"})


def traced(f, *args):
    out = jaxpr_as_fun(make_jaxpr(f)(*args))(*args)
    return out[0] if len(out) == 1 else out


@pytest.mark.parametrize("dtype", ["int8", "float64"])
@pytest.mark.parametrize("name", KNOWN)
def test_results_of_known_values_are_numpys(name, dtype):
    x = X.astype(dtype)
    with disable_jit():
        got, want = KNOWN[name](cnp, x), KNOWN[name](np, x)
    for mine, numpys in zip(*(y if isinstance(y, (tuple, list)) else [y] for y in (got, want)), strict=True):
        np.testing.assert_array_equal(mine, numpys)
        assert mine.dtype == numpys.dtype


@pytest.mark.parametrize("name", TRACED)
def test_a_traced_array_is_refused_without_a_size(name):
    with pytest.raises(NumpyRuleError, match=r"depends on the values of a traced array. Use calque_numpy\."):
        make_jaxpr(lambda x: KNOWN[name](np, x))(X)


@pytest.mark.parametrize("size", [0, 2, 4, 6])
def test_places_under_a_trace_have_the_size_that_is_said(size):
    rows, columns = traced(lambda x: cnp.nonzero(x, size=size, fill_value=9), X)
    want = [np.append(part, np.full(9, 9))[:size] for part in np.nonzero(X)]
    np.testing.assert_array_equal([rows, columns], want)
    np.testing.assert_array_equal(traced(lambda x: cnp.flatnonzero(x, size=5), X), [0, 2, 4, 5, 0])
    np.testing.assert_array_equal(traced(lambda x: cnp.argwhere(x, size=2), X), np.argwhere(X)[:2])


@pytest.mark.parametrize("size", [0, 1, 4, 6])
def test_distinct_elements_under_a_trace_have_the_size_that_is_said(size):
    values, index, inverse, counts = traced(lambda x: cnp.unique(x, True, True, True, size=size), X)
    all_values, all_index, all_inverse, all_counts = np.unique(X, True, True, True)
    n = min(size, 4)
    np.testing.assert_array_equal(values, [*all_values[:n], *[0] * (size - n)])
    np.testing.assert_array_equal(counts, [*all_counts[:n], *[0] * (size - n)])
    np.testing.assert_array_equal(index, [*all_index[:n], *[all_index[0]] * (size - n)])
    np.testing.assert_array_equal(inverse, all_inverse)


@pytest.mark.parametrize("size", [0, 1, 4, 6])
def test_the_array_apis_functions_of_distinct_elements_take_a_size(size):
    n = min(size, 4)
    wanted = np.unique(X, True, True, True)
    want = [[*wanted[0][:n], *[9] * (size - n)], [*wanted[1][:n], *[1] * (size - n)], wanted[2]]
    want.append([*wanted[3][:n], *[0] * (size - n)])
    got = traced(lambda x: cnp.unique_all(x, size=size, fill_value=9), X)
    counts = traced(lambda x: cnp.unique_counts(x, size=size, fill_value=9), X)
    inverse = traced(lambda x: cnp.unique_inverse(x, size=size, fill_value=9), X)
    for mine, numpys in zip([*got, *counts, *inverse], [*want, want[0], want[3], want[0], want[2]], strict=True):
        np.testing.assert_array_equal(mine, numpys)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (4, 2, 2), (3, 1), (3, 0)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices_along_an_axis_are_numpys(shape, axis, numbers):
    x = numbers(shape, "int32") % 2
    want = list(np.unique(x, True, True, True, axis=axis))
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        want[2] = np.ravel(want[2])  # NumPy 2.0.0 gives the positions as many axes as x has
    count = want[0].shape[axis]
    got = traced(lambda x: cnp.unique(x, True, True, True, axis, size=count), x)
    for mine, numpys in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, numpys)
    larger = traced(lambda x: cnp.unique(x, axis=axis, size=count + 2, fill_value=7), x)
    fill_shape = [2 if n == count and d == axis % len(shape) else n for d, n in enumerate(want[0].shape)]
    np.testing.assert_array_equal(larger, np.concatenate([want[0], np.full(fill_shape, 7)], axis))


def test_nan_is_one_element_or_many():
    x = np.array([np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(traced(lambda x: cnp.unique(x, size=3, fill_value=5.0), x), [1.0, np.nan, 5.0])
    np.testing.assert_array_equal(traced(lambda x: cnp.unique_values(x, size=3), x), [1.0, np.nan, np.nan])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", "complex128"])
@pytest.mark.parametrize("n", [0, 3, 30])
def test_members_are_numpys(n, dtype, agree, numbers):
    x, tests = numbers((4, 3), dtype), numbers((n,), dtype, 1)
    agree(lambda m, x, t: [m.isin(x, t), m.isin(x, t, invert=True)], x, tests)


def test_wrong_arguments_are_refused():
    with (
        disable_jit(),
        pytest.raises(ValueError, match=r"nonzero of int64\[\].*a scalar has no axes"),
    ):
        cnp.nonzero(3)
    for name in ("flatnonzero", "argwhere", "unique_values", "unique_all", "unique_counts", "unique_inverse"):
        with pytest.raises(NumpyRuleError, match=rf"^{name} of int64.*Use calque_numpy.{name}\(.., size=n\)"):
            make_jaxpr(getattr(cnp, name))(X)
    with pytest.raises(NumpyRuleError, match=r"^union1d of int64.*Use calque_numpy.union1d\(.., size=n\)"):
        make_jaxpr(lambda x: cnp.union1d(x, 3))(X)
    with pytest.raises(NumpyRuleError, match=r"unique of int64\[2,3\].*Use calque_numpy.unique\(.., size=n\)"):
        make_jaxpr(lambda x: cnp.unique(x, axis=0))(X)
    with pytest.raises(ValueError, match="axis"):
        make_jaxpr(lambda x: cnp.unique(x, axis=2, size=1))(X)


A, B = np.array([5, 3, 3, 1, 7]), np.array([[3, 7, 7], [9, 5, 5]])
SIZED = {  # by size and fill_value
    "intersect1d": {(2, None): [3, 5], (5, None): [3, 5, 7, 3, 3], (4, -1): [3, 5, 7, -1], (0, None): []},
    "setdiff1d": {(1, None): [1], (3, None): [1, 0, 0], (2, -1): [1, -1], (0, None): []},
    "setxor1d": {(2, None): [1, 9], (3, None): [1, 9, 1], (3, -1): [1, 9, -1], (1, None): [1], (0, None): []},
}


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "complex128"])
@pytest.mark.parametrize("name", SIZED)
def test_sets_under_a_trace_have_the_size_that_is_said(name, dtype):
    x, y = A.astype(dtype), B.astype(dtype)
    for (size, fill), want in SIZED[name].items():
        fun = lambda x, y, size=size, fill=fill: getattr(cnp, name)(x, y, size=size, fill_value=fill)
        for got in (fun(x, y), traced(fun, x, y)):
            np.testing.assert_array_equal(got, np.array(want).astype(dtype))
            assert got.dtype == dtype


def test_places_of_common_elements_under_a_trace_are_numpys():
    got = traced(lambda x, y: cnp.intersect1d(x, y, return_indices=True, size=4), A, B)
    for mine, want, fill in zip(got, np.intersect1d(A, B, return_indices=True), (3, A.size, B.size), strict=True):
        np.testing.assert_array_equal(mine, [*want, fill])


def test_sets_of_a_size_treat_nan_and_nothing_as_numpy_does():
    x, y, empty = np.array([1.0, np.nan]), np.array([np.nan, 2.0]), np.zeros(0)
    for name in SIZED:
        f = getattr(cnp, name)
        for args in ((x, y), (empty, y), (x, empty), (empty, empty)):
            want = getattr(np, name)(*args)
            np.testing.assert_array_equal(traced(lambda x, y, f=f: f(x, y, size=5), *args)[: want.size], want)
    alone = lambda x, y: cnp.setdiff1d(x, y, assume_unique=True, size=3)
    np.testing.assert_array_equal(traced(alone, np.array([5, 1, 3]), np.array([1])), [5, 3, 0])


def test_places_take_a_fill_for_each_axis():
    want = [[0, 0, 1, 1, -1], [0, 2, 1, 2, -2]]
    for fill in ((-1, -2), np.array([-1, -2])):
        np.testing.assert_array_equal(traced(lambda x, f=fill: cnp.nonzero(x, size=5, fill_value=f), X), want)
    with pytest.raises(ValueError, match=r"nonzero at .*fill_value is int64\[3\] for 2 axes. Give one number, or one"):
        make_jaxpr(lambda x: cnp.nonzero(x, size=5, fill_value=(1, 2, 3)))(X)
    with pytest.raises(ValueError, match=r"flatnonzero at test_sets.*size is -1. Give zero or more"):
        make_jaxpr(lambda x: cnp.flatnonzero(x, size=-1))(X)


def test_places_and_distinct_elements_are_methods_and_functions_of_an_array():
    got = traced(lambda x: x.nonzero(size=5, fill_value=9), X)
    np.testing.assert_array_equal(got, [[0, 0, 1, 1, 9], [0, 2, 1, 2, 9]])


@pytest.mark.parametrize("method", [None, "auto", "binary_search", "compare_all", "sort"])
def test_the_methods_of_jax_change_no_membership(method):
    fun = lambda x: cnp.isin(x, [1, 7], method=method)
    for got in (fun(X), traced(fun, X)):
        np.testing.assert_array_equal(got, np.isin(X, [1, 7]))


def test_an_unknown_method_of_isin_is_refused():
    with pytest.raises(
        ValueError, match=r"isin at test_sets.*the method is 'fast'. Leave it out; JAX's are auto, binary"
    ):
        cnp.isin(X, [1], method="fast")
