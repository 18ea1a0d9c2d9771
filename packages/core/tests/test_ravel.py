import numpy as np
import pytest

from calque_core import make_jaxpr, ravel_pytree
from calque_core.config import enable_x64
from calque_pytree import static_key, tree_leaves, tree_structure

TREE = {"w": np.arange(6.0).reshape(2, 3), "b": (np.float64(7.0), [np.zeros((0, 2))]), "none": None}


def test_the_leaves_come_in_order_and_go_back():
    flat, unravel = ravel_pytree(TREE)
    assert flat.tolist() == [7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    tree = unravel(2.0 * flat)
    assert tree_structure(tree) == tree_structure(TREE)
    for leaf, before in zip(tree_leaves(tree), tree_leaves(TREE)):
        assert leaf.dtype == before.dtype
        np.testing.assert_array_equal(leaf, 2.0 * before)


def test_leaves_of_one_dtype_take_that_of_the_vector():
    _, unravel = ravel_pytree([np.ones(2, np.float32), np.float32(1.0)])
    assert [x.dtype for x in unravel(np.ones(3, np.complex64))] == [np.complex64] * 2


def test_leaves_of_several_dtypes_promote_and_get_their_own_back():
    leaves = [np.float32(1.5), np.arange(2), True, 2.0, np.complex64(1 + 2j)]
    flat, unravel = ravel_pytree(leaves)
    assert flat.dtype == np.complex128
    back = unravel(flat)
    assert [np.asarray(x).dtype for x in back] == [np.float32, np.int64, np.bool_, np.float64, np.complex64]
    assert [np.asarray(x).tolist() for x in back] == [1.5, [0, 1], True, 2.0, 1 + 2j]


def test_a_tree_without_leaves_is_a_vector_of_no_floats():
    flat, unravel = ravel_pytree({"a": ()})
    assert flat.shape == (0,)
    assert flat.dtype == np.float64
    assert unravel(flat) == {"a": ()}
    with enable_x64(False):
        assert ravel_pytree([])[0].dtype == np.float32


def test_nothing_shares_memory():
    x = np.ones(3)
    flat, unravel = ravel_pytree([x])
    flat[0] = 5.0
    assert x[0] == 1.0
    (back,) = unravel(flat)
    back[0] = 7.0
    assert flat[0] == 5.0


def test_it_is_traced():
    jaxpr = make_jaxpr(lambda t: ravel_pytree(t)[0] * 2.0)(TREE)
    assert [a.shape for a in jaxpr.out_avals] == [(7,)]
    jaxpr = make_jaxpr(lambda t: ravel_pytree(t))(TREE)
    assert len(jaxpr.outvars) == 1


def test_the_way_back_is_a_value_without_leaves():
    unravels = [ravel_pytree(tree)[1] for tree in (TREE, TREE, {"w": 1.0}, {1: 1.0}, {True: 1.0})]
    assert tree_leaves(unravels[0]) == []
    assert unravels[0] == unravels[1]
    assert hash(unravels[0]) == hash(unravels[1])
    assert static_key(unravels[0]) == static_key(unravels[1])
    assert unravels[0] != unravels[2]
    assert static_key(unravels[3]) != static_key(unravels[4])


@pytest.mark.parametrize(
    ("leaves", "flat", "error", "message"),
    [
        ([1.0, 2.0], np.ones(3), ValueError, r"unravel at test_ravel.* got float64\[3\]\. Give a vector of 2"),
        ([1.0, 2.0], np.ones((2, 1)), ValueError, r"got float64\[2,1\]\. Give a vector of 2 elements"),
        ([1.0, 2.0], [1.0, 2.0], TypeError, r"got a list of length 2\. Give a vector of 2 elements"),
        (
            [1.0, 2],
            np.ones(2, np.float32),
            TypeError,
            r"float32\[2\], but .* have the common dtype float64",
        ),
    ],
)
def test_a_vector_that_does_not_fit_is_refused(leaves, flat, error, message):
    _, unravel = ravel_pytree(leaves)
    with pytest.raises(error, match=message):
        unravel(flat)


@pytest.mark.parametrize("leaf", ["text", object()])
def test_what_is_no_array_is_refused_by_its_path(leaf):
    with pytest.raises(TypeError, match=r"ravel_pytree at test_ravel.*: tree\['a'\]"):
        ravel_pytree({"a": leaf})


LARGE = 2**53 + 1
EXACT = [
    [np.array([2**53, -(2**60), 0]), 1.5],
    [np.array([2**53 + 2], np.uint64), np.ones(2)],
    [np.array([-(2**63)]), 1.5],
    [np.array([2**24 + 1], np.int32), np.float32(0.5)],
    [np.array([LARGE]), True],
    [np.array([LARGE]), np.int8(1)],
    [np.array([200], np.uint8), np.float16(1.0)],
]


@pytest.mark.parametrize("leaves", EXACT)
def test_integers_beside_other_numbers_keep_their_values(leaves):
    flat, unravel = ravel_pytree(leaves)
    for x, y in zip(unravel(flat), leaves):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("other", [1.5, np.ones(2, np.float32), np.complex64(1j), np.float16(1), np.uint64(3)])
@pytest.mark.parametrize("value", [LARGE, 2**63 - 1, -LARGE])
def test_an_integer_that_the_common_dtype_has_not_is_refused(other, value):
    message = (
        rf"ravel_pytree at test_ravel.py.*: tree\['n'\] has the value {value}, which (float64|complex128), .*apart"
    )
    for _ in range(3):
        with pytest.raises(ValueError, match=message):
            ravel_pytree({"n": np.array([3, value]), "x": other})


def test_an_unsigned_integer_that_the_common_dtype_has_not_is_refused():
    with pytest.raises(ValueError, match=r"tree\[0\] has the value 18446744073709551615, which float64"):
        ravel_pytree([np.uint64(2**64 - 1), 0.5])


def test_traced_integers_of_too_many_digits_are_refused():
    n = np.array([3])
    with pytest.raises(
        TypeError, match=r"ravel_pytree at .*: tree\['n'\] has type int64\[1\], and float64, .*Convert it"
    ):
        make_jaxpr(lambda n: ravel_pytree({"n": n, "x": 0.5})[0])(n)
    for leaves in ({"n": n}, {"n": n, "b": True}, {"n": n.astype(np.int32), "x": 0.5}):
        make_jaxpr(lambda tree: ravel_pytree(tree)[0])(leaves)
