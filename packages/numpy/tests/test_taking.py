"""Elements at positions, partitions and orders are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import TracerArrayConversionError, TracerIntegerConversionError, eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit

INDICES = np.array([[2, 0, -1], [1, 1, 2]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_elements_at_positions_are_numpys(dtype, agree, numbers):
    x = numbers((3, 4), dtype)
    agree(lambda m, x, i: [m.take(x, i), m.take(x, i, 0), m.take(x, 2, 1), x.take(i, axis=-1)], x, INDICES)
    agree(lambda m, x, i: [m.take(x, i * 5, 0, mode="wrap"), m.take(x, i * 5, 1, mode="clip")], x, INDICES)
    agree(lambda m, x, i: [m.take_along_axis(x, i, 0), m.take_along_axis(x, i[:, :1], 0)], x, INDICES[:, [0, 1, 2, 0]])
    agree(lambda m, x, i: [m.take_along_axis(x, i[:1], 1), m.take_along_axis(x, i[0], None)], x, INDICES)
    agree(lambda m, x: [m.append(x, x, 0), m.append(x, 1), m.resize(x, (2, 3)), m.resize(x, 30)], x)


def test_choices_are_numpys(agree):
    a, choices = np.array([[0, 1, 2], [2, 1, 0]]), [np.arange(3), np.ones((2, 1)), np.float32(7)]
    agree(lambda m, a: m.choose(a, choices), a)
    agree(lambda m, a: [m.choose(a * 2 - 1, choices, mode="wrap"), m.choose(a * 2 - 1, choices, mode="clip")], a)


def test_results_of_known_positions_and_conditions_are_numpys(agree, numbers):
    x, keep = numbers((3, 4)), np.array([True, False, True])
    agree(lambda m, x: [m.compress(keep, x, 0), m.compress(keep, x, 1), m.compress(keep, x), m.extract(MASK, x)], x)
    agree(lambda m, x: [m.delete(x, 1, 0), m.delete(x, [0, -1], 1), m.delete(x, slice(1, 3)), m.delete(x, keep, 0)], x)


MASK = np.arange(12).reshape(3, 4) % 3 == 0


def test_elements_at_a_traced_condition_have_the_size_that_is_said():
    x, keep = np.arange(12).reshape(3, 4), np.array([2, 0, 1])
    cases = [
        (lambda c, x: cnp.compress(c, x, 0, size=3), [*x[[0, 2]], [0] * 4]),
        (lambda c, x: cnp.compress(c, x, 1, size=3, fill_value=9), [[0, 2, 9], [4, 6, 9], [8, 10, 9]]),
        (lambda c, x: cnp.compress(c, x, size=1), [0]),
        (lambda c, x: x.compress(c, size=3, fill_value=-1), [0, 2, -1]),
        (lambda c, x: cnp.compress(c[:0], x[:0], size=2), [0, 0]),
        (lambda c, x: cnp.extract(x % 5 == 1, x, size=4), [1, 6, 11, 0]),
        (lambda c, x: cnp.extract(x % 5 == 1, x, size=2, fill_value=7), [1, 6]),
    ]
    for fun, want in cases:
        program = make_jaxpr(fun)(keep, x)
        np.testing.assert_array_equal(eval_jaxpr(program, (), keep, x)[0], want)
    np.testing.assert_array_equal(cnp.compress(keep, x, 1, size=3), [[0, 2, 0], [4, 6, 0], [8, 10, 0]])
    with pytest.raises(
        ValueError, match=r"the condition is bool\[3\] for axis 0 of int64\[2,4\]. Give one bool for each"
    ):
        make_jaxpr(lambda c: cnp.compress(c, x[:2], 0, size=2))(keep)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_orders_are_numpys(dtype, agree, numbers):
    x = numbers((4, 5), dtype)
    agree(lambda m, x: [m.lexsort((x % 3, x % 2)), m.lexsort((x[0], x[1] > 0)), m.lexsort(x % 2, 0)], x)
    agree(lambda m, x: [m.sort_complex(x), m.sort_complex(x[0] * (1 - 1j))], x)
    for k in (0, 2, -1, [1, 3]):
        with disable_jit():
            np.testing.assert_array_equal(cnp.partition(x, k), np.sort(x))
            np.testing.assert_array_equal(cnp.argpartition(x, k, 0), np.argsort(x, 0, kind="stable"))
    assert str(make_jaxpr(lambda x: np.partition(x, 2, None))(x).out_avals[0]) == f"{x.dtype}[20]"


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_take_fills_positions_out_of_bounds_if_asked(axis, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    positions = np.array([[0, -1], [9, -9]])
    size = x.size if axis is None else x.shape[axis]
    inside = np.take(x, positions % size, axis)
    fill = {"float32": np.nan, "int16": -(1 << 15), "uint8": 255, "bool": True}[dtype]
    for options, value in [({}, fill), ({"fill_value": 1}, 1)]:
        want = inside.copy()
        want[(slice(None),) * (axis or 0) + (1,)] = value
        take = lambda x, p, options=options: cnp.take(x, p, axis, mode="fill", **options)
        program = make_jaxpr(take)(x, positions)
        for out in (take(x, positions), eval_jaxpr(program, program.consts, x, positions)[0]):
            assert out.dtype == x.dtype
            np.testing.assert_array_equal(out, want)


def test_elements_along_an_axis_are_taken_under_a_mode():
    x, positions = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, -1, 5, -5], [0, -2, 2, -3]])
    for options, want in [
        ({"mode": "fill"}, [[2, 2, np.nan, np.nan], [3, 3, np.nan, np.nan]]),
        ({"mode": "fill", "fill_value": 9}, [[2, 2, 9, 9], [3, 3, 9, 9]]),
        ({"fill_value": 9}, [[2, 2, 9, 9], [3, 3, 9, 9]]),
        ({"mode": "clip"}, [[2, 2, 2, 1], [3, 3, 4, 3]]),
    ]:
        take = lambda x, i, options=options: cnp.take_along_axis(x, i, 1, **options)
        program = make_jaxpr(take)(x, positions)
        for got in (take(x, positions), eval_jaxpr(program, program.consts, x, positions)[0]):
            np.testing.assert_array_equal(got, want)
    with pytest.raises(IndexError, match=r"index 5 is out of bounds at test_taking"):
        make_jaxpr(lambda x: cnp.take_along_axis(x, positions, 1, None))(x)
    with pytest.raises(ValueError, match=r"the mode at test_taking\S+ .* is 'wrap'. Give 'clip', 'fill'"):
        cnp.take_along_axis(x, positions, 1, "wrap")
    np.testing.assert_array_equal(cnp.take(x, [1], 0, mode=None), x[[1]])
    with pytest.raises(IndexError, match="index 5 is out of bounds"), disable_jit():
        cnp.take(x, [5], 0, mode=None)


def test_wrong_arguments_are_refused():
    x = np.ones((2, 3))
    with disable_jit():
        with pytest.raises(IndexError, match="5"):
            cnp.take(x, 5, 1)
        with pytest.raises(ValueError, match=r"take.*the mode is 'mirror'. Use 'raise', 'wrap' or 'clip'"):
            cnp.take(x, 1, mode="mirror")
        with pytest.raises(ValueError, match=r"take.*the mode 'clip' has no fill_value. Set mode='fill'"):
            cnp.take(x, 1, mode="clip", fill_value=0.0)
        with pytest.raises(TypeError, match=r"take.*the indices are float64\[\]. Give integers"):
            cnp.take(x, 1.0)
        with pytest.raises(
            ValueError, match=r"take_along_axis of float64\[2,3\].*the indices are int64\[1\]. Give as many axes"
        ):
            cnp.take_along_axis(x, np.array([1]), 0)
        with pytest.raises(
            ValueError,
            match=r"partition of float64\[2,3\].*the position 4 is out of bounds for 3 elements\. Use -3 to 2\.",
        ):
            cnp.partition(x, 4)
        with pytest.raises(
            IndexError, match=r"delete of float64\[2,3\] at .*positions \[0, 9\] .* axis 1 of size 3. Use -3 to 2"
        ):
            cnp.delete(x, [0, 9], axis=1)
        with pytest.raises(
            IndexError, match=r"insert of float64\[2,3\] at .*positions 9 are out .* axis 1 of size 3. Use -3 to 3"
        ):
            cnp.insert(x, 9, 1.0, axis=1)
        with pytest.raises(ValueError, match=r"lexsort.*there are no keys. Give at least one"):
            cnp.lexsort([])
        with pytest.raises(ValueError, match=r"compress.*the condition is bool\[1,2\]. Give a vector"):
            cnp.compress([[True, False]], x, 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_inserted_elements_are_numpys(dtype, agree, numbers):
    x = numbers((4, 3), dtype)
    agree(lambda m, x: [m.insert(x, 1, 5), m.insert(x, [1, 0], [5, 0]), m.insert(x, [], 3), m.insert(x, -1, x[0])], x)
    agree(lambda m, x: [m.insert(x, 1, x[0], 0), m.insert(x, 1, x[:2], 0), m.insert(x, [1], x[:2], 0)], x)
    agree(lambda m, x: [m.insert(x, -1, 4, 1), m.insert(x, [3, 1, 1], x[:, ::-1], 1), m.insert(x, 1, x[:, 0], 1)], x)
    agree(lambda m, x: [m.insert(x, slice(1, 3), 9, 1), m.insert(x, slice(2, 3), x[:, :1], 1)], x)
    for mask in ([True, False, True], np.array([True, False, True])):
        jaxpr = make_jaxpr(lambda x, mask=mask: cnp.insert(x, mask, x[:, :2], axis=1))(x)
        np.testing.assert_array_equal(*eval_jaxpr(jaxpr, jaxpr.consts, x), np.insert(x, [0, 2], x[:, :2], axis=1))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="NumPy before 2.2 reads a mask as integers")
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_elements_inserted_at_a_mask_are_numpys(dtype, agree, numbers):
    x = numbers((4, 3), dtype)
    agree(lambda m, x: m.insert(x, np.array([True, False, True]), x[:, :2], axis=1), x)


def test_insertions_are_refused_where_numpy_refuses():
    with disable_jit():
        with pytest.raises(IndexError, match="out of bounds"):
            cnp.insert(np.ones(3), 5, 1.0)
        with pytest.raises(ValueError, match="broadcast"):
            cnp.insert(np.ones((2, 3)), [0, 1], np.ones(5), 1)


@pytest.mark.parametrize("positions", [1.5, "a", None, True, [1.0], [[None]]])
@pytest.mark.parametrize("name", ["delete", "insert"])
def test_positions_that_are_no_integers_are_refused_by_name(name, positions):
    args = (positions,) if name == "delete" else (positions, 9.0)
    words = rf"^{name} at test_taking\.py:\d+ .*: the positions are .*\. Give integers, a slice, or a mask of bools\."
    for x in (np.ones(3), 1.0):
        with pytest.raises(TypeError, match=words):
            getattr(cnp, name)(x, *args)
        with pytest.raises(TypeError, match=words):
            make_jaxpr(lambda x: getattr(cnp, name)(x, *args))(x)


@pytest.mark.parametrize("kth", [1.5, "a", None, [0, 1.0]])
def test_a_kth_position_that_is_no_integer_is_refused(kth):
    for f in (cnp.partition, cnp.argpartition):
        with pytest.raises(
            TypeError, match=rf"^{f.__name__} at test_taking\.py:\d+ .*: kth is .*\. Give a sequence of int"
        ):
            make_jaxpr(lambda x, f=f: f(x, kth))(np.ones(3))


def test_sizes_that_are_no_integers_are_refused():
    for shape in (1.5, "a", None, (2, 1.0)):
        with pytest.raises(
            TypeError, match=r"^resize at test_taking\.py:\d+ .*: new_shape is .*\. Give a sequence of int"
        ):
            cnp.resize(np.ones(3), shape)
    with pytest.raises(TypeError, match=r"^round at test_taking\.py:\d+ .*: decimals is 'a'\. Give an integer\."):
        make_jaxpr(lambda x: cnp.round(x, "a"))(1.5)


@pytest.mark.parametrize("function", [lambda x, i: np.delete(x, i), lambda x, i: np.insert(x, i, 9.0)])
def test_traced_positions_are_refused_with_their_own_error(function):
    with pytest.raises(
        TracerIntegerConversionError, match=r"an integer was asked of a traced value of type ~int64\[\]"
    ):
        make_jaxpr(function)(np.ones(3), 1)
    with pytest.raises(
        TracerArrayConversionError, match=r"a NumPy array was asked of a traced value of type int64\[2\]"
    ):
        make_jaxpr(function)(np.ones(3), np.array([0, 2]))


def test_bools_choose_the_first_and_the_second(agree):
    agree(
        lambda m, a: [m.choose(a, [np.array([1, 2]), np.array([3, 4])]), cnp.take(np.arange(3), a)],
        np.array([True, False]),
    )


def test_the_shape_of_resize_is_known_and_holds_integers():
    x = np.arange(3.0)
    for shape in (2, (2, 2), [4], np.array([2, 1])):
        jaxpr = make_jaxpr(lambda x, shape=shape: cnp.resize(x, shape))(x)
        np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], np.resize(x, shape))
    with pytest.raises(TracerIntegerConversionError, match=r"an integer was asked.*the argument new_shape"):
        make_jaxpr(cnp.resize)(x, 3)
    with pytest.raises(TypeError, match=r"resize at test_taking.*new_shape is 1.5. Give a sequence of integers"):
        make_jaxpr(lambda x: cnp.resize(x, 1.5))(x)


def test_choices_of_two_floats_of_16_bits_meet_in_float32():
    brain = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    chosen = cnp.choose(np.array([0, 1]), [np.ones(2, brain), np.zeros(2, np.float16)])
    assert (chosen.dtype, chosen.tolist()) == (np.float32, [1.0, 0.0])
