"""Windows against a loop over their elements, in plain Python."""

from itertools import product

import numpy as np
import pytest

from calque_core import ShapeError, lax, typeof
from calque_signal.ops.slides import Window, canonical_window, check_window, slide, slide_from, slide_present

# A product of matrices [[1, a], [0, b]]: associative, but not commutative, so that the order of elements matters.
LINE = lambda xs, ys: [lax.add(ys[0], lax.mul(xs[0], ys[1])), lax.mul(xs[1], ys[1])]


def elements(x, window, place):
    """Return the elements in one window, in order."""
    found = []
    for entry in product(*map(range, window.window_dimensions)):
        index = []
        for axis, k in enumerate(entry):
            low, _ = window.padding[axis]
            at = place[axis] * window.window_strides[axis] + k * window.window_dilation[axis] - low
            index.append(at // window.base_dilation[axis] if at % window.base_dilation[axis] == 0 else -1)
        if all(0 <= i < n for i, n in zip(index, x.shape)):
            found.append(x[tuple(index)])
    return found


def folded(fold, x, window):
    out = np.empty(window.counts(x.shape), object)
    for place in np.ndindex(out.shape):
        out[place] = fold(elements(x, window, place))
    return out


def drawn(count, longest=4):
    rng = np.random.default_rng(3)
    for _ in range(count):
        rank = int(rng.integers(1, 4))
        draw = lambda low, high: tuple(int(n) for n in rng.integers(low, high, rank))  # noqa: B023  called at once
        shape = draw(0, 6)
        pads = tuple(zip(draw(0, 3), draw(0, 3)))
        yield rng.normal(size=shape), Window(draw(1, longest), draw(1, 4), pads, draw(1, 3), draw(1, 3))


def test_a_slide_combines_the_elements_of_each_window():
    for x, window in drawn(150):
        (out,) = slide(lambda xs, ys: [lax.add(xs[0], ys[0])], [x], [0.0], window)
        np.testing.assert_allclose(out, folded(sum, x, window).astype(float), atol=1e-12)


def test_without_a_neutral_element_padding_and_gaps_take_no_part_and_the_start_takes_part_once():
    start = np.array([[1, 3.0], [0, 2.0]])
    fold = lambda found: np.linalg.multi_dot([np.eye(2), start, *([[1, e], [0, e]] for e in found)])
    for x, window in drawn(60):
        a, b = slide_from(LINE, [x, x], [3.0, 2.0], window)
        want = folded(fold, x, window)
        for place in np.ndindex(want.shape):
            np.testing.assert_allclose([a[place], b[place]], want[place][:, 1], atol=1e-12)


@pytest.mark.parametrize("size", [*range(1, 20), 33, 64])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("gap", [1, 2])
def test_long_windows_are_combined_by_doubling_in_order(size, stride, gap):
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=(2, 140))
    window = Window((size,), (stride,), ((0, 0),), (1,), (gap,))
    got = slide(LINE, [x, y], [0.0, 1.0], window)
    for j in range(got[0].size):
        places = j * stride + gap * np.arange(size)
        total = np.eye(2)
        for a, b in zip(x[places], y[places]):
            total = total @ [[1, a], [0, b]]
        np.testing.assert_allclose([got[0][j], got[1][j]], total[:, 1], atol=1e-9)


def test_a_long_window_takes_a_logarithm_of_operations():
    calls = []

    def combine(xs, ys):
        calls.append(1)
        return [lax.add(xs[0], ys[0])]

    slide(combine, [np.ones(2000)], [0.0], Window((1000,), (1,), ((0, 0),), (1,), (1,)))
    assert len(calls) < 20


def test_it_is_known_which_windows_have_an_element():
    window = Window((2,), (1,), ((3, 2),), (1,), (1,))
    has_element, (out,) = slide_present(lambda xs, ys: [lax.add(xs[0], ys[0])], [np.ones(2)], [0.0], window)
    np.testing.assert_array_equal(has_element, [False, False, True, True, True, False])
    np.testing.assert_array_equal(out[has_element], [1, 2, 1])


def test_no_window_fits_an_axis_that_is_shorter():
    (out,) = slide(lambda xs, ys: xs, [np.ones((2, 3))], [0.0], Window((3, 1), (1, 1), ((0, 0),) * 2, (1, 1), (1, 1)))
    assert out.shape == (0, 3)


def test_the_arguments_become_a_window_or_a_message():
    assert canonical_window("f", (5, 4), (3, 2), None, "SAME", None, None) == Window(
        (3, 2), (1, 1), ((1, 1), (0, 1)), (1, 1), (1, 1)
    )
    with pytest.raises(TypeError, match=r"f .*: window_dimensions is None\. Give one size per axis"):
        canonical_window("f", (5,), None, None, "SAME", None, None)
    aval = typeof(np.ones(3))
    with pytest.raises(ShapeError, match=r"f of float64\[3\].* is not for 1 axes"):
        check_window("f", aval, Window((1, 1), (1, 1), ((0, 0),) * 2, (1, 1), (1, 1)))
    with pytest.raises(ValueError, match=r"the padding \(\(-2, -2\),\) cuts off more than the size of an axis"):
        check_window("f", aval, Window((1,), (1,), ((-2, -2),), (1,), (1,)))
