"""Keys count as elements: they index, stack and reshape as arrays do, and are one node of a tree."""

import numpy as np
import pytest

import calque_numpy
from calque_core import eval_jaxpr, lax, make_jaxpr
from calque_numpy import random
from calque_numpy.random import KeyArray
from calque_pytree import tree_leaves, tree_map

KEYS = random.split(random.key(1), (2, 3))
WORDS = KEYS.words


def check(keys, words):
    assert type(keys) is KeyArray
    np.testing.assert_array_equal(keys.words, words)
    assert keys.shape == words.shape[:-1]


def test_shape_and_size_count_keys():
    assert (KEYS.shape, KEYS.ndim, KEYS.size, len(KEYS)) == ((2, 3), 2, 6, 2)
    assert (KEYS[0, 0].shape, KEYS[0, 0].size) == ((), 1)


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        (0, 1),
        slice(1),
        (..., 2),
        (slice(None), 1),
        None,
        np.array([1, 0, 1]),
        np.array([True, False]),
        (0, ..., 1),
    ],
    ids=str,
)
def test_an_index_chooses_keys(index):
    full = (*index, slice(None)) if isinstance(index, tuple) and Ellipsis in index else index
    check(KEYS[index], WORDS[full])


def test_an_index_never_chooses_a_word():
    with pytest.raises(IndexError):
        KEYS[0, 0, 0]


def test_iteration_gives_keys():
    for row, words in zip(KEYS, WORDS, strict=True):
        check(row, words)
    first, second = random.split(random.key(4))
    assert first != second
    with pytest.raises(TypeError, match=r"len at .* of a single key"):
        list(first)


MOVES = {
    "stack": lambda x: np.stack([x[0], x[1]], 1),
    "concatenate": lambda x: np.concatenate([x, x], 1),
    "vstack": lambda x: np.vstack([x, x]),
    "where": lambda x: np.where(np.array([True, False, True]), x[0], x[1]),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "x.reshape": lambda x: x.reshape(6),
    "x.reshape of sizes": lambda x: x.reshape(1, -1),
    "x.ravel": lambda x: x.ravel(),
    "x.flatten": lambda x: x.flatten(),
    "x.squeeze": lambda x: x.reshape(1, 6).squeeze(),
    "x.T": lambda x: x.T,
    "x.swapaxes": lambda x: x.swapaxes(0, 1),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "expand_dims": lambda x: np.expand_dims(x, -1),
    "broadcast_to": lambda x: np.broadcast_to(x, (4, 2, 3)),
    "flip": np.flip,
    "roll": lambda x: np.roll(x, 1),
    "tile": lambda x: np.tile(x, (2, 2)),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "split": lambda x: np.split(x, 3, axis=1)[1],
    "take": lambda x: np.take(x, np.array([2, 0]), axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[1, 0, 1]]), 0),
    "append": lambda x: np.append(x, x),
    "delete": lambda x: np.delete(x, 1, axis=1),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[:1])[1],
    "atleast_3d": np.atleast_3d,
    "rot90": np.rot90,
    "copy": np.copy,
}
FRONT_MOVES = {
    "stack": lambda np, x: np.stack([x[0], x[1]], 1),
    "stack of an array": lambda np, x: np.stack(x),
    "concatenate": lambda np, x: np.concatenate([x, x], axis=1),
    "reshape": lambda np, x: np.reshape(x, (3, 2)),
    "ravel": lambda np, x: np.ravel(x),
    "squeeze": lambda np, x: np.squeeze(x[:1]),
    "expand_dims": lambda np, x: np.expand_dims(x, 0),
    "broadcast_to": lambda np, x: np.broadcast_to(x, (4, 2, 3)),
    "take": lambda np, x: np.take(x, [2, 0], axis=1),
    "where": lambda np, x: np.where([True, False, True], x, x[::-1]),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, 1),
    "split": lambda np, x: np.split(x, 3, axis=1)[2],
    "repeat": lambda np, x: np.repeat(x, 2, axis=0),
    "array": lambda np, x: np.array([x[1], x[0]]),
    "asarray": lambda np, x: np.asarray(x),
}


@pytest.mark.parametrize("name", MOVES)
def test_functions_that_move_elements_move_keys(name):
    numbers = np.arange(6).reshape(2, 3)
    words = WORDS.reshape(6, 2)[MOVES[name](numbers)]
    check(MOVES[name](KEYS), words)
    jaxpr = make_jaxpr(lambda x: MOVES[name](x).words)(KEYS)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, WORDS)[0], words)


@pytest.mark.parametrize("name", FRONT_MOVES)
def test_functions_of_this_package_move_keys_too(name):
    move = FRONT_MOVES[name]
    words = WORDS.reshape(6, 2)[move(np, np.arange(6).reshape(2, 3))]
    check(move(calque_numpy, KEYS), words)
    jaxpr = make_jaxpr(lambda x: move(calque_numpy, x).words)(KEYS)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, WORDS)[0], words)


@pytest.mark.parametrize("front", [np, calque_numpy], ids=["numpy", "calque_numpy"])
def test_keys_have_a_shape_a_dtype_and_no_numbers_beside_them(front):
    assert (front.shape(KEYS), front.ndim(KEYS), front.size(KEYS)) == ((2, 3), 2, 6)
    assert front.issubdtype(KEYS.dtype, random.prng_key)
    assert not front.issubdtype(WORDS.dtype, random.prng_key)
    assert front.array_equal(KEYS, KEYS.reshape(2, 3))
    assert front.equal(KEYS, KEYS).all()
    for mixed in (
        lambda: front.where([True, False, True], KEYS, 0),
        lambda: front.append(KEYS, 1.5),
        lambda: front.concatenate([KEYS, np.ones((2, 3))]),
    ):
        with pytest.raises(TypeError, match=r"numpy\.\w+ at .* of keys and of .*join keys with keys alone"):
            mixed()
    for number in (lambda: front.add(KEYS, 1), lambda: front.sum(KEYS), lambda: front.zeros_like(KEYS)):
        with pytest.raises(TypeError, match=r"numpy\.\w+ at .* of keys: only functions that move elements take keys"):
            number()


def test_a_traced_index_chooses_a_key():
    jaxpr = make_jaxpr(lambda i: KEYS[i, 1].words)(0)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, 1)[0], WORDS[1, 1])


def test_equality_is_of_each_key():
    assert (KEYS == KEYS).all()
    assert not (KEYS != KEYS).any()
    np.testing.assert_array_equal(KEYS[0] == np.roll(KEYS[0], 1), [False, False, False])
    assert (KEYS == 3) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(KEYS)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: np.asarray(KEYS), r"numpy.asarray at .* Use numpy.stack to join keys, and random.key_data\(keys\)"),
        (lambda: np.sum(KEYS), "numpy.sum at .* of keys: only functions that move elements"),
        (lambda: KEYS + 1, "numpy.add at .* of keys: only functions that move elements"),
        (lambda: np.ones(2) * KEYS, "numpy.multiply at .* of keys"),
        (lambda: np.sin(KEYS), "numpy.sin at .* of keys"),
        (lambda: bool(KEYS[0]), "a key at .* has no truth value"),
        (lambda: lax.add(KEYS, 1), "KeyArray"),
    ],
)
def test_keys_are_no_numbers(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_keys_are_a_node_over_their_words():
    assert tree_leaves({"key": KEYS})[0] is WORDS
    check(tree_map(lambda x: x[1], KEYS), WORDS[1])
    assert repr(random.key(1)) == "KeyArray(array([0, 1], dtype=uint32))"


def test_loops_scan_over_keys_and_carry_them():
    keys = random.split(random.key(2), 4)

    def step(key, other):
        return random.fold_in(key, 1), random.bits(other) ^ random.bits(key)

    last, bits = lax.scan(step, random.key(0), keys)
    want, key = [], random.key(0)
    for other in keys:
        key, out = step(key, other)
        want.append(out)
    check(last, key.words)
    np.testing.assert_array_equal(bits, want)
    check(random.wrap_key_data(random.key_data(keys)), keys.words)


def test_keys_are_no_indices():
    with pytest.raises(TypeError, match=r"numpy.take at .* of keys: only functions that move elements take keys"):
        calque_numpy.take(np.ones(3), random.key(0))


def test_keys_have_a_size_in_bytes_and_a_copy():
    keys = random.split(random.key(0), 3)
    assert (keys.itemsize, keys.nbytes) == (8, 24)
    assert keys.block_until_ready() is keys
    copy = keys.copy()
    assert (copy == keys).all()
    assert not np.shares_memory(copy.words, keys.words)
