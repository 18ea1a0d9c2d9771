"""Medians, percentiles and quantiles are NumPy's, by every method, with NaN and infinities."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import jaxpr_as_fun, make_jaxpr
from calque_core.config import disable_jit
from calque_numpy.order_statistics import METHODS

pytestmark = pytest.mark.sampled(keep=0.3)

nan, inf = np.nan, np.inf
DTYPES = ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"]
WITH_NAN = np.array([[3.0, nan, 1.0, 2.0], [nan, nan, nan, nan], [4.0, 0.0, 5.0, 1.0], [inf, 1.0, nan, -inf]])
Q = np.array([[0.0, 0.1, 0.25], [0.5, 0.7, 1.0]])


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (4, 1)])
def test_medians_are_numpys(shape, dtype, agree, numbers):
    x = numbers(shape, dtype)
    agree(lambda m, x: [m.median(x), m.median(x, 0), m.median(x, 1, keepdims=True), m.median(x, (0, 1))], x)
    agree(lambda m, x: [m.nanmedian(x), m.nanmedian(x, 0, keepdims=True)], x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_medians_of_nan_and_infinities_are_numpys(agree):
    agree(lambda m, x: [m.median(x, 0), m.median(x, 1), m.nanmedian(x, 0), m.nanmedian(x, 1)], WITH_NAN)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_medians_of_complex_numbers_with_nan_are_numpys(agree):
    x = np.array([[3, complex(1, nan), 1j, 2], [2 + 1j, 2, 4, 2 - 1j], [complex(nan, 0)] * 4])
    agree(lambda m, x: [m.isnan(m.median(x, 1)), m.nanmedian(x[:2], 1), m.isnan(m.nanmedian(x[2]))], x)


OF_2_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 takes another element where two are equally close"
)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=OF_2_1 if name == "closest_observation" else ()) for name in METHODS]
)
def test_quantiles_are_numpys_by_every_method(method, dtype, agree, numbers):
    for shape in ((7, 2), (4, 3), (1, 2)):
        x = numbers(shape, dtype) + np.dtype(dtype).type(9)  # far from 0, where a tolerance is relative
        agree(lambda m, x: [m.quantile(x, q, 0, method=method) for q in (0.0, 0.2, 0.5, 1.0)], x, ulps=8)
        if dtype != "float16":  # NumPy computes positions in the dtype of q, or of the array
            agree(lambda m, x: m.quantile(x, Q, method=method), x, ulps=8)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_percentiles_are_numpys(dtype, agree, numbers):
    x = numbers((3, 4, 2), dtype)
    agree(lambda m, x: [m.percentile(x, 30), m.percentile(x, Q * 100, (0, 2), keepdims=True)], x, ulps=8)
    agree(lambda m, x: [m.nanpercentile(x, 30, 1), m.nanquantile(x, 0.4, axis=-1)], x, ulps=8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", ["linear", "hazen", "nearest", "inverted_cdf", "midpoint"])
def test_quantiles_that_skip_nan_are_numpys(method, agree):
    x = WITH_NAN[:3]
    agree(lambda m, x: [m.nanquantile(x, q, 1, method=method) for q in (0.0, 0.3, 0.5, 1.0)], x, ulps=8)
    agree(lambda m, x: [m.nanquantile(x, Q, 0, method=method), m.quantile(x, Q, 1, method=method)], x, ulps=8)


def test_the_probability_may_be_traced():
    jaxpr = make_jaxpr(lambda x, q: np.quantile(x, q))(np.ones(3), 0.5)
    assert str(jaxpr.out_avals[0]) == "float64[]"


def test_wrong_arguments_are_refused():
    x = np.ones((2, 3))
    with disable_jit():
        with pytest.raises(ValueError, match=r"quantile.*q is 1.5. Give numbers between 0 and 1"):
            cnp.quantile(x, 1.5)
        with pytest.raises(ValueError, match=r"percentile.*q is 101. Give numbers between 0 and 100"):
            cnp.percentile(x, 101)
    with pytest.raises(ValueError, match=r"percentile.*q is -1. Give numbers between 0 and 100"):
        make_jaxpr(lambda x: np.percentile(x, -1))(x)
    with disable_jit():
        with pytest.raises(ValueError, match=r"quantile.*the method is 'lin'. Use one of inverted_cdf, "):
            cnp.quantile(x, 0.5, method="lin")
        with pytest.raises(TypeError, match=r"quantile of complex128\[2\].*there are only real quantiles"):
            cnp.quantile(np.ones(2) * 1j, 0.5)
        with pytest.raises(ValueError, match=r"quantile of float64\[0,3\].*there are no elements over the axes \(0,\)"):
            cnp.quantile(x[:0], 0.5, 0)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
@pytest.mark.parametrize("name", ["median", "nanmedian", "nanquantile", "nanpercentile"])
def test_a_median_of_no_elements_is_nan_as_numpys(name, dtype):
    if dtype == "complex64" and "median" not in name:
        pytest.skip("there are only real quantiles")
    x = np.zeros((0, 3), dtype)
    q = () if "median" in name else (0.5,)
    with pytest.warns(RuntimeWarning):
        want = getattr(np, name)(x, *q, 0)
    (got,) = jaxpr_as_fun(make_jaxpr(lambda x: getattr(cnp, name)(x, *q, 0))(x))(x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
def test_the_dtype_of_a_quantile_is_numpys(dtype, agree):
    a = np.array([4, 1, 3, 9], dtype)
    for q in (0, 1, np.int64(1), 0.5, np.float32(0.5), np.float16(0.5), np.array([0.25, 0.5])):
        agree(lambda m, a, q=q: m.quantile(a, q), a)
    agree(lambda m, a: [m.percentile(a, 50), m.percentile(a, np.int64(75)), m.nanquantile(a, 1)], a)


OF_2_4 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy mixes up the weights of several axes"
)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize(
    ("axis", "shape"),
    [
        (None, (2, 3, 4)),
        (1, (3,)),
        pytest.param((0, 2), (2, 4), marks=OF_2_4),
        pytest.param((2, 0), (4, 2), marks=OF_2_4),
        (-1, (2, 3, 4)),
    ],
)
def test_weighted_quantiles_are_numpys(axis, shape, dtype, agree):
    x = (np.arange(24).reshape(2, 3, 4) * 7 % 11).astype(dtype)
    weights = np.arange(1, 1 + np.prod(shape)).reshape(shape) % 5
    options = {"method": "inverted_cdf", "keepdims": True}
    agree(lambda m, x, w: m.quantile(x, Q, axis, weights=w + 0.5, **options), x, weights)
    agree(lambda m, x, w: m.percentile(x, 30, axis, weights=w + 1, method="inverted_cdf"), x, weights)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weighted_quantiles_that_skip_nan_are_numpys(agree):
    weights = np.array([[1, 2, 3, 1], [1, 1, 1, 1], [2, 1, 0, 1], [1, 1, 9, 1]])
    options = {"method": "inverted_cdf", "weights": weights}
    agree(lambda m, x: [m.nanquantile(x, Q, 1, **options), m.nanpercentile(x, 40, **options)], WITH_NAN)
    agree(lambda m, x: m.quantile(x, Q, 1, **options), WITH_NAN)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_quantile_is_the_first_element_with_a_weight():  # in NumPy since 2.1
    with disable_jit():
        assert cnp.quantile(np.array([2.0, 1.0]), 0.0, weights=np.array([1, 0]), method="inverted_cdf") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": np.ones(3)}, r"the method 'linear' has no weights\. Use method='inverted_cdf'\."),
        ({"weights": np.array([1, -1, 1]), "method": "inverted_cdf"}, r"a weight is negative\. Give weights of zero"),
        ({"weights": np.zeros(3), "method": "inverted_cdf"}, r"or all weights are zero\. Give finite weights"),
        ({"weights": np.array([1, np.nan, 1]), "method": "inverted_cdf"}, r"a weight is not finite"),
        ({"weights": np.ones(2), "method": "inverted_cdf"}, r"over the axis None: the weights have the shape \(2,\)"),
    ],
)
def test_wrong_weights_of_a_quantile_are_refused(options, words):
    with pytest.raises(ValueError, match=rf"^quantile.*at .*{words}"):
        make_jaxpr(lambda x: np.quantile(x, 0.5, **options))(np.ones(3))
