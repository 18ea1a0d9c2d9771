"""Padded arrays are NumPy's in each mode."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import TracerIntegerConversionError, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.2)

MODES = {
    "edge": {}, "wrap": {}, "reflect": {}, "symmetric": {}, "linear_ramp": {}, "mean": {}, "maximum": {}, "median": {},
    "an odd reflection": {"mode": "reflect", "reflect_type": "odd"},
    "an odd symmetry": {"mode": "symmetric", "reflect_type": "odd"},
    "two end values": {"mode": "linear_ramp", "end_values": (3, -2)},
    "a minimum of two": {"mode": "minimum", "stat_length": 2},
    "a mean of one and three": {"mode": "mean", "stat_length": (1, 3)},
    "two constants": {"mode": "constant", "constant_values": (1, 2)},
}  # fmt: skip
DTYPES = ["float64", "int32", "uint8", "bool", "float16", "complex64"]


@pytest.mark.parametrize("shape", [(3,), (1,), (2,), (2, 3), (1, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODES)
def test_a_mode_is_numpys(name, dtype, shape, agree, numbers):
    options = {"mode": name, **MODES[name]}
    for width in (2, (3, 1), (7, 12)):
        agree(lambda m, x, w=width: m.pad(x, w, **options), numbers(shape, dtype), ulps=1024)


def test_axes_have_widths_and_values_of_their_own(agree, numbers):
    x = numbers((2, 3), "float32")
    agree(lambda m, x: m.pad(x, ((1, 0), (0, 2)), mode="reflect"), x)
    agree(lambda m, x: m.pad(x, [(1, 0), (0, 2)], constant_values=[(1.0, 2.0), (3.0, 4.0)]), x)
    agree(lambda m, x: m.pad(x, 0, mode="edge"), np.ones((0, 2)))
    assert cnp.pad.__wrapped__(x, {-1: (1, 2), 0: 3}).shape == (8, 6)
    assert cnp.pad(x, 1, mode="empty").shape == (4, 5)


def test_a_value_may_be_traced(agree):
    agree(lambda m, x: m.pad(x, 1, constant_values=x[0]), np.array([1.5, 2.5]))
    agree(lambda m, x: m.pad(x, (2, 1), mode="linear_ramp", end_values=x[1]), np.array([1.5, 2.5]))


def test_an_infinite_edge_leaves_the_other_border_alone(agree):
    agree(lambda m, x: m.pad(x, 2, mode="reflect", reflect_type="odd"), np.array([np.inf, 1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.pad(x, 1, mode="mirror"), ValueError, "the mode is 'mirror'. Use one of constant, edge,"),
        (lambda x: np.pad(x, 1, mode=lambda *_: None), TypeError, "the mode is a function"),
        (lambda x: np.pad(x, 1, mode="edge", end_values=1), ValueError, "mode='edge' does not take end_values="),
        (lambda x: np.pad(x, 1, mode="reflect", reflect_type="oddly"), ValueError, "reflect_type is 'oddly'. Use"),
        (lambda x: np.pad(x, 1, mode="mean", stat_length=1.5), TypeError, "stat_length is 1.5. Give an integer."),
        (lambda x: np.pad(x[:0], 1, mode="edge"), ValueError, "axis 0 is empty. Use mode='constant' or 'empty'."),
        (lambda x: np.pad(x[:0], 1, mode="mean"), ValueError, "there is no element along axis 0. Give a longer array"),
        (
            lambda x: np.pad(x, 1, constant_values=(1, 2, 3)),
            ValueError,
            "constant_values has the type int64[3] for 2 axes. Give one value, (before, after),",
        ),
        (lambda x: np.pad(x, -1), ValueError, "pad_width is -1. Give numbers of zero or more."),
        (
            lambda x: np.pad(x, ((1, 2),) * 3),
            ValueError,
            "for 2 axes. Give one number, (before, after), or a pair (before, after) for each axis",
        ),
        (lambda x: np.pad(x, 0.5), TypeError, "pad_width is 0.5. Give integers."),
    ],
)
def test_wrong_arguments_of_pad_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert "pad" in str(caught.value)
    assert words in str(caught.value)


def test_traced_widths_are_refused_by_their_argument():
    with pytest.raises(TracerIntegerConversionError, match=r"an integer was asked.*the argument pad_width"):
        make_jaxpr(cnp.pad)(np.ones(3), (1, 2))
