"""Reductions of segments, beside loops over the segments."""

import numpy as np
import pytest

from calque_core import ConcretizationTypeError, ShapeError, make_jaxpr
from calque_numpy import segments

IDS = np.array([0, 3, -1, 1, 1, 7, 3])
REDUCTIONS = {
    "segment_sum": (np.sum, 0),
    "segment_prod": (np.prod, 1),
    "segment_max": (np.max, -np.inf),
    "segment_min": (np.min, np.inf),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("count", [0, 1, 5, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8"])
def test_each_segment_is_reduced_and_numbers_out_of_range_are_left_out(name, count, dtype):
    reduction, empty = REDUCTIONS[name]
    data = np.arange(14, dtype=dtype).reshape(7, 2) - 3
    if dtype == "int8" and np.isinf(empty):
        empty = np.iinfo(dtype).min if empty < 0 else np.iinfo(dtype).max
    rows = [rows_of(reduction, data[i == IDS], empty) for i in range(count)]
    result = getattr(segments, name)(data, IDS, count)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.array(rows, dtype).reshape(count, 2))


def rows_of(reduction, rows, empty):
    return reduction(rows, axis=0) if len(rows) else np.full(2, empty)


def test_the_number_of_segments_is_that_of_the_greatest_number():
    np.testing.assert_array_equal(segments.segment_sum(np.ones((7, 2)), IDS).shape, (8, 2))
    assert segments.segment_sum(np.zeros((0, 3)), np.zeros(0, int)).shape == (0, 3)
    np.testing.assert_array_equal(segments.segment_sum([1, 2, 4], [0, 0, 0]), [7])


def test_numbers_of_several_axes_reduce_those_axes():
    data = np.arange(12.0).reshape(2, 2, 3)
    result = segments.segment_sum(data, np.array([[0, 1], [0, 0]]))
    np.testing.assert_array_equal(result, [data[0, 0] + data[1, 0] + data[1, 1], data[0, 1]])


def test_bad_arguments_are_refused_with_their_types():
    with pytest.raises(
        ConcretizationTypeError, match=r"traced segment_ids, int64\[7\], and no num_segments.*Pass num_segm"
    ):
        make_jaxpr(segments.segment_sum)(np.ones(7), IDS)
    with pytest.raises(ShapeError, match=r"data of shape \(7, 2\) and segment_ids of shape \(3,\)"):
        segments.segment_max(np.ones((7, 2)), IDS[:3])
    with pytest.raises(
        TypeError, match=r"segment_prod got segment_ids of type float64\[7\]. Segment numbers must be int"
    ):
        segments.segment_prod(np.ones(7), IDS / 2)
    with pytest.raises(ValueError, match="negative size"):
        segments.segment_min(np.ones(7), IDS, -1)
