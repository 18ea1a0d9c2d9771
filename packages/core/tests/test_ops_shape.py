"""Values of the operations that rearrange, cut, pad and join, against index arithmetic written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calque_core import lax
from calque_core.errors import ShapeError, TracerIntegerConversionError
from calque_core.staging.make_jaxpr import make_jaxpr

X = np.arange(24.0).reshape(2, 3, 4)
OF = [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)]
both = pytest.mark.parametrize("of", OF, ids=["evaluated", "staged"])


@pytest.mark.parametrize("shape", [(24,), (4, 6), (1, 24, 1), (2, 2, 2, 3)])
def test_reshape_keeps_row_major_order(shape):
    out = lax.reshape(X, shape)
    assert out.shape == shape
    assert list(out.flat) == list(X.flat)


@pytest.mark.parametrize(("shape", "new"), [((0, 3), (5, 0)), ((), (1, 1)), ((1,), ())])
def test_reshape_of_empty_and_single_elements(shape, new):
    assert lax.reshape(np.zeros(shape), new).shape == new


def test_operations_that_have_nothing_to_do_stage_nothing():
    def program(x):
        x = lax.reshape(x, x.shape)
        x = lax.transpose(x, range(x.ndim))
        x = lax.rev(lax.squeeze(x, ()), ())
        x = lax.slice(x, (0,) * x.ndim, x.shape)
        return lax.concatenate([lax.reduce_sum(x, ())], 0)

    assert not make_jaxpr(program)(X).eqns


@pytest.mark.parametrize("new", [(5,), (2, 3), (-1,), (-2, -12), ()])
@both
def test_reshape_to_another_size_is_refused_with_both(of, new):
    with pytest.raises(
        ShapeError, match=r"reshape of float64\[2,3,4\] to .* at test_ops_shape\.py:\d+ .*has 24 elements\. The sizes"
    ):
        of(lambda x: lax.reshape(x, new), X)


def test_reshape_of_a_traced_size_raises_the_tracers_own_error():
    with pytest.raises(TracerIntegerConversionError):
        make_jaxpr(lambda n: lax.reshape(X, (n, 1)))(24)


@pytest.mark.parametrize("new", [(24.0,), 24, ("24",)])
def test_reshape_wants_a_sequence_of_integers(new):
    with pytest.raises(TypeError, match=r"reshape at .*: new_sizes is .*\. Give a sequence of integers\."):
        lax.reshape(X, new)


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))))
def test_transpose_moves_axis_p_i_to_i(permutation):
    out = lax.transpose(X, permutation)
    for index in np.ndindex(X.shape):
        assert out[tuple(index[p] for p in permutation)] == X[index]


@pytest.mark.parametrize("permutation", [(0, 1), (0, 0, 1), (0, 1, 3), (0, 1, -1), ()])
@both
def test_transpose_refuses_what_is_no_permutation(of, permutation):
    with pytest.raises(
        ValueError, match=r"transpose of float64\[2,3,4\] at .* is not a permutation of its axes\. .* ndim is 3"
    ):
        of(lambda x: lax.transpose(x, permutation), X)


@pytest.mark.parametrize("axes", [(0,), (1, 2), (-1,), 1, None])
def test_rev_reverses_each_named_axis(axes):
    named = range(3) if axes is None else [axes] if isinstance(axes, int) else axes
    named = {a % 3 for a in named}
    out = lax.rev(X, axes)
    for index in np.ndindex(X.shape):
        assert out[tuple(n - 1 - i if a in named else i for a, (i, n) in enumerate(zip(index, X.shape)))] == X[index]


def test_squeeze_drops_named_axes_only():
    x = np.zeros((1, 3, 1, 2))
    assert lax.squeeze(x, (0,)).shape == (3, 1, 2)
    assert lax.squeeze(x, (-2, 0)).shape == (3, 2)
    assert lax.squeeze(np.zeros((1, 1)), None).shape == ()


@both
def test_squeeze_refuses_an_axis_of_another_size(of):
    with pytest.raises(
        ValueError, match=r"squeeze of float64\[2,3,4\] at .*: axis 1 has size 3\. Name axes of size 1 only\."
    ):
        of(lambda x: lax.squeeze(x, (1,)), X)


AXIS_OPERATIONS = {
    "rev": lambda x, axis: lax.rev(x, (axis,)),
    "squeeze": lambda x, axis: lax.squeeze(x, (axis,)),
    "concatenate": lambda x, axis: lax.concatenate([x, x], axis),
    "reduce_sum": lambda x, axis: lax.reduce_sum(x, axis),
    "reduce_max": lambda x, axis: lax.reduce_max(x, (0, axis)),
    "argmax": lambda x, axis: lax.argmax(x, axis),
    "sort": lambda x, axis: lax.sort(x, axis),
    "iota": lambda x, axis: lax.broadcasted_iota(int, x.shape, axis),
    "dot_general": lambda x, axis: lax.dot_general(x, x, (((axis,), (axis,)), ((), ()))),
}


@pytest.mark.parametrize("name", AXIS_OPERATIONS)
@pytest.mark.parametrize("axis", [3, -4])
def test_an_axis_out_of_range_is_refused_with_axis_ndim_and_line(name, axis):
    with pytest.raises(
        ValueError, match=rf"{name} at test_ops_shape\.py:\d+ .*axis {axis} is out of range for ndim 3\. Use an axis"
    ):
        AXIS_OPERATIONS[name](X, axis)


@pytest.mark.parametrize("name", AXIS_OPERATIONS)
def test_an_axis_of_an_array_without_axes_is_refused(name):
    with pytest.raises(ValueError, match=r"axis 0 is out of range for ndim 0\. An array of rank 0 has no axes\."):
        AXIS_OPERATIONS[name](np.float64(1.0), 0)


@pytest.mark.parametrize("name", [name for name in AXIS_OPERATIONS if name != "dot_general"])
@pytest.mark.parametrize("axis", [1.0, "x"])
def test_an_axis_that_is_no_integer_is_refused_by_value(name, axis):
    with pytest.raises(TypeError, match=rf"{name} at .*: the axis is {axis!r}\. Give an integer\."):
        AXIS_OPERATIONS[name](X, axis)


@pytest.mark.parametrize("name", [name for name in AXIS_OPERATIONS if name != "squeeze"])
def test_a_traced_axis_raises_the_tracers_own_error(name):
    with pytest.raises(TracerIntegerConversionError):
        make_jaxpr(lambda axis: AXIS_OPERATIONS[name](X, axis))(0)


@pytest.mark.parametrize("operation", [lax.rev, lax.squeeze, lax.reduce_sum])
def test_an_axis_given_twice_is_refused(operation):
    with pytest.raises(ValueError, match=r"the axes \(0, -3\) name one axis twice for ndim 3\. Give each axis once\."):
        operation(X, (0, -3))


@pytest.mark.parametrize("size", [0, 1, 5])
def test_slice_is_that_of_python_on_every_valid_range(size):
    x = np.arange(float(size))
    for start, limit, step in itertools.product(range(size + 1), range(size + 1), (None, 1, 2, 3)):
        if start <= limit:
            out = lax.slice(x, (start,), (limit,), None if step is None else (step,))
            assert list(out) == list(range(size))[start:limit:step]


def test_slice_cuts_each_axis_by_its_own_numbers():
    np.testing.assert_array_equal(lax.slice(X, (0, 1, 0), (2, 3, 4), (1, 1, 3)), X[0:2, 1:3, 0:4:3])


@pytest.mark.parametrize(("start", "limit", "stride"), [(-1, 2, 1), (2, 1, 1), (0, 5, 1), (0, 3, 0), (0, 3, -1)])
@both
def test_slice_refuses_ranges_outside_the_axis(of, start, limit, stride):
    words = rf"axis 0 of size 4 is cut from {start} to {limit} by {stride}\. Use 0 <= start <= limit <= size"
    with pytest.raises(ValueError, match=words):
        of(lambda x: lax.slice(x, (start,), (limit,), (stride,)), np.zeros(4))


@both
def test_slice_wants_one_number_per_axis(of):
    with pytest.raises(
        ValueError, match=r"slice of float64\[2,3,4\] at .* from \(0,\) to \(1,\) by None: each must have 3 numbers"
    ):
        of(lambda x: lax.slice(x, (0,), (1,)), X)


def padded(values: list[float], low: int, high: int, interior: int) -> list[float]:
    """Pad a list by inserting, then extending, then cutting, one step after the other."""
    out = [v for value in values for v in (value, *[-1.0] * interior)][
        : max(len(values) + (len(values) - 1) * interior, 0)
    ]
    out = [-1.0] * low + out if low >= 0 else out[-low:]
    return out + [-1.0] * high if high >= 0 else out[: len(out) + high]


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("interior", [0, 1, 2])
def test_pad_inserts_extends_and_cuts(size, interior):
    values = list(np.arange(1.0, size + 1))
    for low, high in itertools.product(range(-3, 4), repeat=2):
        if low + high + size + max(size - 1, 0) * interior >= 0 and -min(low, 0) <= size and -min(high, 0) <= size:
            out = lax.pad(np.array(values), -1.0, ((low, high, interior),))
            assert list(out) == padded(values, low, high, interior), (low, high)


def test_pad_pads_each_axis():
    out = lax.pad(np.ones((1, 2), np.float32), 0, ((1, 0, 0), (0, 1, 1)))
    np.testing.assert_array_equal(out, [[0, 0, 0, 0], [1, 0, 1, 0]])
    assert out.dtype == np.float32


@pytest.mark.parametrize(("config", "words"), [
    (((-2, -3, 0),), r"removes more than the size of an axis, or has negative interior padding\. Remove at most"),
    (((0, 0, -1),), r"removes more than the size of an axis, or has negative interior padding\."),
    (((0, 0, 0), (0, 0, 0)), r"pad of float64\[4\] with float64\[\] at .*padding_config has 2 entries\. Give \(low"),
    (((0, 0),), r"padding_config is \(\(0, 0\),\)\. Give three integers, \(low, high, interior\), per axis\."),
])  # fmt: skip
@both
def test_pad_refuses_a_configuration_that_does_not_fit(of, config, words):
    with pytest.raises(ValueError, match=words):
        of(lambda x: lax.pad(x, 0.0, config), np.zeros(4))


@both
def test_pad_refuses_padding_that_is_not_a_scalar(of):
    with pytest.raises(ShapeError, match=r"the padding value is not one float64\. Give a scalar of this dtype\."):
        of(lambda x: lax.pad(x, np.zeros(2), ((0, 0, 0),)), np.zeros(4))


def test_reshape_with_dimensions_transposes_first():
    np.testing.assert_array_equal(lax.reshape(X, (4, 6), (2, 0, 1)), X.transpose(2, 0, 1).reshape(4, 6))
    np.testing.assert_array_equal(lax.reshape(X, (2, 4, 3), dimensions=(0, 2, 1)), X.transpose(0, 2, 1))
    with pytest.raises(ValueError, match=r"transpose of float64\[2,3,4\] at .*"):
        lax.reshape(X, (24,), (0, 0, 1))


# Short forms


@pytest.mark.parametrize(
    ("start", "stop", "want"),
    [
        (0, 2, (6, 4)),
        (1, None, (2, 12)),
        (0, None, (24,)),
        (-2, -1, (2, 3, 4)),
        (2, 2, (2, 3, 1, 4)),
        (3, None, (2, 3, 4, 1)),
    ],
)
def test_collapse_makes_one_axis_of_consecutive_axes(start, stop, want):
    out = lax.collapse(X, start, stop)
    assert out.shape == want
    assert list(out.flat) == list(X.flat)


@both
@pytest.mark.parametrize(("start", "stop"), [(2, 1), (0, 4), (-4, 2)])
def test_a_range_of_axes_that_does_not_exist_is_refused(of, start, stop):
    message = (
        rf"collapse of float64\[2,3,4\] at .*: there are no axes from {start} to {stop}\. Use 0 <= start <= stop <= 3"
    )
    with pytest.raises(ValueError, match=message):
        of(lambda x: lax.collapse(x, start, stop), X)


@pytest.mark.parametrize(("rank", "want"), [(0, (2, 3, 4)), (3, (2, 3, 4)), (5, (1, 1, 2, 3, 4))])
def test_broadcast_to_rank_adds_leading_axes(rank, want):
    assert lax.broadcast_to_rank(X, rank).shape == want


def test_broadcast_like_takes_the_shape_of_the_second_array():
    np.testing.assert_array_equal(lax.broadcast_like(np.arange(4), X), np.broadcast_to(np.arange(4), X.shape))
    with pytest.raises(ShapeError, match=r"cannot broadcast float64\[2,3,4\] to the shape \(4,\)"):
        lax.broadcast_like(X, np.arange(4))


def test_sizes_without_an_order_are_refused():
    with pytest.raises(TypeError, match=r"^full at test_ops_shape.py:\d+ .* is \{2, 3\}\. Give a sequence of integers"):
        lax.full({2, 3}, 1.0)


def test_shapes_to_broadcast_may_be_lists_and_must_hold_integers():
    assert lax.broadcast_shapes([3, 1], (4,)) == (3, 4)
    with pytest.raises(
        TypeError, match=r"^broadcast_shapes at .*: a shape is \[1, 'a'\]\. Give a sequence of integers"
    ):
        lax.broadcast_shapes([1, "a"], (2,))
