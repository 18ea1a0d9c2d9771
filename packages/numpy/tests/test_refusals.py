"""Errors for values that do not fit a function: each names the function, the value and the user's line."""

import re

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ConcretizationTypeError, ShapeError, make_jaxpr
from calque_numpy import linalg, nn, random, segments

X, KEY = np.arange(3.0), random.key(0)

REFUSED = {
    "searchsorted": (
        lambda x: np.searchsorted(x, 1.0, side="middle"),
        ValueError,
        "the side is 'middle'. Use 'left' or 'right'.",
    ),
    "interp": (
        lambda x: np.interp(0.5, x, x[:2]),
        ShapeError,
        "the points are float64[3] and float64[2]. Give vectors of one size.",
    ),
    "pad": (
        lambda x: np.pad(x, 1, mode="reflect", reflect_type="both"),
        ValueError,
        "reflect_type is 'both'. Use 'even' or 'odd'.",
    ),
    "polyfit": (
        lambda x: np.polyfit(x, x[:2], 1),
        ShapeError,
        "the shapes do not fit. Give a vector of points, and as many values and weights.",
    ),
    "gradient": (
        lambda x: np.gradient(x > 0),
        TypeError,
        "bools have no differences. Convert them to numbers.",
    ),
    "rfft": (
        lambda x: np.fft.rfft(x + 0j),
        TypeError,
        "it takes real numbers. Use fft, or the real part.",
    ),
    "ldexp": (lambda x: np.ldexp(x, x), TypeError, "the exponents are float64[3]. Give integers."),
    "diagonal": (
        lambda x: np.diagonal(x),
        ValueError,
        "the array must have at least two axes. Use diag to make a matrix.",
    ),
    "matrix_transpose": (
        lambda x: np.matrix_transpose(x),
        ValueError,
        "the array must have at least two axes. Use x[:, None].",
    ),
    "inv": (
        lambda x: linalg.inv(x[None]),
        ShapeError,
        "it is no square matrix. Use pinv for other matrices.",
    ),
    "concatenate": (lambda _: cnp.concatenate([]), ValueError, "got no arrays. Give at least one array."),
    "histogram_bin_edges": (
        lambda x: cnp.histogram_bin_edges(x, 2, (1, 0)),
        ValueError,
        "the range is 1 to 0. Give the lower end first.",
    ),
    "choice": (
        lambda _: random.choice(KEY, 3, p=np.ones(2) / 2),
        ShapeError,
        "p has type float64[2], for 3 elements. Give one probability for each.",
    ),
    "bernoulli": (lambda _: random.bernoulli(KEY, 0.5, mode="mid"), ValueError, "mode is 'mid'. Use 'low' or 'high'."),
    "multinomial": (
        lambda x: random.multinomial(KEY, 3, x[0]),
        ValueError,
        "p has type float64[]. Give a vector of probabilities.",
    ),
    "multivariate_normal": (
        lambda x: random.multivariate_normal(KEY, x, np.eye(3), method="lu"),
        ValueError,
        "method is 'lu'. Use 'cholesky', 'svd' or 'eigh'.",
    ),
    "gamma": (
        lambda x: random.gamma(KEY, x, (2,)),
        ShapeError,
        "a has type float64[3], which does not broadcast to the shape (2,). Give a scalar, or a larger shape.",
    ),
    "categorical": (
        lambda x: random.categorical(KEY, x[:, None], shape=(2,)),
        ShapeError,
        "the logits without their axis have shape (3,), which does not broadcast to the shape (2,). Give a shape that",
    ),
    "dot_product_attention": (
        lambda x: nn.dot_product_attention(*[x.reshape(1, 3, 1, 1)] * 3, local_window_size=-1),
        ValueError,
        "local_window_size is -1. Give numbers of positions, zero or more.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_does_not_fit_is_refused_with_what_to_give(name):
    function, error, words = REFUSED[name]
    with pytest.raises(error, match=rf"^{name} .*at test_refusals\.py:\d+ .*{re.escape(words)}"):
        make_jaxpr(function)(X)


def test_a_key_has_no_truth_value():
    with pytest.raises(
        TypeError, match=r"a key at test_refusals\.py:\d+ .* has no truth value\. Use random\.bernoulli"
    ):
        bool(KEY)


def test_a_sum_of_segments_needs_their_number_where_it_is_not_known():
    words = r"segment_sum got traced segment_ids, int64\[3\], and no num_segments.* Pass num_segments=, an int\."
    with pytest.raises(ConcretizationTypeError, match=words):
        make_jaxpr(lambda ids: segments.segment_sum(X, ids))(np.arange(3))
    make_jaxpr(lambda ids: segments.segment_sum(X, ids, num_segments=3))(np.arange(3))


def test_a_ufunc_of_a_python_function_names_the_one_for_traced_arrays():
    with pytest.raises(TypeError) as caught:
        make_jaxpr(lambda x: np.frompyfunc(lambda a: 2 * a, 1, 1)(x))(X)
    assert str(caught.value).endswith(
        "has no rule. It calls a Python function with elements. Use calque.numpy.frompyfunc, or call it with arrays."
    )
