"""Products are NumPy's: the paired axes, the dtypes of bools and small integers, and scalar operands."""

from functools import partial

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = {
    "outer": (lambda m, x, y: m.outer(x, y), [((2,), (3,)), ((2, 2), (3,)), ((), (3,)), ((0,), (2,))]),
    "inner": (
        lambda m, x, y: m.inner(x, y),
        [((3,), (3,)), ((2, 3), (4, 3)), ((), (3,)), ((2, 3), ()), ((2, 0), (3, 0))],
    ),
    "vdot": (lambda m, x, y: m.vdot(x, y), [((3,), (3,)), ((2, 3), (3, 2)), ((0,), (0,))]),
    "tensordot": (lambda m, x, y: m.tensordot(x, y), [((2, 3, 4), (3, 4, 5)), ((2, 3), (2, 3))]),
    "tensordot over one axis": (lambda m, x, y: m.tensordot(x, y, 1), [((2, 3), (3, 4)), ((3,), (3,))]),
    "tensordot over none": (lambda m, x, y: m.tensordot(x, y, axes=0), [((2,), (3, 4)), ((), ())]),
    "tensordot over pairs": (lambda m, x, y: m.tensordot(x, y, ([0, -1], (1, 0))), [((2, 3, 4), (4, 2, 5))]),
    "tensordot over a pair": (lambda m, x, y: m.tensordot(x, y, (0, 1)), [((2, 3), (4, 2))]),
    "kron": (lambda m, x, y: m.kron(x, y), [((2,), (3,)), ((2, 3), (2, 2)), ((2, 2), (3,)), ((), (2, 2))]),
    "dot": (lambda m, x, y: m.dot(x, y), [((3,), (3,)), ((2, 3), (4, 3, 5)), ((), (3,))]),
    "matmul": (lambda m, x, y: m.matmul(x, y), [((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2))]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_is_numpys(name, agree, numbers):
    f, shapes = CASES[name]
    for left, right in shapes:
        agree(f, numbers(left), numbers(right, seed=1), ulps=16)


@pytest.mark.parametrize("other", ["bool", "int8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", "float64"])
@pytest.mark.parametrize("name", ["outer", "inner", "tensordot over one axis", "kron"])
def test_a_product_has_numpys_dtype(name, dtype, other, agree, numbers):
    agree(CASES[name][0], numbers((3,), dtype), numbers((3,), other), ulps=16)


def test_a_product_is_one_contraction():
    def program(x, y):
        return np.inner(x, y), np.tensordot(x, y, ([0, 1], [0, 1]))

    names = [eqn.primitive.name for eqn in make_jaxpr(program)(np.ones((3, 3)), np.ones((3, 3))).eqns]
    assert names == ["dot_general", "dot_general"]


@pytest.mark.parametrize("dtypes", [("complex64", "complex64"), ("complex128", "float32"), ("int8", "complex64")])
def test_vdot_conjugates_its_first_argument(dtypes, agree, numbers):
    agree(lambda m, x, y: m.vdot(x, y), *(numbers((2, 3), dtype, seed) for seed, dtype in enumerate(dtypes)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.inner(x, x[:, :2]), ShapeError, "inner of float64[2,3] and float64[2,2]"),
        (lambda x: np.vdot(x, x[0]), ShapeError, "have the sizes (6,) and (3,). Pair axes of equal size."),
        (lambda x: np.tensordot(x, x, 1), ShapeError, "tensordot of float64[2,3] and float64[2,3]"),
        (lambda x: np.tensordot(x, x, ([0], [0, 1])), ShapeError, "have the sizes (2,) and (2, 3)"),
        (lambda x: np.tensordot(x, x, 3), ValueError, "axis -3 is out of range for ndim 2"),
        (lambda x: np.tensordot(x, x, 0.5), TypeError, "axes is (0.5,). Give a sequence of integers."),
        (lambda x: np.outer(x, x, out=np.ones((6, 6))), TypeError, "out= is not supported"),
    ],
)
def test_axes_that_do_not_pair_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "product",
    [
        cnp.matmul,
        cnp.dot,
        cnp.inner,
        partial(cnp.tensordot, axes=1),
        cnp.vdot,
        partial(cnp.einsum, "ij,jk->ik"),
    ],
)
def test_products_take_a_precision_and_the_dtype_of_their_sums(product):
    x = np.array([[100, 100], [1, 1]], np.int8)
    out = product(x, x, precision="high", preferred_element_type=np.int32)
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out, product(x.astype(np.int32), x.astype(np.int32)))
    (eqn,) = (e for e in make_jaxpr(partial(product, precision="high"))(x, x).eqns if "precision" in e.params)
    assert {one.name for one in eqn.params["precision"]} == {"HIGH"}


def test_einsum_without_a_sum_has_the_stated_dtype_too():
    assert cnp.einsum("i,j->ij", np.ones(2, np.int8), np.ones(2, np.int8), preferred_element_type="int32").dtype == "i4"


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_products_of_matrices_and_vectors_are_numpys(dtype, agree, numbers):
    stack, vector, row = numbers((2, 3, 4), dtype), numbers((4,), dtype, 1), numbers((2, 3), dtype, 2)
    agree(lambda m, x, y: m.vecdot(x, y), stack, vector, ulps=16)
    np.testing.assert_allclose(cnp.matvec(stack, vector), stack @ vector, rtol=1e-6)
    np.testing.assert_allclose(cnp.vecmat(row, stack), (row.conj()[:, None] @ stack)[:, 0], rtol=1e-6)
    if np.lib.NumpyVersion(np.__version__) >= "2.2.0":  # older releases have neither function
        agree(lambda m, x, y: m.matvec(x, y), stack, vector, ulps=16)
        agree(lambda m, x, y: m.vecmat(y, x), stack, row, ulps=16)


@pytest.mark.parametrize("name", ["matvec", "vecmat"])
def test_a_product_of_a_matrix_and_a_vector_takes_no_two_vectors_and_no_scalar(name):
    f, x = getattr(cnp, name), np.ones(3)
    for operands in ((x, x), (2.0, x), (x, 2.0)):
        with pytest.raises(
            ShapeError, match=rf"^{name} of ~?float64.* at test_products\.py:\d+ .*: it takes a vector and a m"
        ):
            f(*operands)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "float32", "complex64"])
def test_vector_products_are_numpys(dtype, agree, numbers):
    x, y = numbers((2, 3), dtype), numbers((4, 2, 3), dtype, 1)
    agree(lambda m, x, y: [m.cross(x, y), m.cross(x, y[0, 0]), m.cross(x[:1], y, axisc=0)], x, y)
    agree(lambda m, x, y: m.cross(x, y, 1, -1, 0), x, y)
    agree(lambda m, x, y: [m.cross(x.T, y[1].T, axis=0), m.cross(x.T, y[1].T, axisa=0, axisb=0)], x, y)
    agree(lambda m, x, y: m.cross(x[:0], y[:, :0]), x, y)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@np.errstate(invalid="ignore")
def test_a_vector_of_length_2_has_no_third_component(agree, numbers):
    try:
        np.cross([1.0, 2.0], [3.0, 4.0])
    except ValueError:
        pytest.skip("this release of NumPy takes vectors of length 3 alone")
    x, y = numbers((2, 3)), numbers((4, 2, 3), seed=1)
    x[0, 1], y[0, 0, 2] = -0.0, np.inf  # a third component of 0 would give NaN
    agree(lambda m, x, y: [m.cross(x[:, :2], y), m.cross(x, y[0, :, :2]), m.cross(x[:, :2], y[..., :2])], x, y)


def test_vectors_of_other_lengths_have_no_vector_product():
    with pytest.raises(ShapeError, match=r"cross.*the vectors along axis 1 of float64\[2,4\] have the length 4"):
        cnp.cross(np.ones((2, 4)), np.ones((2, 4)))
    with pytest.raises(ShapeError, match="the vectors along axis 0"):
        cnp.cross(np.ones((2, 3)), np.ones(4), axisb=0)
    with pytest.raises(ValueError, match="axis"):
        cnp.cross(np.ones(3), 2.0)
