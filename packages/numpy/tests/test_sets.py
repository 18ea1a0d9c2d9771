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
    want = np.unique(x, True, True, True, axis=axis)
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
