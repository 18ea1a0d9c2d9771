"""NumPy's functions that move, convert or bound elements, of tracers: as functions and as methods."""

import numpy as np
import pytest

from calque_core import eval_jaxpr, make_jaxpr, stage, typeof
from calque_core.arrays import numpy_shapes
from calque_core.config import enable_x64
from calque_core.errors import ShapeError

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(), (3,), (1,), (0,), (2, 3), (2, 0, 3), (2, 1, 3)]


def traced(fun, *args):
    jaxpr = stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args]).eqns]


def refused(fun, *args, error=TypeError):
    with pytest.raises(error) as caught:
        traced(fun, *args)
    return str(caught.value)


FUNCTIONS = {
    "reshape(-1)": lambda x: x.reshape(-1),
    "reshape(size)": lambda x: x.reshape(x.size),
    "reshape(1, -1)": lambda x: x.reshape(1, -1),
    "reshape((3, -1))": lambda x: np.reshape(x, (3, -1)),
    "reshape(F)": lambda x: x.reshape((-1, 3), order="F"),
    "reshape(())": lambda x: x.reshape(()),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose()": lambda x: x.transpose(),
    "transpose(None)": lambda x: x.transpose(None),
    "transpose(1, 0)": lambda x: x.transpose(1, 0),
    "transpose((1, -2))": lambda x: x.transpose((1, -2)),
    "np.transpose": lambda x: np.transpose(x, (0, 2, 1)),
    "ravel": lambda x: x.ravel(),
    "ravel(F)": lambda x: np.ravel(x, "F"),
    "flatten": lambda x: x.flatten(),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "squeeze": lambda x: np.squeeze(x),
    "squeeze(0)": lambda x: x[None].squeeze(0),
    "squeeze((-2,))": lambda x: np.squeeze(x, axis=(-2,)),
    "clip": lambda x: np.clip(x, 0, 2),
    "clip(0.5)": lambda x: x.clip(0.5),
    "clip(max)": lambda x: x.clip(max=1),
    "clip(min, max)": lambda x: np.clip(x, min=0, max=1),
    "clip(array)": lambda x: np.clip(x, np.zeros((1, 1)), None),
    "round": lambda x: x.round(),
    "round(1)": lambda x: np.round(x, 1),
    "around(2)": lambda x: np.around(x, 2),
    "astype(f4)": lambda x: x.astype(np.float32),
    "astype(bool)": lambda x: x.astype(bool),
    "astype(int)": lambda x: x.astype(int),
    "astype(safe)": lambda x: x.astype(np.float32, casting="safe", copy=False),
    "copy": lambda x: np.copy(x) + x.copy(),
    "real": lambda x: x.real + np.real(x),
    "imag": lambda x: x.imag + np.imag(x),
    "conj": lambda x: x.conj() + x.conjugate(),
}


@pytest.mark.parametrize("fun", list(FUNCTIONS.values()), ids=list(FUNCTIONS))
def test_a_function_is_numpys_for_every_dtype_and_shape(fun):
    rng = np.random.default_rng(0)
    for char in "?bilBfd":
        for shape in SHAPES:
            x = np.asarray(rng.integers(0, 5, shape) / (4 if char in "fd" else 1)).astype(char)
            try:
                want = fun(x)
            except (ValueError, TypeError, IndexError):
                refused(fun, x, error=(ValueError, TypeError))
                continue
            got = traced(fun, x)
            assert (got.dtype, got.shape) == (want.dtype, want.shape), (char, shape)
            np.testing.assert_array_equal(got, want)


def test_negative_decimals_round_to_tens():
    x = np.array([14.9, 15.0, 25.0, -251.0])
    np.testing.assert_array_equal(traced(lambda a: np.round(a, -1), x), np.round(x, -1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integers_round_to_tens_with_ties_to_even_as_numpys(dtype):
    x = np.array([15, 25, 4, 0, 114, 96], dtype)
    for decimals in (-1, -2, -3):
        got, want = traced(lambda a, n=decimals: np.round(a, n), x), np.round(x, decimals)
        assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


def test_pythons_round_gives_an_array():
    np.testing.assert_array_equal(traced(lambda x: round(x), np.array([0.5, 1.5, 2.6])), [0.0, 2.0, 3.0])
    np.testing.assert_array_equal(traced(lambda x: round(x, 1), np.array([0.25])), [0.2])


def test_what_changes_nothing_takes_no_equation():
    x = np.ones((2, 3))
    for fun in (
        lambda a: a.reshape(2, 3),
        lambda a: a.astype(np.float64),
        lambda a: a.copy(),
        lambda a: a.squeeze(),
        lambda a: a.transpose(0, 1),
        lambda a: a.round(2) if a.dtype.kind == "i" else a,
        lambda a: a.real,
        lambda a: np.clip(a, None, None),
    ):
        assert primitives(fun, x) == []
    assert primitives(lambda a: a.ravel(), x) == ["reshape"]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 requires the bounds of clip")
def test_clip_without_bounds_takes_no_equation():
    assert primitives(lambda a: np.clip(a), np.ones((2, 3))) == []


def test_sizes_are_known_while_tracing():
    def fun(x):
        assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), np.size(x, (0, 1))) == ((2, 3, 4), 3, 24, 3, 6)
        return x

    traced(fun, np.zeros((2, 3, 4)))


def test_the_functions_serve_numpy_arrays_as_well():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(numpy_shapes.reshape(x, (3, -1)), x.reshape(3, 2))
    np.testing.assert_array_equal(numpy_shapes.clip(x, 1, 2), np.clip(x, 1, 2))


# What is refused


def test_a_reshape_to_another_number_of_elements_is_refused():
    words = refused(lambda x: x.reshape(4, -1), np.ones((2, 3)), error=ShapeError)
    assert words.startswith("reshape of float64[2,3] to (4, -1) at test_numpy_shapes.py:")
    assert words.endswith(
        "6 elements do not fill this shape. The product of the sizes must divide the number of elements."
    )
    assert "the operand has 6 elements" in refused(lambda x: x.reshape(4), np.ones((2, 3)), error=ShapeError)


def test_two_unknown_sizes_are_refused():
    assert "(-1, -1)" in refused(lambda x: x.reshape(-1, -1), np.ones(4), error=ShapeError)


def test_an_order_that_nobody_knows_is_refused():
    words = refused(lambda x: x.reshape(4, order="B"), np.ones(4), error=ValueError)
    assert words.startswith("the order of elements at test_numpy_shapes.py:")
    assert words.endswith("is 'B'. Use 'C' or 'F'.")


def test_a_cast_that_the_rule_forbids_is_refused():
    words = refused(lambda x: x.astype(np.int32, casting="safe"), np.ones(2))
    assert words.startswith("astype at test_numpy_shapes.py:")
    assert words.endswith("cannot cast float64 to int32 with casting='safe'. Use casting='unsafe'.")


def test_complex_numbers_become_real_ones_with_numpys_warning():
    z = np.array([1 + 2j, 3j])
    with pytest.warns(np.exceptions.ComplexWarning, match=r"astype at .* from complex128 to float32 loses"):
        out = traced(lambda a: a.astype(np.float32), z)
    assert (out.dtype, out.tolist()) == (np.float32, [1.0, 0.0])


def test_a_complex_number_is_true_unless_it_is_zero():
    z = np.array([1 + 2j, 3j, 0])
    assert traced(lambda a: a.astype(bool), z).tolist() == z.astype(bool).tolist() == [True, True, False]


def test_with_32_bits_integers_are_not_rounded_to_tens():
    with enable_x64(False):
        words = refused(lambda x: np.round(x, -1), np.array([15], np.int32))
    assert words.startswith("round of int32[1] at test_numpy_shapes.py:")
    assert words.endswith("to -1 decimals. Convert it to float first.")


@pytest.mark.parametrize(("name", "bounds"), [("clip", (0.0, 1.0)), ("round", ())])
def test_out_is_refused(name, bounds):
    words = refused(lambda x: getattr(np, name)(x, *bounds, out=np.zeros(2)), np.ones(2))
    assert words.startswith(f"{name} at test_numpy_shapes.py:")
    assert "out= is not supported" in words


def test_a_squeeze_of_another_size_is_refused():
    assert "axis 0 has size 2" in refused(lambda x: x.squeeze(0), np.ones((2, 1)), error=ValueError)


def test_clip_makes_an_array_of_a_python_number_and_not_of_a_bound():
    for x, low, high in ((300, np.int8(0), None), (0.1, np.float32(0), 1.0), (2.5, None, np.float32(1)), (3, 0, 2)):
        want = np.clip(x, low, high)
        jaxpr = make_jaxpr(lambda x, low=low, high=high: np.clip(x, low, high))(x)
        (got,) = eval_jaxpr(jaxpr, jaxpr.consts, x)
        assert got.dtype == want.dtype
        assert got == want
    assert make_jaxpr(lambda x: np.clip(x, 0, 1.5))(np.ones(2, "float32")).out_avals[0].dtype == np.float32


def test_the_one_axis_of_a_vector_may_be_an_integer():
    x = np.arange(3.0)
    for axes in (0, np.int64(-1), np.array(0)):
        jaxpr = make_jaxpr(lambda x, axes=axes: np.transpose(x, axes))(x)
        assert str(jaxpr.out_avals[0]) == "float64[3]"
    with pytest.raises(ValueError, match=r"transpose.*axis 1 is out of range for ndim 1"):
        make_jaxpr(lambda x: np.transpose(x, 1))(x)
