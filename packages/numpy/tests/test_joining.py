"""Joined and divided arrays are NumPy's, for every number of axes and every mixture of dtypes."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(3,), (2, 3), (2, 3, 4), (0, 2)]
JOINED = {
    "concatenate": lambda m, x: m.concatenate([x, x]),
    "concatenate along the last axis": lambda m, x: m.concatenate((x, x, x), axis=-1),
    "concatenate of flat ones": lambda m, x: m.concatenate([x, x], axis=None),
    "concatenate of one": lambda m, x: m.concatenate([x]),
    "concatenate into a dtype": lambda m, x: m.concatenate([x, x], dtype=np.complex128),
    "stack": lambda m, x: m.stack([x, x]),
    "stack behind": lambda m, x: m.stack([x, x], axis=-1),
    "stack between": lambda m, x: m.stack([x, x, x], 1),
    "vstack": lambda m, x: m.vstack([x, x]),
    "hstack": lambda m, x: m.hstack((x, x)),
    "dstack": lambda m, x: m.dstack((x, x)),
    "column_stack": lambda m, x: m.column_stack((x, x)),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", JOINED)
def test_joined_arrays_are_numpys(name, shape, agree, numbers):
    agree(JOINED[name], numbers(shape))


@pytest.mark.parametrize("other", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_joined_arrays_are_promoted_as_numpys(dtype, other, agree, numbers):
    x, y = numbers((2, 2), dtype), numbers((2, 2), other)
    agree(lambda m, a, b: [m.concatenate([a, b]), m.stack([a, b]), m.hstack([b, a])], x, y)


def test_scalars_and_lists_are_joined_too(agree, numbers):
    x = numbers((2,), "float32")
    agree(lambda m, a: [m.stack([a[0], 1.0, 2]), m.hstack([a, 1.0, [2, 3]]), m.vstack([a, (1, 2)])], x)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "complex64"])
def test_flattened_arrays_keep_their_dtype_beside_python_scalars(dtype, agree, numbers):
    x = numbers((2, 2), dtype)
    agree(lambda m, a: [m.concatenate([a, 2, a[0, 0]], axis=None), m.concatenate([a, [2.5]], axis=None)], x)


def test_a_number_is_no_list_of_arrays():
    for call in (cnp.concatenate, cnp.stack, cnp.hstack, lambda x: cnp.concatenate(x, axis=None)):
        with pytest.raises(TypeError, match=r" at test_joining\.py:\d+ .*: the arrays are 3\. Give a list of arrays\."):
            call(3)


def test_the_items_of_one_array_are_joined(numbers):
    x = numbers((2, 3))
    for f in (cnp.concatenate, cnp.stack, cnp.vstack):
        jaxpr = make_jaxpr(f)(x)
        np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], getattr(np, f.__name__)(x))


DIVIDED = {
    "split": lambda m, x: m.split(x, 2),
    "split at indices": lambda m, x: m.split(x, [1, 3]),
    "split along an axis": lambda m, x: m.split(x, 2, axis=-1),
    "split at negative indices and beyond the end": lambda m, x: m.split(x, [-3, 9]),
    "split backwards": lambda m, x: m.split(x, [3, 1]),
    "split at an array": lambda m, x: m.split(x, np.array([2])),
    "array_split": lambda m, x: m.array_split(x, 3),
    "array_split into many": lambda m, x: m.array_split(x, 6, axis=1),
    "vsplit": lambda m, x: m.vsplit(x, 2),
    "hsplit": lambda m, x: m.hsplit(x, [1]),
    "dsplit": lambda m, x: m.dsplit(x, 2),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_the_sections_of_an_array_are_numpys(name, agree, numbers):
    agree(DIVIDED[name], numbers((4, 4, 4)))


def test_the_sections_of_a_vector_are_numpys(agree, numbers):
    agree(lambda m, x: [m.hsplit(x, 2), m.split(x, [1, 2]), m.array_split(x, 3)], numbers((4,)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: cnp.concatenate([]), ValueError, "concatenate at test_joining.py:"),
        (lambda x: np.stack([x, x[:1]]), ShapeError, "stack of float64[4,2] and float64[1,2]"),
        (lambda x: np.concatenate([x, x[0]]), ShapeError, "the shapes do not fit"),
        (lambda x: np.concatenate([x, x], axis=2), ValueError, "axis 2 is out of range for ndim 2"),
        (lambda x: np.stack([x, x], axis=3), ValueError, "axis 3 is out of range for ndim 3"),
        (lambda x: np.concatenate([x, x], out=np.ones((8, 2))), TypeError, "out= is not supported"),
        (
            lambda x: np.concatenate([x, np.ones(3, int)], casting="no"),
            TypeError,
            "cannot cast int64 to float64",
        ),
        (
            lambda x: np.split(x, 3),
            ValueError,
            "axis 0 of size 4 does not divide into 3 equal sections. Use array_split.",
        ),
        (lambda x: np.split(x, 0), ValueError, "the number of sections is 0. Give at least 1."),
        (lambda x: np.array_split(x, 1.5), TypeError, "indices_or_sections is 1.5. Give an integer."),
        (lambda x: np.dsplit(x, 2), ValueError, "dsplit of float64[4,2]"),
        (lambda x: np.vsplit(x[0], 2), ValueError, "the array must have at least 2 axes. Use split."),
    ],
)
def test_arrays_that_cannot_be_joined_or_divided_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((4, 2)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("function", "name"),
    [(lambda x, y: np.where(True, x, y), "where of float32[3]"), (lambda x, y: np.concatenate([x, y]), "concatenate")],
)
def test_strict_promotion_refuses_different_dtypes_of_traced_arrays(function, name):
    with (
        config.numpy_dtype_promotion("strict"),
        pytest.raises(TypeError, match="the dtypes differ, and numpy_dtype_promotion is 'strict'") as caught,
    ):
        make_jaxpr(function)(np.ones(3, np.float32), np.ones(3))
    assert name in str(caught.value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
def test_blocks_are_numpys(dtype, agree, numbers):
    x = numbers((4, 3), dtype)
    agree(lambda m, x: [m.block(x), m.block([x, x]), m.block([[x, x], [x[:1], x[0]]]), m.block([[[x]], [[x]]])], x)
    agree(
        lambda m, x: [m.block([1.0, x[0]]), m.block([[x[0], 2], [x[0], 3]]), m.block(2.5), m.block([[x], [0, 1, 2]])], x
    )


def test_lists_that_are_no_blocks_are_refused():
    x = np.ones((2, 2))
    for wrong, words in (
        ([x, [x]], r"block.*the lists are \[1, 2\] deep. Use lists of one depth"),
        ([[x], []], "block.*got an empty list"),
        ([[x], [x[:, :1]]], "block|concatenate"),
    ):
        with pytest.raises(ValueError, match=words):
            make_jaxpr(lambda x, wrong=wrong: cnp.block(wrong))(x)
    with pytest.raises(TypeError, match=r"block.*got a tuple of blocks. Use lists"):
        make_jaxpr(lambda x: cnp.block((x, x)))(x)


def test_a_number_of_sections_may_be_an_array_of_rank_0(agree):
    agree(
        lambda m, x: [m.split(x, np.array(2)), m.array_split(x, np.array(3)), m.split(x, np.array([1]))], np.arange(4.0)
    )
