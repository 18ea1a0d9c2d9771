"""Numbers in a row and matrices of ones are NumPy's, whatever kind of number says where they begin."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ConcretizationTypeError, TracerIntegerConversionError, config, eval_jaxpr, make_jaxpr, typeof

ARANGE = [
    (5,),
    (0,),
    (-3,),
    (2, 7),
    (2, 9, 3),
    (9, 2, -3),
    (2, 9, -1),
    (5.0,),
    (0.5, 2),
    (0, 1, 0.1),
    (1.0, 0.0, -0.3),
    (np.int32(3),),
    (np.float32(0), np.float32(1), np.float32(0.25)),
    (np.int8(0), np.int16(4)),
    (0, 1, np.float32(0.1)),
    (2, 9, 3, "float32"),
    (0.5, 3.0, 1, "int32"),
    (5, None, 1, "uint8"),
    (9, 0, -2, "uint8"),
    (-100, 100, 150, "int8"),
    (2, None, 1, bool),
]


@pytest.mark.parametrize("args", ARANGE, ids=str)
def test_arange_is_numpys(args, agree):
    agree(lambda m, _: m.arange(*args), 1.0, plain=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.linspace(x, 2.0, 5),
        lambda m, x: m.linspace(0, x, 7, endpoint=False),
        lambda m, x: m.linspace(x, x + 1, 4, retstep=True),
        lambda m, x: m.linspace(x, 3, 1),
        lambda m, x: m.linspace(x, 3, 0),
        lambda m, x: m.linspace(x, 9.5, 5, dtype=int),
        lambda m, x: m.linspace(x, np.array([1.0, 2.0, 3.0]), 4, axis=-1),
        lambda m, x: m.linspace(np.array([[1.0], [2.0]]), x, 3, axis=1),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_linspace_is_numpys(f, dtype, agree):
    agree(f, np.array([1, 2, 4], dtype))
    agree(f, np.dtype(dtype).type(1))


def test_linspace_ends_exactly_at_stop():
    assert cnp.linspace(0.0, 0.7, 8)[-1] == 0.7
    assert cnp.linspace(0.1, 0.3, 4).tolist() == np.linspace(0.1, 0.3, 4).tolist()


@pytest.mark.parametrize("k", [-4, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("sizes", [(3,), (2, 4), (4, 2), (0,), (3, 0)], ids=str)
def test_matrices_of_ones_are_numpys(sizes, k, agree):
    agree(lambda m, _: [m.eye(*sizes, k=k), m.tri(*sizes, k=k), m.eye(*sizes, k=k, dtype=bool)], 1.0, plain=False)


def test_identity_is_numpys(agree):
    agree(lambda m, _: [m.identity(3), m.identity(2, int)], 1.0, plain=False)


@pytest.mark.parametrize(
    "options", [{}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij"}], ids=str
)
def test_meshgrid_is_numpys(options, agree):
    x, y, z = np.arange(2), np.arange(3.0), np.arange(4)
    for args in ((x,), (x, y), (x, y, z), (x, np.float32(2.0)), (x[:0], y)):
        agree(lambda m, *xs: list(m.meshgrid(*xs, **options)), *args)


def test_the_default_dtypes_follow_the_settings():
    def dtypes():
        made = (cnp.arange(3), cnp.arange(3.0), cnp.linspace(0, 1, 3), cnp.eye(2), cnp.tri(2), cnp.arange(np.int64(3)))
        return " ".join(typeof(x).str_short() for x in made)

    assert dtypes() == "i64[3] f64[3] f64[3] f64[2,2] f64[2,2] i64[3]"
    with config.default_dtype_bits(32):
        assert dtypes() == "i32[3] f32[3] f32[3] f32[2,2] f32[2,2] i64[3]"
    with config.enable_x64(False):
        assert dtypes() == "i32[3] f32[3] f32[3] f32[2,2] f32[2,2] i32[3]"


@pytest.mark.parametrize("k", [-9, -2, 0, 1, 3, 9])
def test_the_diagonal_of_a_matrix_may_be_traced(k):
    for name in ("eye", "tri"):
        for dtype in ("int8", "int64", *(["uint32"] if k >= 0 else [])):
            number = np.array(k, dtype)
            jaxpr = make_jaxpr(lambda k, name=name: getattr(cnp, name)(2, 3, k, np.float32))(number)
            got = eval_jaxpr(jaxpr, jaxpr.consts, number)[0]
            np.testing.assert_array_equal(got, getattr(np, name)(2, 3, k))
            assert got.dtype == np.float32


def test_a_step_of_none_is_one():
    for make in (lambda: cnp.arange(1, 4, None), lambda: cnp.arange(1, 4, None, int), lambda: cnp.arange(1, 4)):
        np.testing.assert_array_equal(make(), [1, 2, 3])
        assert str(make_jaxpr(make)().out_avals[0]) == "int64[3]"
    np.testing.assert_array_equal(cnp.arange(3, None, 2), [0, 2])


def test_a_traced_program_counts_instead_of_holding_a_constant():
    jaxpr = make_jaxpr(lambda x: x + cnp.arange(1000))(1.0)
    assert not jaxpr.consts
    assert jaxpr.eqns[0].primitive.name == "iota"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (cnp.arange, TracerIntegerConversionError, "int() was asked of a traced value of type ~int64[]"),
        (
            lambda n: cnp.arange(n * 1.0),
            ConcretizationTypeError,
            "the length must be known. Write start + step * numpy",
        ),
        (lambda n: cnp.arange(np.ones(2)), TypeError, "an argument has type float64[2]. Give real numbers."),
        (lambda n: cnp.arange(1j), TypeError, "an argument has type ~complex128[]. Give real numbers."),
        (lambda n: cnp.arange(0, 5, 0), ValueError, "the step is 0. Give a positive or a negative step."),
        (lambda n: cnp.linspace(0, 1, -1), ValueError, "num is -1. Give a number of zero or more."),
        (lambda n: cnp.linspace(0, 1, 2.5), TypeError, "num is 2.5. Give an integer."),
        (lambda n: cnp.eye(2.0), TypeError, "N is 2.0. Give an integer."),
        (lambda n: cnp.tri(2, k=0.5), TypeError, "k is 0.5. Give an integer."),
        (lambda n: cnp.eye(2, k=n * 0.5), TypeError, "k has type ~float64[]. Give an integer."),
        (lambda n: cnp.tri(2, k=cnp.stack([n])), TypeError, "k has type int64[1]. Give an integer."),
        (lambda n: cnp.eye(-1), ValueError, "the shape (-1, -1) has a negative size"),
        (lambda n: cnp.meshgrid(n, indexing="ji"), ValueError, "indexing is 'ji'. Use 'xy' or 'ij'."),
    ],
)
def test_wrong_arguments_of_a_range_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(3)
    assert words in str(caught.value)


def test_a_step_of_zero_is_refused_with_the_place():
    for bounds in ((0, 5, 0), (0.0, 1.0, 0.0)):
        with pytest.raises(ValueError, match=r"^arange at test_ranges\.py:\d+ .*: the step is 0\. Give a positive"):
            cnp.arange(*bounds)


def test_a_geometric_range_has_no_end_that_is_known_to_be_zero():
    for ends in ((0.0, 1.0), (1.0, 0), (np.array([2.0, 0.0]), 1.0)):
        with pytest.raises(
            ValueError, match=r"^geomspace at test_ranges\.py:\d+ .*: an end is zero\. Give ends of one"
        ):
            cnp.geomspace(*ends)


@pytest.mark.parametrize("options", [{}, {"num": 4, "endpoint": False}, {"num": 1}, {"num": 5, "dtype": np.float32}])
def test_logarithmic_ranges_are_numpys(options, agree):
    agree(lambda m, x: m.logspace(x, 3, base=2.0, **options), 0.5, ulps=16)
    agree(lambda m, x: m.geomspace(x, x * 7, **options), 0.5, ulps=16)
    agree(lambda m, x: m.geomspace(x, x * 7, axis=-1, **options), np.array([0.5, -2.0]), ulps=16)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float16])
def test_geometric_ranges_of_integers_are_computed_in_floats(dtype, agree):
    agree(lambda m, x: m.geomspace(x, x // 4, 5, dtype=dtype), np.array([-9, 8]), ulps=16)


@pytest.mark.parametrize("options", [{}, {"num": 3, "endpoint": False}, {"num": 4, "dtype": np.complex64}])
def test_geometric_ranges_of_complex_numbers_are_numpys(options, agree):
    agree(lambda m, z: m.geomspace(z, -2 + 3j, **options)[1:-1], np.array([1j, 3 - 4j]), ulps=64)
    agree(lambda m, z: m.geomspace(z, 3 * z, axis=-1, **options), np.array([1j, -3j]) + 1, ulps=64)


@pytest.mark.parametrize("axis", [0, -1, 1])
def test_logarithmic_ranges_in_several_bases_are_numpys(axis, agree):
    agree(lambda m, base: m.logspace(0.0, 2.0, 4, base=base, axis=axis), np.array([2.0, 10.0]), ulps=16)
    agree(lambda m, x: m.logspace(x, 2.0, 3, base=x[:, None] + 2, axis=axis), np.array([0.5, 1.0, 3.0]), ulps=16)
