"""Arrays of lists, of scalars, of one value: NumPy's dtypes, the defaults of the settings, and refusals."""

import array as pyarray
import re
from collections import UserDict, UserList, deque

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeDtypeStruct, ShapeError, config, eval_jaxpr, jaxpr_as_fun, make_jaxpr, typeof
from calque_core.config import disable_jit

NESTED = {
    "a float": 1.5,
    "an integer": 3,
    "a bool": True,
    "a complex number": 1 + 2j,
    "a list": [1, 2, 3],
    "mixed kinds": [1, 2.5, True],
    "rows": [[1.0, 2.0], (3.0, 4.0)],
    "an empty list": [],
    "empty rows": [[], []],
    "NumPy scalars": [np.float32(1), np.float32(2)],
    "a NumPy scalar beside a Python one": [np.float32(1), 2.0],
    "arrays": [np.ones(2, np.int8), [3, 4]],
    "an array": np.array([1, 2], np.int16),
    "a large integer": [2**63],
}


@pytest.mark.parametrize("name", NESTED)
def test_an_array_has_numpys_values_and_dtype(name):
    value = NESTED[name]
    dtypes = [None] if name in ("a complex number", "a large integer") else [None, "float32", "int16", float]
    for dtype in dtypes:
        got, want = cnp.asarray(value, dtype), np.asarray(value, dtype)
        assert got.dtype == cnp.array(value, dtype).dtype == want.dtype
        np.testing.assert_array_equal(got, want, strict=bool(want.shape))


@pytest.mark.parametrize(
    "make",
    [
        lambda m, x: m.array([x, x]),
        lambda m, x: m.array([[x[0], 1.0], [2, x[1]]]),
        lambda m, x: m.array([x, [1, 2]]),
        lambda m, x: m.array((x[0], True)),
        lambda m, x: m.array([x[0], np.float64(3)]),
        lambda m, x: m.array([[x], [[0, 0]]], dtype=np.float64),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_a_list_that_holds_tracers_is_stacked(make, dtype):
    x = np.array([3, 4], dtype)
    want = make(np, x)
    jaxpr = make_jaxpr(lambda a: make(cnp, a))(x)
    (got,) = eval_jaxpr(jaxpr, jaxpr.consts, x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want, strict=True)


def test_array_copies_and_asarray_does_not():
    x = np.ones(3)
    assert cnp.asarray(x) is x
    y = cnp.array(x)
    x[0] = 7.0
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_ndmin_puts_axes_in_front():
    assert cnp.array([1, 2], ndmin=3).shape == (1, 1, 2)
    assert cnp.array([[1, 2]], ndmin=1).shape == (1, 2)


@pytest.mark.parametrize("value", [np.ones(2), [1.0, 2.0], 3, np.float32(2)], ids=repr)
@pytest.mark.parametrize("dtype", [None, "float64", "int8"])
@pytest.mark.parametrize("copy", [True, False, None])
def test_an_array_is_copied_as_by_numpy(value, dtype, copy):
    def outcome(make):
        try:
            return make(value, dtype, copy=copy)
        except ValueError as error:
            return type(error)

    for name in ("asarray", "array"):
        ours, theirs = outcome(getattr(cnp, name)), outcome(getattr(np, name))
        assert (ours is value, np.shape(ours), type(ours)) == (theirs is value, np.shape(theirs), type(theirs))


def test_a_traced_array_is_copied_without_an_operation():
    def program(x):
        for copy in (False, None):
            assert cnp.asarray(x, copy=copy) is x
        for y in (cnp.asarray(x, copy=True), cnp.array(x)):
            y += 1.0  # x is as before
        cnp.asarray(x, copy=False)
        with pytest.raises(ValueError, match=r"copy=False, but an array of type float32\[2\] is a copy here"):
            cnp.asarray(x, "float32", copy=False)
        with pytest.raises(ValueError, match=r"copy=False, but an array of type float64\[1,2\] is a copy"):
            cnp.asarray([x], copy=False)
        return x

    jaxpr = make_jaxpr(program)(np.ones(2))
    assert {eqn.primitive.name for eqn in jaxpr.eqns} == {"add", "convert_element_type", "stack"}


def test_a_buffer_is_an_array_of_its_memory():
    numbers = pyarray.array("f", [1.0, 2.0])
    for buffer in (numbers, memoryview(numbers), memoryview(np.ones((2, 3), np.int8))):
        got, want = cnp.asarray(buffer), np.asarray(buffer)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want, strict=True)
    assert cnp.asarray(bytearray(b"ab")).tolist() == [97, 98]
    assert np.shares_memory(cnp.asarray(numbers), np.asarray(numbers))
    assert not np.shares_memory(cnp.array(numbers), np.asarray(numbers))


class Row:
    """A sequence by its methods alone, of no registered class."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


SEQUENCES = [
    range(3), range(0), deque([1.0, 2.0]), deque([deque([1, 2]), (3, 4)]), UserList([True]), Row(1.5, 2),
    [range(2), Row(2, 3)],
]  # fmt: skip


@pytest.mark.parametrize("value", SEQUENCES, ids=lambda value: type(value).__name__)
def test_a_sequence_is_an_array_of_its_items(value):
    for make in ("array", "asarray"):
        for dtype in (None, np.float32, np.int8):
            np.testing.assert_array_equal(
                getattr(cnp, make)(value, dtype), getattr(np, make)(value, dtype), strict=True
            )


@pytest.mark.parametrize("make", [deque, UserList, lambda items: Row(*items)])
def test_a_sequence_that_holds_tracers_is_stacked_as_a_list(make):
    jaxpr = make_jaxpr(lambda x: cnp.array(make([make([x, 1.0]), (2, x)])))(3.0)
    assert str(jaxpr) == str(make_jaxpr(lambda x: cnp.array([[x, 1.0], [2, x]]))(3.0))


class Table:
    """An object that gives NumPy its own array; its items are others."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return 1

    def __getitem__(self, name):
        return name

    def __array__(self, dtype=None, copy=None):
        return self.values


class Picture:
    def __init__(self, values):
        self.__array_interface__ = values.__array_interface__

    __array_interface__ = None


def test_an_object_with_numpys_protocol_is_its_array():
    values = np.arange(3, dtype=np.int16)
    for like in (Table(values), Picture(values)):
        assert np.shares_memory(cnp.asarray(like), values)
        assert not np.shares_memory(cnp.array(like), values)
        np.testing.assert_array_equal(cnp.array(like, np.float32), values.astype(np.float32), strict=True)
    words = "an array of dtype object is not an operand. Convert it to a number dtype first."
    with pytest.raises(TypeError, match=words):
        cnp.asarray(Table(np.array([None])))


def test_an_array_is_made_on_a_known_device():
    makers = [
        lambda device: cnp.asarray([1, 2], device=device),
        lambda device: cnp.zeros(2, device=device),
        lambda device: cnp.ones(2, device=device),
        lambda device: cnp.empty(0, device=device),
        lambda device: cnp.full(2, 1.5, device=device),
        lambda device: cnp.zeros_like(np.ones(2), device=device),
        lambda device: cnp.ones_like(np.ones(2), device=device),
        lambda device: cnp.empty_like(np.ones((0, 2)), device=device),
        lambda device: cnp.full_like(np.ones(2), 3, device=device),
        lambda device: cnp.arange(2, device=device),
        lambda device: cnp.linspace(0, 1, 2, device=device),
        lambda device: cnp.eye(2, device=device),
        lambda device: cnp.fft.fftfreq(2, device=device),
        lambda device: cnp.fft.rfftfreq(2, device=device),
        lambda device: cnp.astype(np.ones(2), "int8", device=device),
    ]
    for make in makers:
        default = make(None)
        with disable_jit():
            np.testing.assert_array_equal(make("cpu"), default, strict=True)
        np.testing.assert_array_equal(make("cpu"), default, strict=True)
        with pytest.raises(ValueError, match=r"got device='gpu', which is not a device\. Use one of: 'cpu'"):
            make("gpu")


FILLED = {
    "zeros": lambda m, x: m.zeros((2, 3)),
    "zeros of one size": lambda m, x: m.zeros(4),
    "zeros of no axes": lambda m, x: m.zeros(()),
    "zeros of a dtype": lambda m, x: m.zeros((2,), np.int8),
    "ones": lambda m, x: m.ones([2, 0]),
    "ones of a kind": lambda m, x: m.ones(3, int),
    "full": lambda m, x: m.full((2, 3), 7),
    "full of a dtype": lambda m, x: m.full(2, 7, np.float32),
    "full of a vector": lambda m, x: m.full((2, 3), np.array([1, 2, 3])),
}
LIKE = {
    "zeros_like": lambda m, x: m.zeros_like(x),
    "ones_like": lambda m, x: m.ones_like(x),
    "full_like": lambda m, x: m.full_like(x, 3),
    "full_like of a dtype": lambda m, x: m.full_like(x, 2.5, dtype=np.float64),
    "full_like of a vector": lambda m, x: m.full_like(x, np.array([True, False, True])),
    "zeros_like of a shape": lambda m, x: m.zeros_like(x, shape=(4,)),
    "ones_like of one size": lambda m, x: m.ones_like(x, shape=5, dtype=bool),
}


@pytest.mark.parametrize("make", list(FILLED.values()), ids=list(FILLED))
def test_a_filled_array_is_numpys(make, agree):
    agree(make, 1.0, plain=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("make", list(LIKE.values()), ids=list(LIKE))
def test_an_array_like_another_is_numpys(make, dtype, agree, numbers):
    agree(make, numbers((2, 3), dtype))


@pytest.mark.parametrize("make", [cnp.zeros_like, cnp.ones_like])
def test_an_array_like_a_scalar_has_its_default_dtype(make):
    assert make(1.5).dtype == np.float64
    assert make(3).dtype == np.int64


# Settings


def default_dtypes():
    made = [cnp.zeros(2), cnp.ones(2), cnp.full(2, 1.0), cnp.full(2, 1), cnp.asarray(1.0), cnp.asarray([1, 2])]
    made += [cnp.array([1.0, 2]), cnp.array([1j]), cnp.zeros(2, float), cnp.ones_like(1.0), cnp.array([True])]
    return " ".join(typeof(x).str_short() for x in made)


def test_the_default_dtypes_follow_the_settings():
    wide = "f64[2] f64[2] f64[2] i64[2] f64[] i64[2] f64[2] c128[1] f64[2] f64[] bool[1]"
    narrow = "f32[2] f32[2] f32[2] i32[2] f32[] i32[2] f32[2] c64[1] f32[2] f32[] bool[1]"
    assert default_dtypes() == wide
    with config.default_dtype_bits(32):
        assert default_dtypes() == narrow
    with config.enable_x64(False):
        assert default_dtypes() == narrow


def test_numpy_arrays_keep_their_dtype_unless_64_bits_are_off():
    with config.default_dtype_bits(32):
        assert cnp.asarray(np.ones(2)).dtype == np.float64
        assert cnp.array([np.float64(1)]).dtype == np.float64
    with config.enable_x64(False):
        assert cnp.asarray(np.ones(2)).dtype == np.float32
        assert cnp.zeros(2, np.float64).dtype == np.float32


# Errors


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: cnp.array([x, 1.0]),
            ShapeError,
            "the items have different shapes, (2,), (). Give items of one shape.",
        ),
        (lambda x: cnp.asarray("text"), TypeError, "'text' of type str is not an array or a scalar."),
        (lambda x: cnp.asarray(["a"]), TypeError, "an array of dtype <U1 is not an operand."),
        (lambda x: cnp.asarray({"a": 1}), TypeError, "{'a': 1} of type dict is not an array or a scalar."),
        (lambda x: cnp.asarray(UserDict(a=1)), TypeError, "of type UserDict is not an array or a scalar."),
        (lambda x: cnp.asarray({1}), TypeError, "{1} of type set is not an array or a scalar."),
        (lambda x: cnp.asarray(b"text"), TypeError, "an array of dtype |S4 is not an operand."),
        (lambda x: cnp.asarray(deque([x, "a"])), TypeError, "'a' of type str is not an array or a scalar."),
        (lambda x: cnp.asarray(None), TypeError, "None of type NoneType is not an array or a scalar."),
        (lambda x: cnp.asarray(300, np.uint8), OverflowError, "the Python integer 300 does not fit uint8"),
        (lambda x: cnp.zeros((2, -1)), ValueError, "the shape (2, -1) has a negative size"),
        (lambda x: cnp.zeros("ab"), TypeError, "zeros"),
        (lambda x: cnp.zeros((2, 1.5)), TypeError, "shape is (2, 1.5). Give a sequence of integers."),
        (lambda x: cnp.full((3,), x), ShapeError, "cannot broadcast float64[2] to the shape (3,)"),
        (lambda x: cnp.zeros_like(x, order="F"), TypeError, "the order is 'F', but only arrays of NumPy"),
        (lambda x: np.zeros_like(x, subok=False), TypeError, "subok= is not supported"),
    ],
)
def test_arguments_that_make_no_array_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones(2))
    assert words in str(caught.value)


class Exported:
    """An array of another library."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class OnGpu(Exported):
    def __dlpack_device__(self):
        return 2, 0


def test_an_array_of_another_library_is_read_where_it_is():
    x = np.arange(3.0)
    shared = cnp.from_dlpack(Exported(x))
    copy = cnp.from_dlpack(Exported(x), copy=True, device="cpu")
    x[0] = 5.0
    assert (shared[0], copy[0]) == (5.0, 0.0)


def test_an_array_without_memory_is_not_read():
    with pytest.raises(TypeError, match=r"from_dlpack of float64\[2\].*has no memory to share"):
        make_jaxpr(cnp.from_dlpack)(np.ones(2))
    with pytest.raises(BufferError, match=r"^from_dlpack at .*DLPack's type 2, which NumPy cannot read\. Use calque\."):
        cnp.from_dlpack(OnGpu(np.arange(3.0)))
    with pytest.raises(TypeError, match=r"from_dlpack.*has no method __dlpack__. Use asarray"):
        cnp.from_dlpack([1, 2])


def test_an_order_in_memory_is_one_of_numpys_arrays_alone():
    assert cnp.array(np.ones((2, 3)), order="F").flags.f_contiguous  # by NumPy's function
    make_jaxpr(lambda x: [cnp.asarray(x, None, "C"), cnp.zeros(2, float, "C"), np.zeros_like(x, order="C")])(np.ones(2))
    for call in (
        lambda x: cnp.asarray(x, order="F"),
        lambda x: np.ones_like(x, order="F"),
        lambda x: cnp.zeros(2, order="F"),
    ):
        with pytest.raises(TypeError, match=r"the order is 'F', but only arrays of NumPy's have another order.*Remove"):
            make_jaxpr(call)(np.ones(2))


def test_a_complex_number_becomes_true_unless_both_parts_are_zero(agree):
    z = np.array([0, 2j, 1, complex(0, np.nan)])
    agree(
        lambda m, z: [m.asarray(z, bool), m.full_like(np.zeros(2, bool), z[1]), m.full((2,), z[1], bool)],
        z,
        plain=False,
    )


@pytest.mark.parametrize("shape", [{2, 3}, {2: 3}, "23", None, 2.5, [2, "a"]], ids=repr)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("zeros", cnp.zeros), ("ones", cnp.ones), ("empty", cnp.empty), ("full", lambda shape: cnp.full(shape, 1)),
        ("resize", lambda shape: cnp.resize(np.ones(6), shape)),
        ("broadcast_to", lambda shape: cnp.broadcast_to(np.ones(3), shape)),
        ("tile", lambda shape: cnp.tile(np.ones(3), shape)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)  # fmt: skip
def test_a_shape_that_holds_no_integers_is_shown_as_the_user_wrote_it(name, make, shape):
    words = rf"^{name} at test_creation.py:\d+ \(.*\): \w+ is {re.escape(repr(shape))}\. Give a sequence of integers\.$"
    with pytest.raises(TypeError, match=words):
        make(shape)


@pytest.mark.parametrize("shape", [2, np.int64(2), [2, 3], range(2, 4), np.array([2, 3]), np.array(2)], ids=repr)
def test_a_shape_is_one_integer_or_several(shape):
    assert cnp.zeros(shape).shape == np.zeros(shape).shape


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda: cnp.array(2**32 - 1, np.uint32), 2**32 - 1),
        (lambda: cnp.asarray(2**40, np.float32), 2**40),
        (lambda: cnp.array([2**32 - 1, 1], np.uint32), [2**32 - 1, 1]),
        (lambda: cnp.array([[2**40], [1]], np.float32), [[2**40], [1]]),
        (lambda: cnp.full((2,), 2**32 - 1, np.uint32), [2**32 - 1] * 2),
        (lambda: cnp.full_like(np.zeros(2, np.uint32), 2**32 - 1), [2**32 - 1] * 2),
        (lambda: cnp.arange(2**32 - 4, 2**32 - 1, dtype=np.uint32), [2**32 - 4, 2**32 - 3, 2**32 - 2]),
    ],
)
def test_in_32_bits_a_wide_integer_fits_the_dtype_that_is_asked_for(make, values, is_traced):
    with config.enable_x64(False):
        out = jaxpr_as_fun(make_jaxpr(make)())()[0] if is_traced else make()
    np.testing.assert_array_equal(out, values)
    assert out.dtype in (np.uint32, np.float32)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cnp.array([2**40, 1]), "an integer of .* does not fit int32. Give a dtype that holds it"),
        (lambda: cnp.array([2**33, 1], np.uint32), "the integer 8589934592 does not fit uint32"),
        (lambda: cnp.array(2**33, np.uint32), "the Python integer 8589934592 does not fit uint32 at test_creation.py"),
    ],
)
def test_in_32_bits_an_integer_that_does_not_fit_is_refused(make, words):
    with config.enable_x64(False), pytest.raises(OverflowError, match=words):
        make()


def test_a_type_has_no_elements_to_make_an_array_of():
    for make in (cnp.array, cnp.asarray):
        with pytest.raises(TypeError, match=r"asarray at .*test_creation.py.* is a type and has no elements"):
            make(ShapeDtypeStruct((3,), "float32"))


@pytest.mark.parametrize(("ndmin", "error", "message"), [
    (2**62, ValueError, "got ndmin=4611686018427387904, but an array has 64 axes at most"),
    (None, TypeError, "ndmin is None. Give an integer"),
])  # fmt: skip
def test_a_number_of_axes_that_no_array_has_is_refused(ndmin, error, message):
    with pytest.raises(error, match=message):
        make_jaxpr(lambda x: cnp.array(x, ndmin=ndmin))(1.0)
