"""Matrix products of tracers: NumPy's shapes, dtypes and values, in one contraction."""

import itertools

import numpy as np
import pytest

from calque_core import eval_jaxpr, stage, typeof
from calque_core.errors import ShapeError

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [
    (3,), (3, 3), (2, 3, 3), (1, 3, 3), (5, 1, 3, 3), (4, 3), (3, 4), (0, 3), (3, 0), (), (2, 4, 3), (3, 3, 2),
]  # fmt: skip


def traced(fun, *args):
    jaxpr = stage(lambda *xs: [fun(*xs)], [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


def primitives(fun, *shapes):
    return [eqn.primitive.name for eqn in stage(lambda *xs: [fun(*xs)], [typeof(np.ones(s)) for s in shapes]).eqns]


def refused(fun, *args):
    with pytest.raises(ShapeError) as caught:
        traced(fun, *args)
    return str(caught.value)


@pytest.mark.parametrize("product", [np.matmul, np.dot], ids=["matmul", "dot"])
@pytest.mark.parametrize("char", "?bilfdD")
def test_a_product_is_numpys_for_every_pair_of_shapes(product, char):
    rng = np.random.default_rng(0)
    for left, right in itertools.product(SHAPES, repeat=2):
        x, y = (np.asarray(rng.integers(0, 3, shape)).astype(char) for shape in (left, right))
        try:
            want = product(x, y)
        except ValueError:
            refused(product, x, y)
            continue
        got = traced(product, x, y)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (left, right)
        np.testing.assert_array_equal(got, want)


def test_operands_of_two_dtypes_are_promoted():
    x, y = np.ones((2, 3), np.float32), np.ones((3, 2), np.int32)
    for product in (np.matmul, np.dot):
        assert traced(product, x, y).dtype == product(x, y).dtype == np.float64
    assert traced(lambda a: np.dot(a, 2), x).dtype == np.dot(x, 2).dtype


def test_the_operator_the_function_and_the_method_agree():
    x, y = np.ones((2, 3)), np.ones((3, 2))
    for fun in (lambda a, b: a @ b, np.matmul, lambda a, b: a.dot(b), np.dot):
        np.testing.assert_array_equal(traced(fun, x, y), x @ y)


def test_a_product_is_one_contraction():
    assert primitives(np.matmul, (2, 3), (3, 4)) == ["dot_general"]
    assert primitives(np.matmul, (7, 2, 3), (3, 4)) == ["dot_general"]
    assert primitives(np.matmul, (7, 2, 3), (7, 3, 4)) == ["dot_general"]
    assert primitives(np.matmul, (2, 3), (7, 3, 4)) == ["dot_general", "transpose"]
    assert primitives(np.matmul, (1, 2, 3), (7, 3, 4)) == ["broadcast_in_dim", "dot_general"]
    assert primitives(np.dot, (2, 3), (7, 3, 4)) == ["dot_general"]


def test_sizes_that_do_not_meet_are_named():
    words = refused(np.matmul, np.ones((2, 3)), np.ones((4, 5)))
    assert words.startswith("matmul of float64[2,3] and float64[4,5] at test_numpy_products.py:")
    assert words.endswith("the sizes 3 and 4 differ. Make them equal.")
    assert refused(np.dot, np.ones(3), np.ones(4)).endswith("the sizes 3 and 4 differ. Make them equal.")


def test_a_matrix_product_with_a_scalar_says_what_to_write():
    words = refused(np.matmul, np.ones(3), np.float64(2))
    assert words.endswith("an operand has rank 0. Use * for a product with a scalar.")


def test_leading_axes_that_do_not_broadcast_are_refused():
    words = refused(np.matmul, np.ones((2, 3, 3)), np.ones((4, 3, 3)))
    assert words.endswith("the leading axes do not broadcast. Make their sizes equal, or 1.")


def test_out_is_refused():
    with pytest.raises(TypeError, match="out= is not supported"):
        traced(lambda x: np.dot(x, x, out=np.zeros(())), np.ones(2))
