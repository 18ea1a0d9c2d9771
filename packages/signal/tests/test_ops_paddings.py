import numpy as np
import pytest

from calque_core import lax
from calque_signal.ops.paddings import (
    canonical_pads,
    dilated_shape,
    padded_shape,
    positive_per_axis,
    transposed_pads,
    window_counts,
)


def slide(shape, window, strides, pads, base_dilation, window_dilation):
    """Return the matrix of the slide along one axis: row j marks the elements that window j reads."""
    (size,), (count,), (stride,), ((low, high),) = shape, window, strides, pads
    positions = [i * base_dilation[0] + low for i in range(size)]
    end = (positions[-1] - low + 1 if size else 0) + low + high
    rows = []
    start = 0
    while start + (count - 1) * window_dilation[0] < end:
        reads = [start + k * window_dilation[0] for k in range(count)]
        rows.append([reads.count(position) for position in positions])
        start += stride
    return np.array(rows).reshape(len(rows), size)


def drawn_slides(count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        size, window = int(rng.integers(0, 8)), int(rng.integers(1, 5))
        stride, base, step = (int(rng.integers(1, 4)) for _ in range(3))
        low, high = (int(n) for n in rng.integers(-2, 4, 2))
        stretched = max(0, (size - 1) * base + 1)
        if stretched + low + high >= 0 and low >= -stretched:
            yield (size,), (window,), (stride,), ((low, high),), (base,), (step,)


def test_windows_are_counted_as_they_slide():
    for case in drawn_slides(300):
        assert window_counts(*case) == (len(slide(*case)),), case


def test_the_transposed_slide_reads_the_transposed_matrix():
    for shape, window, strides, pads, base_dilation, window_dilation in drawn_slides(300):
        matrix = slide(shape, window, strides, pads, base_dilation, window_dilation)
        back = transposed_pads(shape, window, strides, pads, base_dilation, window_dilation)
        transposed = slide((len(matrix),), window, base_dilation, back, strides, window_dilation)
        np.testing.assert_array_equal(transposed, matrix.T)


def test_gaps_are_between_elements_and_nowhere_in_an_empty_axis():
    assert dilated_shape((0, 1, 4), (2, 2, 2)) == (0, 1, 7)


def test_negative_padding_that_cuts_more_than_there_is_gives_a_negative_size():
    assert padded_shape((2,), ((-3, 0),), (1,)) == (-1,)


@pytest.mark.parametrize("size", range(9))
@pytest.mark.parametrize("span", range(1, 5))
@pytest.mark.parametrize("stride", range(1, 4))
def test_same_padding_gives_a_window_per_stride(size, span, stride):
    (upper,), (lower,) = (lax.padtype_to_pads((size,), (span,), (stride,), name) for name in ("SAME", "SAME_LOWER"))
    assert upper == lower[::-1]
    assert upper[0] <= upper[1] <= upper[0] + 1
    if span >= stride:
        assert window_counts((size,), (span,), (stride,), (upper,), (1,), (1,)) == (-(-size // stride),)


def test_valid_padding_pads_nothing_and_the_name_may_be_in_lower_case():
    assert lax.padtype_to_pads((5, 6), (3, 3), (1, 1), "valid") == [(0, 0), (0, 0)]


def test_an_unknown_name_of_a_padding_is_refused_with_the_similar_one():
    with pytest.raises(ValueError, match=r"the padding .* is 'SAME_LOW'\. Did you mean 'SAME_LOWER'\?"):
        lax.padtype_to_pads((5,), (3,), (1,), "SAME_LOW")
    with pytest.raises(ValueError, match=r"is 3\. Give 'VALID', 'SAME' or 'SAME_LOWER'"):
        lax.padtype_to_pads((5,), (3,), (1,), 3)


def test_explicit_pads_are_pairs_of_integers_one_per_axis():
    assert canonical_pads("f", [[np.int64(1), -2]], (5,), (3,), (1,)) == ((1, -2),)
    assert canonical_pads("f", "SAME", (5,), (3,), (1,)) == ((1, 1),)
    with pytest.raises(ValueError, match=r"f .*: padding is \[\(1, 2\)\] for 2 axes\. Give 'VALID'"):
        canonical_pads("f", [(1, 2)], (5, 5), (3, 3), (1, 1))
    with pytest.raises(ValueError, match=r"padding is \[\(1, 2, 0\)\] for 1 axes"):
        canonical_pads("f", [(1, 2, 0)], (5,), (3,), (1,))
    with pytest.raises(TypeError, match=r"padding is 3\. Give 'VALID'"):
        canonical_pads("f", 3, (5,), (3,), (1,))
    with pytest.raises(TypeError, match=r"an entry of padding is \(1\.5, 0\)\. Give a sequence of integers"):
        canonical_pads("f", [(1.5, 0)], (5,), (3,), (1,))


def test_numbers_per_axis_are_positive_integers_or_none_for_ones():
    assert positive_per_axis("f", "strides", [np.int32(2), 1], 2) == (2, 1)
    assert positive_per_axis("f", "strides", None, 2) == (1, 1)
    with pytest.raises(ValueError, match=r"f .*: strides is \(1,\), but there are 2 axes\. Give one number per axis"):
        positive_per_axis("f", "strides", (1,), 2)
    with pytest.raises(ValueError, match=r"strides is \(0, 1\)\. Give numbers of 1 or more"):
        positive_per_axis("f", "strides", (0, 1), 2)
    with pytest.raises(TypeError, match=r"strides is 2\. Give a sequence of integers"):
        positive_per_axis("f", "strides", 2, 1)
