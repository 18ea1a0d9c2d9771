"""Functions of lists of arrays, `np.concatenate([x, c])`: each call gives the value and the derivative of the first.

Known code takes over between the third and the fifth call, so each claim is tested with eight calls.
"""

from functools import partial

import numpy as np
import pytest

import calque.numpy as cnp
from calque import grad, jit, jvp, make_jaxpr, vmap
from calque_autodiff.known.tables import linearizations
from calque_core import Tracer, config, implements
from calque_core.engine.numpy_functions import with_items
from calque_core.known.operands import FunctionOfItems
from calque_numpy import joining

CALLS = 8
X = np.array([0.5, -1.5, 2.0])
FUNCTIONS = {
    "concatenate": np.concatenate, "stack": np.stack, "stack along 1": partial(np.stack, axis=1), "vstack": np.vstack,
    "hstack": np.hstack, "dstack": np.dstack, "column_stack": np.column_stack, "block": np.block,
    "flat": partial(np.concatenate, axis=None), "array": cnp.array, "float32": partial(cnp.array, dtype=np.float32),
    "a mean of an array": lambda items: cnp.mean(cnp.array(items), axis=0),
    "select": lambda items: np.select([items[0] > 0, items[0] < 1], [items[1], items[0]], 7.0),
}  # fmt: skip
CONSTANTS = {
    "float64": X + 1, "float32": X.astype(np.float32), "integers": np.arange(3), "bools": X > 0, "a list": [1.0, 2, 3],
    "read-only": np.broadcast_to(2.0, (3,)), "with gaps": np.arange(6.0)[::2], "byte-swapped": X.astype(">f8"),
    "a tuple": (1, 2, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("c", CONSTANTS.values(), ids=CONSTANTS)
def test_each_call_gives_the_value_and_the_slope_of_differences(name, c):
    function = FUNCTIONS[name]
    f = lambda x: function([x * x, cnp.asarray(c) if name in ("block", "select") else c, x])
    first, slopes = None, set()
    for _ in range(CALLS):
        out, out_dot = jvp(f, (X,), (np.ones(3),))
        first = (out, out_dot) if first is None else first
        np.testing.assert_array_equal(out, first[0])
        np.testing.assert_array_equal(out_dot, first[1])
        assert (out.dtype, out_dot.dtype) == (first[0].dtype, first[1].dtype)
        w = np.linspace(1.0, 2.0, out.size).reshape(out.shape)
        slopes.add(grad(lambda x: np.sum(f(x) * w))(X).tobytes())  # noqa: B023
    assert len(slopes) == 1
    step = 1e-4 if first[0].dtype == np.float64 else 1e-2
    difference = (np.asarray(f(X + step), float) - np.asarray(f(X - step), float)) / (2 * step)
    tolerance = 1e-7 if first[0].dtype == np.float64 else 1e-3
    np.testing.assert_allclose(first[1], difference, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.sum(np.frombuffer(slopes.pop())), np.sum(first[1] * w), rtol=1e-6)


def test_a_list_of_constants_has_one_operation_and_their_new_elements():
    c = np.zeros(3)
    f = lambda x: np.sum(np.concatenate([x, c]) ** 2) + np.sum(np.stack([c, x]) * np.stack([x, c]))
    for call in range(CALLS):
        if call == CALLS - 4:
            before = len(linearizations.known)
        c[:] = call
        np.testing.assert_allclose(grad(f)(X), 2 * X + 2 * c, rtol=1e-14)
    assert len(linearizations.known) == before


def test_a_constant_that_the_function_writes_to_keeps_its_values_for_the_derivative():
    def f(x):
        buffer = np.full(3, 2.0)
        y = np.concatenate([x, buffer]) * np.concatenate([buffer, x])
        buffer[:] = 100.0
        return np.sum(y)

    for _ in range(CALLS):
        np.testing.assert_array_equal(grad(f)(X), np.full(3, 4.0))


def test_the_items_of_a_list_may_be_one_array_or_two_that_are_equal():
    for _ in range(CALLS):
        np.testing.assert_array_equal(grad(lambda x: np.sum(np.stack([x, x])[0]))(X), np.ones(3))
        np.testing.assert_array_equal(grad(lambda x: np.sum(np.stack([x, 2 * x])[1]))(X), np.full(3, 2.0))


def test_numbers_in_a_list_are_read_at_each_call():
    f = lambda x, k: np.sum(cnp.array([x[0], k, x[1] * k]) ** 2)
    for k in [0.0, -0.0, 1, 1.0, True, 2.5, np.float32(3), np.nan] * 2:
        for _ in range(3):
            slope = grad(f)(X, k)
            np.testing.assert_allclose(slope, [2 * X[0], 2 * X[1] * k * k, 0.0], rtol=1e-14)


def test_lists_inside_lists():
    def rotated(x):
        return cnp.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]) @ x[1:]

    turned = lambda x: np.block([[x[:2], x[2:]], [np.zeros((1, 3))]]) if x.ndim else x
    c, s = np.cos(X[0]), np.sin(X[0])
    for _ in range(CALLS):
        np.testing.assert_allclose(
            grad(lambda x: rotated(x)[0])(X), [-s * X[1] - c * X[2], c, -s], rtol=1e-14, atol=1e-15
        )
        np.testing.assert_array_equal(grad(lambda x: np.sum(turned(x)))(X), np.ones(3))


@pytest.mark.parametrize(
    ("function", "items", "words"),
    [
        (np.concatenate, [np.ones((2, 2))], "concatenate of float64[3] and float64[2,2] along axis 0 at {}: the"),
        (np.stack, [np.ones(4)], "stack of float64[3] and float64[4] at {}: the shapes differ."),
        (np.concatenate, ["a"], "concatenate at {}"),
        (np.stack, [np.array(["a", "b", "c"])], "stack at {}"),
        (np.vstack, [None], "vstack at {}"),
    ],
    ids=["ranks", "shapes", "a text", "texts", "None"],
)
def test_a_list_is_refused_in_the_same_words_at_each_call(function, items, words):
    said = set()
    for _ in range(CALLS):
        with pytest.raises((TypeError, ValueError)) as caught:
            grad(lambda x: np.sum(function([x, *items])))(X)
        said.add(str(caught.value))
    assert len(said) == 1
    start = words.partition("{}")[0]
    assert said.pop().startswith(start + "test_lists_of_arrays.py:")


def test_settings_change_between_calls():
    f = lambda x: np.sum(np.concatenate([x, np.ones(3)]) ** 2)
    for call in range(2 * CALLS):
        with config.enable_x64(call % 2 == 0), config.enable_checks(call % 3 == 0):
            slope = grad(f)(X)
        assert slope.dtype == (np.float64 if call % 2 == 0 else np.float32)
        np.testing.assert_array_equal(slope, (2 * X).astype(slope.dtype))


def test_a_users_function_of_a_list_may_look_at_elements():
    def chosen(arrays, axis=0):
        return arrays[0] if np.max(arrays[1]) > 0 else 3.0 * arrays[0]

    implements(np.concatenate)(chosen)
    try:
        for sign, slope in [(1.0, 1.0), (-1.0, 3.0)] * CALLS:
            got = grad(lambda x: np.sum(np.concatenate([x, sign * np.ones(3)])))(X)  # noqa: B023
            np.testing.assert_array_equal(got, np.full(3, slope))
    finally:
        implements(np.concatenate)(joining.concatenate)


def test_other_transformations_take_the_items_too():
    f = lambda x: np.concatenate([x, np.arange(3.0), x * x])
    want = np.concatenate([X, np.arange(3.0), X * X])
    texts = set()
    for _ in range(CALLS):
        texts.add(str(make_jaxpr(f)(X)))
        np.testing.assert_array_equal(vmap(f)(np.stack([X, X]))[1], want)
        np.testing.assert_array_equal(jit(f)(X), want)
        np.testing.assert_array_equal(grad(lambda x: grad(lambda x: np.sum(f(x) ** 2))(x).sum())(X), 2 + 12 * X**2)
    assert len(texts) == 1


def test_a_call_without_tracers_or_with_many_items_stays_as_it_is():
    seen = []

    def record(x):
        seen.append(with_items(np.stack, ([x] * 64,)))
        seen.append(with_items(np.stack, ([x] * 65,)))
        return x

    make_jaxpr(record)(1.0)
    (function, items), (kept, args) = seen
    assert type(function) is FunctionOfItems
    assert (function.__name__, len(items)) == ("stack", 64)
    assert all(isinstance(x, Tracer) for x in items)
    assert (kept, len(args)) == (np.stack, 1)
    assert with_items(np.stack, ([X, X],)) == (np.stack, ([X, X],))
