"""Keys count as elements: they index, stack and reshape as arrays do, and are one node of a tree."""

import numpy as np
import pytest

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
}


@pytest.mark.parametrize("name", MOVES)
def test_functions_that_move_elements_move_keys(name):
    numbers = np.arange(6).reshape(2, 3)
    words = WORDS.reshape(6, 2)[MOVES[name](numbers)]
    check(MOVES[name](KEYS), words)
    jaxpr = make_jaxpr(lambda x: MOVES[name](x).words)(KEYS)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, WORDS)[0], words)


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
        (lambda: np.asarray(KEYS), r"numpy.asarray at .* Use random.key_data\(keys\)"),
        (lambda: np.sum(KEYS), "numpy.sum at .* of keys: only functions that move elements"),
        (lambda: KEYS + 1, "unsupported operand"),
        (lambda: np.ones(2) * KEYS, "unsupported operand"),
        (lambda: np.sin(KEYS), "does not support ufuncs"),
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
