"""Histograms in several dimensions are NumPy's; `test_searching.py` has those of one."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import make_jaxpr
from calque_core.config import disable_jit

EDGES = np.array([-1.0, 0.0, 1.0, 3.0])


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_histograms_of_points_are_numpys(dtype, agree, numbers):
    x, w = numbers((8, 3), dtype) // 4, numbers((8,))
    agree(lambda m, x: [*m.histogramdd(x, 3), *m.histogramdd(x, [2, 3, 4], [(0, 1), (-1, 1), None], True)], x)
    agree(lambda m, x, w: m.histogramdd([x[:, 0], x[:, 1]], [2, EDGES], weights=w), x, w)
    agree(lambda m, x: m.histogramdd(x[:, 0], 3), x)
    agree(lambda m, x: [*m.histogram2d(x[:, 0], x[:, 1]), *m.histogram2d(x[:, 0], x[:, 2], EDGES)], x)
    agree(lambda m, x, w: m.histogram2d(x[:, 0], x[:, 1], [2, EDGES], [(0, 1), (0, 2)], True, w), x, w)


def test_no_points_have_empty_bins(agree):
    agree(lambda m, x: m.histogramdd(x, [EDGES, 2], [None, (0, 1)]), np.ones((0, 2)))


def test_wrong_arguments_are_refused():
    x = np.ones((4, 2))
    with disable_jit():
        with pytest.raises(ValueError, match=r"histogramdd.*bins has 3 items for 2 dimensions"):
            cnp.histogramdd(x, [1, 2, 3])
        with pytest.raises(ValueError, match=r"histogramdd.*range has 1 items for 2 dimensions"):
            cnp.histogramdd(x, 2, [(0, 1)])
        with pytest.raises(TypeError, match=r"histogramdd of 4 points.*the weights are float64\[2\]"):
            cnp.histogramdd(x, 2, weights=np.ones(2))
        with pytest.raises(TypeError, match=r"histogram2d of float64\[4\] and float64\[2\].*Give two vectors"):
            cnp.histogram2d(x[:, 0], x[0])


@pytest.mark.parametrize("ends", [(np.nan, 1.0), (0.0, np.inf), (0, np.inf), (2.0, 1.0), (2, 1), (np.int64(2), 1)])
def test_a_known_range_is_finite_and_in_order(ends):
    words = r"^histogram_bin_edges at test_histograms\.py:\d+ .*: the range is .* to .*\. Give "
    with pytest.raises(ValueError, match=words):
        make_jaxpr(lambda x: cnp.histogram(x, range=ends)[0])(np.ones(3))
    with pytest.raises(ValueError, match=words):
        cnp.histogram(np.ones(3), range=ends)
    with pytest.raises(ValueError, match=words):
        cnp.histogram2d(np.ones(2), np.ones(2), range=[(0, 1), ends])
    if not np.isfinite(ends).all():
        with pytest.raises(ValueError, match=words):
            cnp.histogram(np.array(ends))


def test_a_number_of_bins_may_be_an_array_of_rank_0(agree):
    agree(lambda m, x: [m.histogram(x, np.array(3)), m.histogram_bin_edges(x, np.array(2))], np.array([0.0, 0.3, 1.0]))
    points = np.ones((4, 2))
    for function, args in ((cnp.histogramdd, (points,)), (cnp.histogram2d, (points[:, 0], points[:, 1]))):
        jaxpr = make_jaxpr(lambda *args, f=function: f(*args, np.array(3))[0])(*args)
        assert jaxpr.out_avals[0].shape == (3, 3)


@pytest.mark.parametrize("name", ["histogram", "histogramdd"])
def test_a_number_of_bins_that_is_no_integer_is_refused_by_its_name_and_place(name):
    with pytest.raises(TypeError, match=rf"^{name} at test_histograms\.py:\d+ .*: bins is 3\.0\. Give an integer\."):
        make_jaxpr(lambda x: getattr(np, name)(x, 3.0))(np.ones(4))
