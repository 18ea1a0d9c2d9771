"""Places, interpolations, counts and histograms are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, eval_jaxpr, jaxpr_as_fun, make_jaxpr
from calque_core.config import disable_jit

SORTED = np.array([-2.0, -1.0, -1.0, 0.5, 3.0, np.inf, np.nan])
VALUES = np.array([[-3.0, -2.0, -1.0, 0.0], [0.5, 4.0, np.nan, -np.inf]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 7])
def test_places_are_numpys(n, side, agree):
    agree(lambda m, a, v: m.searchsorted(a, v, side), SORTED[:n], VALUES)
    agree(lambda m, a, v: m.searchsorted(a, v, side), np.array([1, 3, 3, 9, 9, 10, 20][:n]), np.arange(-1, 22))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "float64"])
def test_places_and_bins_are_numpys_for_every_dtype(dtype, agree, numbers):
    a, v = np.sort(numbers((9,), dtype)), numbers((3, 4), dtype)
    agree(lambda m, a, v: [m.searchsorted(a, v), m.searchsorted(a, 1), m.digitize(v, a), m.digitize(v, a[::-1])], a, v)
    agree(lambda m, a, v: [m.digitize(v, a, True), m.digitize(v, a[::-1], True)], a, v)
    agree(lambda m, a, v: m.searchsorted(a[::-1], v, sorter=np.arange(9)[::-1]), a, v)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_places_of_complex_numbers_are_numpys_at_infinities_and_nan(dtype, side, agree):
    parts = [-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan]
    values = np.array([complex(real, imag) for real in parts for imag in parts], dtype)
    for a in (np.sort(values[::2]), np.sort(values[:5]), np.sort(values[1::3])):
        agree(lambda m, a, v: [m.searchsorted(a, v, side), m.searchsorted(a, 1.0, side)], a, values)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_interpolations_are_numpys(dtype, agree):
    x = np.array([-1, 0, 1, 2, 3, 5, 6, 7], dtype) / (1 if dtype == "int64" else 2)
    xp, fp = np.array([0, 1, 3], dtype), np.array([3, 5, -2], dtype)
    agree(lambda m, x: [m.interp(x, xp, fp), m.interp(x, xp, fp, -7, 8.5), m.interp(x, xp[:1], fp[:1])], x, ulps=8)
    agree(lambda m, x: m.interp(x, xp, fp, period=2.5), x, ulps=64)
    agree(lambda m, x: m.interp(x, xp, fp + 1j * fp[::-1]), x, ulps=8)


def test_interpolations_of_nan_and_infinities_are_numpys(agree):
    agree(lambda m, x: m.interp(x, np.arange(3.0), np.array([1.0, 4.0, 2.0])), VALUES)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_counts_are_numpys(dtype):
    x, weights = np.array([3, 1, 1, 0, 5, 3], dtype), np.arange(6.0)
    for options in ({}, {"weights": weights}, {"minlength": 9}, {"weights": weights * 1j.real, "minlength": 2}):
        want = np.bincount(x, **options)
        with disable_jit():
            got = cnp.bincount(x, **options)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_counts_under_a_trace_have_the_length_that_is_said():
    x = np.array([3, 1, 1, 0, 5, 3])
    jaxpr = make_jaxpr(lambda x: cnp.bincount(x, length=4))(x)
    assert str(jaxpr.out_avals[0]) == "int64[4]"
    np.testing.assert_array_equal(cnp.bincount(x, length=4), [1, 2, 0, 2])
    with pytest.raises(
        TypeError,
        match=r"bincount of int64\[6\].*depends on a traced array. Use calque_numpy\.bincount\(\.\., length=n\)",
    ):
        make_jaxpr(np.bincount)(x)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_histograms_are_numpys(dtype, agree, numbers):
    x = numbers((5, 6), dtype)
    agree(lambda m, x: [*m.histogram(x), *m.histogram(x, 4, (-2, 3)), *m.histogram(x, 3, density=True)], x, ulps=16)
    agree(lambda m, x: [*m.histogram(x, np.array([-1, 0, 0.5, 4])), *m.histogram(x * 0, 3)], x, ulps=16)
    agree(lambda m, x: [*m.histogram(x, 3, weights=x * x), *m.histogram(x[:0], 2)], x, ulps=16)
    agree(lambda m, x: m.histogram_bin_edges(x, 6), x, ulps=16)


def test_wrong_arguments_are_refused():
    x = np.ones(3)
    with disable_jit():
        with pytest.raises(ValueError, match=r"searchsorted.*the side is 'middle'. Use 'left' or 'right'"):
            cnp.searchsorted(x, x, "middle")
        with pytest.raises(TypeError, match=r"searchsorted.*the sorted array is float64\[1,3\]. Give a vector"):
            cnp.searchsorted(x[None], x)
        with pytest.raises(TypeError, match=r"interp.*the points are float64\[3\] and float64\[2\]"):
            cnp.interp(1.0, x, x[:2])
        with pytest.raises(TypeError, match=r"interp.*complex numbers complex128\[3\] fill no intervals. Use real"):
            cnp.interp(x * 1j, x, x)
        with pytest.raises(TypeError, match=r"digitize.*complex numbers complex128\[3\] fill no intervals. Use real"):
            cnp.digitize(x, x * 1j)
        with pytest.raises(ValueError, match=r"interp.*the period is 0. Give another number"):
            cnp.interp(1.0, x, x, period=0)
        with pytest.raises(ValueError, match=r"bincount.*-1 is negative. Give integers from 0 on"):
            cnp.bincount(np.array([1, -1]))
        with pytest.raises(TypeError, match=r"bincount of float64\[3\].*Give a vector of integers"):
            cnp.bincount(x)
    with pytest.raises(TypeError, match=r"histogram_bin_edges.*the rule 'auto' needs known values"):
        make_jaxpr(lambda x: np.histogram(x, "auto"))(x)


def test_the_size_of_counts_of_a_traced_array_is_not_known():
    with pytest.raises(
        NumpyRuleError,
        match=r"bincount of int64\[2\] at .*test_searching.py:.*Use calque_numpy\.bincount\(\.\., length=n\)",
    ):
        make_jaxpr(np.bincount)(np.array([0, 1]))


def test_bools_are_counted_as_integers():
    x = np.array([True, False, True])
    jaxpr = make_jaxpr(lambda x: cnp.bincount(x, length=2))(x)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, [], x)[0], np.bincount(x))


def test_one_edge_and_none_make_no_bins(agree):
    x = np.arange(3.0)
    agree(lambda m, x: [*m.histogram(x, np.array([1.0])), *m.histogram(x, np.zeros(0), weights=x)], x)


@pytest.mark.parametrize("method", ["default", "scan", "scan_unrolled", "sort", "compare_all"])
def test_the_methods_of_jax_change_nothing(method):
    find = lambda a: cnp.searchsorted(a, VALUES, method=method)
    expected = np.searchsorted(SORTED, VALUES)
    np.testing.assert_array_equal(find(SORTED), expected)
    np.testing.assert_array_equal(jaxpr_as_fun(make_jaxpr(find)(SORTED))(SORTED)[0], expected)


def test_another_method_is_refused():
    with pytest.raises(ValueError, match=r"searchsorted at test_searching.py:.*: the method is 'tree'. Leave it out"):
        cnp.searchsorted(SORTED, VALUES, method="tree")


@pytest.mark.parametrize("method", [None, "default", "scan", "scan_unrolled", "sort", "compare_all"])
def test_the_methods_of_jax_change_no_bin(method):
    x, edges = np.array([0.5, 2.0]), np.array([0.0, 1.0, 2.0])
    fun = lambda x: cnp.digitize(x, edges, method=method)
    for got in (fun(x), *jaxpr_as_fun(make_jaxpr(fun)(x))(x)):
        np.testing.assert_array_equal(got, [1, 3])


def test_an_unknown_method_is_refused():
    for name in ("digitize", "searchsorted"):
        with pytest.raises(
            ValueError, match=rf"^{name} at test_searching.*the method is 'fast'. Leave it out; JAX's are"
        ):
            getattr(cnp, name)(np.ones(2), np.ones(2), method="fast")
