"""Axes added, enlarged and moved are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr

CASES = {
    "expand_dims": lambda m, x: m.expand_dims(x, 0),
    "expand_dims behind": lambda m, x: m.expand_dims(x, -1),
    "expand_dims of several": lambda m, x: m.expand_dims(x, (0, 2, -1)),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (5, *x.shape)),
    "broadcast_to the same": lambda m, x: m.broadcast_to(x, x.shape),
    "broadcast_arrays": lambda m, x: list(m.broadcast_arrays(x, np.ones((4, *(1,) * x.ndim)), x)),
    "atleast_1d": lambda m, x: m.atleast_1d(x),
    "atleast_2d": lambda m, x: m.atleast_2d(x),
    "atleast_3d": lambda m, x: m.atleast_3d(x),
    "atleast of several": lambda m, x: list(m.atleast_2d(x, x, 1.0)),
    "moveaxis": lambda m, x: m.moveaxis(m.expand_dims(x, 0), 0, -1),
    "moveaxis of several": lambda m, x: m.moveaxis(x[None, :, None], (0, 1), (-1, 0)),
    "swapaxes": lambda m, x: m.swapaxes(x[..., None], 0, -1),
    "transpose": lambda m, x: m.transpose(x),
    "matrix_transpose": lambda m, x: m.matrix_transpose(x[None, None]),
    "squeeze": lambda m, x: m.squeeze(x[None, :, None]),
    "reshape": lambda m, x: m.reshape(x, -1) if x.size else m.reshape(x, (0,)),
    "ravel": lambda m, x: m.ravel(x, order="F"),
}


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 4), (0, 2), (1,)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_axes_are_numpys(name, shape, agree, numbers):
    agree(CASES[name], numbers(shape))


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_a_scalar_gets_axes(name, agree):
    agree(lambda m, x: getattr(m, name)(x), 2.0)
    agree(lambda m, x: getattr(m, name)(x), np.float32(2))


def test_shapes_and_sizes_are_plain_integers():
    def told(x):
        assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((2, 3), 2, 6, 3)
        assert (cnp.shape(x), cnp.ndim(x), cnp.size(x), cnp.size(x, 1)) == ((2, 3), 2, 6, 3)
        return x

    make_jaxpr(told)(np.ones((2, 3)))
    told(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: np.expand_dims(x, 4),
            ValueError,
            "(4,) are not distinct axes of a result with 3 axes. Use each axis from -3 to 2 once",
        ),
        (lambda x: np.expand_dims(x, 1.0), TypeError, "the axis is 1.0. Give a sequence of integers."),
        (lambda x: np.broadcast_to(x, (3, 2)), ShapeError, "cannot broadcast float64[2,3] to the shape (3, 2)"),
        (lambda x: cnp.broadcast_arrays(x, np.ones(2)), ValueError, "and (2,) at test_shapes.py:"),
        (lambda x: np.moveaxis(x, 0, 2), ValueError, "axis 2 is out of range for ndim 2"),
        (lambda x: np.moveaxis(x, (0, 0), (0, 1)), ValueError, "name one axis twice. Give each axis once."),
        (lambda x: np.moveaxis(x, (0, 1), 0), ValueError, "2 axes and 1 positions. Give equal numbers of both."),
        (lambda x: np.matrix_transpose(x[0]), ValueError, "matrix_transpose of float64[3]"),
    ],
)
def test_an_array_that_fits_no_shape_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)


def test_axes_are_rolled_and_slices_are_taken_as_numpy_does(agree, numbers):
    x = numbers((2, 3, 4))
    agree(lambda m, x: [m.rollaxis(x, 2), m.rollaxis(x, 0, 3), m.rollaxis(x, 1, 2)], x)
    np.testing.assert_array_equal(cnp.unstack(x, axis=1), np.moveaxis(x, 1, 0))
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # NumPy 2.0 has no unstack
        agree(lambda m, x: [*m.unstack(x, axis=1)], x)
    agree(
        lambda m, x: [m.empty_like(x).shape[0] * x, m.array_equiv(x, x[:1] * 0) * 1, m.array_equiv(x, x) * 1],
        x,
        plain=False,
    )


def test_an_axis_may_be_an_array_of_rank_0(agree):
    one = np.array(1)
    agree(
        lambda m, x: [m.flip(x, one), m.roll(x, one, one), m.expand_dims(x, one), m.moveaxis(x, one, 0)],
        np.ones((2, 3)),
    )
