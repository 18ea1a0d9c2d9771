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
