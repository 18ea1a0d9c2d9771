"""Values of contractions, against einsum."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config, jaxpr_equal, jaxpr_from_dict, jaxpr_to_dict, lax, parse_jaxpr
from calque_core.errors import ShapeError
from calque_core.staging.make_jaxpr import make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

# lhs shape, rhs shape, dimension numbers, the same in einsum's letters
CONTRACTIONS = [
    ((2, 3), (3, 4), (((1,), (0,)), ((), ())), "ab,bc->ac"),
    ((2, 3), (4, 3), (((1,), (1,)), ((), ())), "ab,cb->ac"),
    ((3, 2), (3, 4), (((0,), (0,)), ((), ())), "ba,bc->ac"),
    ((3,), (3,), (((0,), (0,)), ((), ())), "a,a->"),
    ((2, 3), (3,), (((1,), (0,)), ((), ())), "ab,b->a"),
    ((3,), (3, 2), (((0,), (0,)), ((), ())), "a,ab->b"),
    ((2,), (3,), (((), ()), ((), ())), "a,b->ab"),
    ((2, 3), (), (((), ()), ((), ())), "ab,->ab"),
    ((), (), (((), ()), ((), ())), ",->"),
    ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,))), "eab,ebc->eac"),
    ((5, 2, 3), (5, 4, 3), (((2,), (2,)), ((0,), (0,))), "eab,ecb->eac"),
    ((3, 5, 2), (4, 3, 5), (((0,), (1,)), ((1,), (2,))), "bea,cbe->eac"),
    ((5, 3), (5, 3), (((1,), (1,)), ((0,), (0,))), "ab,ab->a"),
    ((5, 3), (5, 3), (((), ()), ((0, 1), (0, 1))), "ab,ab->ab"),
    ((2, 3, 4), (4, 3, 2), (((1, 2), (1, 0)), ((), ())), "abc,cbd->ad"),
    ((2, 3, 4), (3, 2, 4), (((2,), (2,)), ((0, 1), (1, 0))), "abc,bac->ab"),
    ((2, 6, 3, 4), (4, 5, 6, 7), (((3,), (0,)), ((1,), (2,))), "aebc,cfeg->eabfg"),
    ((2, 3), (3, 4), (((-1,), (-2,)), ((), ())), "ab,bc->ac"),
    ((2, 0), (0, 3), (((1,), (0,)), ((), ())), "ab,bc->ac"),
    ((0, 2), (2, 3), (((1,), (0,)), ((), ())), "ab,bc->ac"),
    ((0, 2, 2), (0, 2, 3), (((2,), (1,)), ((0,), (0,))), "eab,ebc->eac"),
    ((1, 1), (1, 1), (((1,), (0,)), ((), ())), "ab,bc->ac"),
]
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "complex128": 1e-13}


@pytest.mark.parametrize(("lhs_shape", "rhs_shape", "numbers", "letters"), CONTRACTIONS)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "float32", "float64", "complex128"])
def test_contractions_agree_with_einsum(lhs_shape, rhs_shape, numbers, letters, dtype):
    rng = np.random.default_rng(0)
    lhs, rhs = ((4 * rng.random(shape)).astype(dtype) for shape in (lhs_shape, rhs_shape))
    out = lax.dot_general(lhs, rhs, numbers)
    expected = np.einsum(letters, lhs, rhs)
    assert (out.shape, out.dtype) == (expected.shape, np.dtype(dtype))
    np.testing.assert_allclose(out, expected, rtol=TOLERANCE.get(dtype, 0))
    (aval,) = make_jaxpr(lambda x, y: lax.dot_general(x, y, numbers))(lhs, rhs).out_avals
    assert (aval.shape, aval.dtype) == (out.shape, out.dtype)


def test_the_order_of_contracted_pairs_does_not_matter():
    x, y = np.random.default_rng(0).random((2, 3, 4)), np.random.default_rng(1).random((4, 3, 2))
    one = lax.dot_general(x, y, (((1, 2), (1, 0)), ((), ())))
    np.testing.assert_allclose(one, lax.dot_general(x, y, (((2, 1), (0, 1)), ((), ()))), rtol=1e-14)


def test_dimension_numbers_may_be_lists_and_are_stored_as_tuples():
    jaxpr = make_jaxpr(lambda x, y: lax.dot_general(x, y, [[[-1], [0]], [[], []]]))(np.ones((2, 3)), np.ones((3, 4)))
    assert jaxpr.eqns[0].params == {
        "dimension_numbers": (((1,), (0,)), ((), ())),
        "precision": None,
        "preferred_element_type": None,
    }


def test_operands_are_promoted():
    assert lax.dot_general(np.ones(2, np.int8), np.ones(2, np.float32), (((0,), (0,)), ((), ()))).dtype == np.float32


def test_dot_takes_the_arguments_of_dot_general_by_keyword():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(16).reshape(2, 4, 2)
    numbers = (((2,), (1,)), ((0,), (0,)))
    out = lax.dot(x, y, dimension_numbers=numbers, precision="highest", preferred_element_type=np.float32)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, x @ y)
    np.testing.assert_array_equal(lax.dot(x[0], x[1], dimension_numbers=(((0,), (0,)), ((), ()))), x[0].T @ x[1])
    with pytest.raises(TypeError, match="positional"):
        lax.dot(x[0], y[0], numbers)


def test_the_sums_of_bools_are_their_or():
    x = np.array([[True, True], [False, False]])
    np.testing.assert_array_equal(lax.dot(x, x), [[True, True], [False, False]])


def test_sums_are_made_in_the_wider_preferred_type():
    x = np.full(300, 100, np.int8)
    out = lax.dot(x, x, preferred_element_type=np.int32)
    assert (out, out.dtype) == (3_000_000, np.int32)


def test_sums_are_converted_to_the_narrower_preferred_type():
    out = lax.dot(np.full(2, 2.0), np.ones(2), preferred_element_type=np.float32)
    assert (out, out.dtype) == (4.0, np.float32)


@pytest.mark.parametrize(("lhs", "rhs", "letters"), [
    ((3,), (3,), "a,a->"), ((2, 3), (3,), "ab,b->a"), ((3,), (3, 4), "b,bc->c"), ((2, 3), (3, 4), "ab,bc->ac"),
])  # fmt: skip
def test_dot_is_the_product_of_vectors_and_matrices(lhs, rhs, letters):
    x, y = np.random.default_rng(0).random(lhs), np.random.default_rng(1).random(rhs)
    np.testing.assert_allclose(lax.dot(x, y), np.einsum(letters, x, y), rtol=1e-14)


@pytest.mark.parametrize(("lhs", "rhs"), [((2, 3), (2, 3)), ((), (3,)), ((2, 3, 4), (4, 5)), ((2,), (3,))])
def test_dot_refuses_shapes_that_do_not_fit(lhs, rhs):
    with pytest.raises(
        ShapeError,
        match=r"dot of float64\[.*\] and float64\[.*\] at .*: the shapes do not fit\. Give vectors or matrices",
    ):
        lax.dot(np.zeros(lhs), np.zeros(rhs))


both = pytest.mark.parametrize(
    "of", [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)], ids=["evaluated", "staged"]
)


@both
@pytest.mark.parametrize(("numbers", "words"), [
    ((((0,), (0,)), ((), ())), r"the contracting axes \(0,\) and \(0,\) have sizes \(2,\) and \(3,\)\. Pair axes of"),
    ((((0, 1), (1, 0)), ((), ())), r"the contracting axes \(0, 1\) and \(1, 0\) have sizes \(2, 3\) and \(4, 3\)\."),
    ((((1,), ()), ((), ())), r"the contracting axes \(1,\) and \(\) have sizes \(3,\) and \(\)\."),
    ((((1,), (0,)), ((0,), (1,))), r"the batch axes \(0,\) and \(1,\) have sizes \(2,\) and \(4,\)\."),
])  # fmt: skip
def test_pairs_of_different_sizes_are_refused(of, numbers, words):
    with pytest.raises(ShapeError, match=r"dot_general of float64\[2,3\] and float64\[3,4\] at .*: " + words):
        of(lambda x, y: lax.dot_general(x, y, numbers), np.zeros((2, 3)), np.zeros((3, 4)))


@both
def test_an_axis_named_twice_is_refused(of):
    with pytest.raises(
        ValueError, match=r"lhs, with ndim 2, has contracting axes \(1,\) and batch axes \(1,\)\. Name each"
    ):
        of(lambda x: lax.dot_general(x, x, (((1,), (0,)), ((1,), (1,)))), np.zeros((3, 3)))


@pytest.mark.parametrize("numbers", [((1,), (0,)), (((1,), (0,)),), 3, None])
def test_malformed_dimension_numbers_are_refused_with_their_form(numbers):
    with pytest.raises(
        (ValueError, TypeError), match=r"dimension_numbers is .*\. Give (\(\(lhs_contracting|a sequence)"
    ):
        lax.dot_general(np.zeros((3, 3)), np.zeros((3, 3)), numbers)


@both
@pytest.mark.parametrize(("dtype", "preferred"), [("float64", "int32"), ("complex128", "float64")])
def test_a_preferred_type_of_a_lower_kind_is_refused(of, dtype, preferred):
    with pytest.raises(
        TypeError, match=rf"sums in {preferred} lose information of the products\. Use a dtype of the operands' kind"
    ):
        of(lambda x: lax.dot(x, x, preferred_element_type=preferred), np.ones(2, dtype))


def test_the_primitive_refuses_dtypes_that_differ():
    params = {"dimension_numbers": (((0,), (0,)), ((), ())), "precision": None, "preferred_element_type": None}
    with pytest.raises(
        TypeError, match=r"dot_general of float64\[2\] and int64\[2\] at .*: the dtypes differ\. Convert one"
    ):
        make_jaxpr(lambda x, y: lax.dot_general_p.bind(x, y, **params))(np.zeros(2), np.zeros(2, int))


@pytest.mark.parametrize(
    ("stated", "lhs", "rhs"),
    [
        ("high", "HIGH", "HIGH"),
        (lax.Precision.HIGHEST, "HIGHEST", "HIGHEST"),
        (("fastest", lax.Precision.HIGH), "DEFAULT", "HIGH"),
        (["float32", "tensorfloat32"], "HIGHEST", "HIGH"),
    ],
)
def test_a_stated_precision_is_a_parameter_of_the_equation(stated, lhs, rhs):
    x = np.ones((2, 2), np.float32)
    jaxpr = make_jaxpr(lambda x: lax.dot(x, x, precision=stated))(x)
    assert [one.name for one in jaxpr.eqns[0].params["precision"]] == [lhs, rhs]
    assert "precision=" in str(jaxpr)
    np.testing.assert_array_equal(lax.dot(x, x, precision=stated), 2 * x)


def test_the_precision_is_not_printed_unless_it_is_stated():
    assert "precision=" not in str(make_jaxpr(lambda x: lax.dot(x, x))(np.ones(2)))


def test_the_setting_is_the_precision_of_products_that_state_none():
    x = np.ones(2)

    def name(**stated):
        (eqn,) = make_jaxpr(lambda x: lax.dot(x, x, **stated))(x).eqns
        return eqn.params["precision"] and eqn.params["precision"][0].name

    assert name() is None
    with config.default_matmul_precision("tensorfloat32"):
        assert (name(), name(precision="default")) == ("HIGH", "DEFAULT")
        np.testing.assert_array_equal(lax.dot(x, x), 2.0)
    assert name() is None


def test_the_setting_is_a_name_or_none():
    with pytest.raises(
        ValueError, match=r"^default_matmul_precision was set to 'exact'\. Use 'default', .* 'float32' or None\."
    ):
        config.default_matmul_precision("exact")


@pytest.mark.parametrize("precision", ["exact", 3, ("high",), ("high", "low"), ("high", "high", "high")])
def test_an_unknown_precision_is_refused_with_the_known_ones(precision):
    words = r"dot_general at .*: precision is .*\. Give a lax\.Precision, one of the names 'default', 'high'"
    with pytest.raises(ValueError, match=words):
        lax.dot(np.ones(2), np.ones(2), precision=precision)


# Batches and groups


def test_batches_of_matrices_are_multiplied_one_by_one():
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4, 5)), np.random.default_rng(1).normal(size=(2, 3, 5, 1))
    np.testing.assert_allclose(lax.batch_matmul(x, y), x @ y, rtol=1e-14)


@pytest.mark.parametrize(("left", "right"), [((3,), (3,)), ((2, 3), (1, 3, 2))])
def test_batches_of_other_ranks_are_refused(left, right):
    with pytest.raises(ShapeError, match=r"batch_matmul of float64.* at .*: the numbers of axes do not fit"):
        lax.batch_matmul(np.ones(left), np.ones(right))


@pytest.mark.parametrize("sizes", [[2, 0, 3], [5, 0, 0], [1, 1, 1], [0, 0, 0], [4, 4, 4]])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32"])
def test_each_group_of_rows_meets_its_matrix(sizes, dtype):
    x, y = np.random.default_rng(0).normal(size=(5, 2)), np.random.default_rng(1).normal(size=(3, 2, 4))
    want, start = np.zeros((5, 4)), 0
    for size, matrix in zip(sizes, y):
        want[start : start + size] = x[start : start + size] @ matrix
        start += size
    np.testing.assert_allclose(lax.ragged_dot(x, y, np.array(sizes, dtype)), want, rtol=1e-13)


def test_rows_of_another_group_do_not_matter():
    x = np.array([[np.inf], [1.0]])
    assert lax.ragged_dot(x, np.ones((2, 1, 1)), np.array([1, 1])).tolist() == [[np.inf], [1.0]]


@pytest.mark.parametrize(
    ("shapes", "sizes", "error", "words"),
    [
        (((5, 2), (3, 2, 4)), np.ones(2, int), ShapeError, r"the shapes do not fit\. Give the shapes \[m, k\], \[g, k"),
        (((5, 2), (3, 1, 4)), np.ones(3, int), ShapeError, "the shapes do not fit"),
        (((5,), (3, 2, 4)), np.ones(3, int), ShapeError, "the shapes do not fit"),
        (((5, 2), (3, 2, 4)), np.ones(3), TypeError, "the sizes are no integers"),
    ],
)
def test_groups_that_do_not_fit_are_refused(shapes, sizes, error, words):
    with pytest.raises(error, match=rf"ragged_dot of float64.* and float64.* with group sizes .* at .*: {words}"):
        lax.ragged_dot(*map(np.ones, shapes), sizes)


def test_groups_of_summands_have_sums_of_their_own():
    rng = np.random.default_rng(0)
    x, y, sizes = rng.normal(size=(2, 5, 3)), rng.normal(size=(5, 2, 4)), np.array([[2, 1], [0, 4]])
    numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((0,), (1,))), (1,), ())
    sums = lax.ragged_dot_general(x, y, sizes, numbers)
    assert sums.shape == (2, 2, 3, 4)
    for batch, (first, second) in enumerate(sizes):
        rows, columns = x[batch], y[:, batch]
        np.testing.assert_allclose(sums[0, batch], rows[:first].T @ columns[:first], atol=1e-14)
        end = first + second
        np.testing.assert_allclose(sums[1, batch], rows[first:end].T @ columns[first:end], atol=1e-14)


def test_groups_along_any_free_axis_meet_their_own_part():
    rng = np.random.default_rng(0)
    x, y, sizes = rng.normal(size=(7, 2, 5)), rng.normal(size=(5, 3, 2, 6)), np.array([[3, 2, 1], [1, 2, 4]])
    numbers = lax.RaggedDotDimensionNumbers((((2,), (0,)), ((1,), (2,))), (0,), (1,))
    products = lax.ragged_dot_general(x, y, sizes, numbers)
    for batch in range(2):
        groups = np.repeat(range(3), sizes[batch])
        rows = [x[i, batch] @ y[:, group, batch] for i, group in enumerate(groups)]
        np.testing.assert_allclose(products[batch, : len(rows)], rows, atol=1e-14)
        assert not products[batch, len(rows) :].any()
    np.testing.assert_array_equal(  # [g] is the same for each element of the batch
        lax.ragged_dot_general(x, y, np.array([3, 2, 2]), numbers),
        lax.ragged_dot_general(x, y, np.array([[3, 2, 2]] * 2), numbers),
    )


def test_groups_of_a_batch_are_the_product():
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), (0,), ())
    np.testing.assert_allclose(lax.ragged_dot_general(x, y, np.array([1, 3]), numbers), np.vecdot(x, y), rtol=1e-14)


@pytest.mark.parametrize(
    ("axes", "sizes", "error", "words"),
    [
        (((0, 1), (0,)), np.ones(3, int), ValueError, r"lhs_ragged_dimensions is \(0, 1\)\. Give one axis"),
        (((0,), ()), np.ones(3, int), ValueError, "Give one axis, since the ragged one is free"),
        (((1,), (0,)), np.ones(3, int), ValueError, "Give no axis, since the ragged one is paired"),
        (((0,), (0,)), np.ones(4, int), ShapeError, "the axis of groups of rhs has size 3. Give 4"),
        (((0,), (0,)), np.ones((2, 3), int), ShapeError, r"the sizes do not fit. Give the shape \[g\], or \['g'\]"),
        (((0,), (0,)), np.ones(3), TypeError, "the sizes are no integers"),
    ],
)
def test_ragged_axes_that_do_not_fit_are_refused(axes, sizes, error, words):
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), *axes)
    with pytest.raises(error, match=rf"ragged_dot_general of .* with group sizes .* at .*: .*{words}"):
        lax.ragged_dot_general(np.ones((5, 2)), np.ones((3, 2, 4)), sizes, numbers)


# Algorithms


def test_an_algorithm_reads_and_sums_in_its_dtypes():
    x = np.float32([1 / 3, 3000.0])
    half = x.astype(np.float16).astype(np.float64)
    for precision, want in (
        ("F64_F64_F64", np.float32(x.astype(np.float64) @ x.astype(np.float64))),
        (lax.DotAlgorithmPreset.F16_F16_F32, np.float32(half @ half)),
        (lax.DotAlgorithmPreset.F16_F16_F16, np.float32(np.inf)),
        (lax.DotAlgorithm(np.float16, np.float16, np.float32), np.float32(half @ half)),
        ("BF16_BF16_F32_X3", np.float32(x.astype(np.float64) @ x.astype(np.float64))),
        (lax.DotAlgorithmPreset.DEFAULT, x @ x),
    ):
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(lax.dot(x, x, precision=precision), want, rtol=1e-6, strict=True)
    wide = lax.dot(
        x.astype(np.float16), x.astype(np.float16), precision="F16_F16_F32", preferred_element_type=np.float32
    )
    np.testing.assert_allclose(wide, np.float32(half @ half), rtol=1e-6, strict=True)


@pytest.mark.parametrize(
    ("x", "precision", "error", "words"),
    [
        (
            np.arange(3),
            "F32_F32_F32",
            TypeError,
            "with the algorithm F32_F32_F32: operands of int64 give",
        ),
        (np.ones(3), "ANY_F8_ANY_F8_F32", TypeError, "an operand has dtype float64. Give floats of 8 bits"),
        (np.ones(3), lax.DotAlgorithm("f4", "f8", "f8"), ValueError, "the operands would have two dtypes. Give an"),
    ],
)
def test_an_algorithm_for_other_operands_is_refused(x, precision, error, words):
    with pytest.raises(error, match=words):
        lax.dot(x, x, precision=precision)


@pytest.mark.parametrize("algorithm", [lax.DotAlgorithmPreset.F64_F64_F64, lax.DotAlgorithm("f2", np.float16, "f4")])
def test_a_program_with_an_algorithm_is_stored(algorithm):
    jaxpr = make_jaxpr(lambda x: lax.dot(x, x, precision=algorithm))(np.ones(2, np.float32))
    assert jaxpr_equal(jaxpr_from_dict(jaxpr_to_dict(jaxpr)), jaxpr)
    assert jaxpr_equal(parse_jaxpr(str(jaxpr)), jaxpr)
