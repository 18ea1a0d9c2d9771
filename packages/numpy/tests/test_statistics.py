"""Averages, ranges, counts and differences are NumPy's, for every dtype."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr

DTYPES = ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"]
CASES = {
    "ptp": lambda m, x: [m.ptp(x), m.ptp(x, axis=0), m.ptp(x, axis=1, keepdims=True)],
    "count_nonzero": lambda m, x: [m.count_nonzero(x, axis=0), m.count_nonzero(x, axis=(0, 1), keepdims=True)],
    "average": lambda m, x: [m.average(x), m.average(x, axis=0), m.average(x, axis=1, keepdims=True)],
    "weighted": lambda m, x: [m.average(x, weights=m.abs(x) + 1), m.average(x, 1, weights=np.array([1.0, 2.0, 3.0]))],
    "weighted by integers": lambda m, x: m.average(x, 1, weights=np.array([1, 2, 3])),
    "weighted by some axes": lambda m, x: m.average(m.stack([x, x + 1]), (2, 0), np.arange(1.0, 7).reshape(3, 2)),
    "with the weights": lambda m, x: [*m.average(x, 1, np.array([1.0, 2.0, 3.0]), True), *m.average(x, 0, None, True)],
    "nansum": lambda m, x: [m.nansum(x), m.nansum(x, axis=0), m.nansum(x, 1, np.float64)],
    "nanmean": lambda m, x: [m.nanmean(x), m.nanmean(x, axis=0), m.nanmean(x, 1, keepdims=True)],
    "diff": lambda m, x: [m.diff(x), m.diff(x, 2), m.diff(x, axis=0), m.diff(x, 0), m.diff(x, 7)],
    "diff from an edge": lambda m, x: m.diff(x, prepend=np.zeros((2, 1), x.dtype), append=x),
}
# NumPy's own: no difference of bools, no weights that are bools; integers are not NaN.
NOT_OF_BOOLS = {"ptp", "weighted", "weighted by integers", "weighted by some axes", "with the weights"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_a_statistic_is_numpys(name, dtype, agree, numbers):
    if dtype == "bool" and name in NOT_OF_BOOLS:
        with pytest.raises(TypeError):
            make_jaxpr(lambda x: CASES["ptp"](np, x))(np.array([[True, False, True]]))
        return
    agree(CASES[name], numbers((2, 3), dtype), ulps=8)


def test_nan_is_skipped(agree):
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, -2.0]])
    agree(lambda m, a: [m.nansum(a), m.nansum(a, 0), m.nanmean(a), m.nanmean(a, 1)], x)


def test_the_mean_of_nothing_but_nan_is_nan():
    with np.errstate(invalid="ignore"):
        assert np.isnan(cnp.nanmean(np.array([np.nan, np.nan])))


def test_an_edge_may_be_a_scalar(agree, numbers):
    agree(lambda m, x: [m.diff(x, prepend=0.0), m.diff(x, axis=0, append=1.0)], numbers((2, 3)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.diff(x, -1), ValueError, "n is -1. Give a number of zero or more."),
        (lambda x: np.diff(x, axis=2), ValueError, "axis 2 is out of range for ndim 2"),
        (lambda x: np.average(x, weights=np.ones(3)), ShapeError, "the weights have the shape (3,)"),
        (
            lambda x: np.average(x, 0, weights=np.ones(3)),
            ShapeError,
            "over the axis 0: the weights have the shape (3,)",
        ),
        (lambda x: np.ptp(x, out=np.ones(())), TypeError, "out= is not supported"),
    ],
)
def test_wrong_arguments_of_a_statistic_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)
