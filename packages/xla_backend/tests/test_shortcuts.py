"""Shortcuts: later calls on operands of the same types run one program, and nothing else about them differs."""

import gc
import operator
import re
import sys
import threading
import weakref

import numpy as np
import pytest

from calque_core import ArrayMethods, ShapedArray, config, lax, make_jaxpr, typeof
from calque_core.engine import advance_rule_epoch, numpy_functions
from calque_xla_backend import Array, clear_caches, device_put, hlo, jit, register_lowering
from calque_xla_backend.modules.lowering import lowering_rule
from calque_xla_backend.shortcuts import _shortcuts, evaluate_function

VECTOR = np.array([0.25, 1.0, 1.75])
BINARY = [operator.add, operator.truediv, operator.eq, operator.ge]


@pytest.fixture(autouse=True)
def _fresh():
    clear_caches()


def python_calls(function):
    """Return how many functions of Python one call of `function` calls."""
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(calls) - 1


@pytest.mark.parametrize("function", BINARY)
def test_the_second_call_on_the_same_types_takes_two_frames(function):
    x = device_put(VECTOR)
    first, second = python_calls(lambda: function(x, x)), python_calls(lambda: function(x, x))
    assert second == 2 < first


def test_operators_of_one_operand_take_two_frames():
    x = device_put(VECTOR)
    assert python_calls(lambda: -x) > python_calls(lambda: -x) == 2


@pytest.mark.parametrize("name", ["add", "rsub", "mul", "rtruediv", "eq", "lt"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_numbers_beside_arrays_give_what_they_give_without_shortcuts(name, dtype):
    x = device_put(VECTOR.astype(dtype))
    shortcut, plain = (getattr(owner, f"__{name}__") for owner in (Array, ArrayMethods))

    def outcome(method, number):
        try:
            return method(x, number)
        except (OverflowError, TypeError) as error:
            return str(error)

    for number in (2, 3.0, 0.0, -0.0, float("nan"), True, 300, 10**20, 10**400):
        out, expected = outcome(shortcut, number), outcome(plain, number)
        if isinstance(expected, str):
            assert out == expected
        else:
            assert typeof(out) is typeof(expected)
            np.testing.assert_array_equal(np.asarray(out).tobytes(), np.asarray(expected).tobytes())


def test_functions_that_ask_for_the_value_of_a_number_have_no_shortcut():
    x, small = device_put(VECTOR), device_put(np.array([1, 2], np.int8))
    np.testing.assert_array_equal(x**2, VECTOR**2)
    np.testing.assert_allclose(x**3, VECTOR**3, rtol=1e-15)
    np.testing.assert_allclose(x**0.5, VECTOR**0.5, rtol=1e-15)
    np.testing.assert_array_equal(np.power(x, 2), VECTOR**2)
    np.testing.assert_allclose(np.power(x, 3), VECTOR**3, rtol=1e-15)
    assert np.asarray(small < 2).tolist() == [True, False]
    assert np.asarray(small < 300).tolist() == [True, True]


def test_a_list_beside_an_array_is_an_array():
    x, numbers = device_put(VECTOR), [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(x + x, 2 * VECTOR)
    np.testing.assert_array_equal(x + numbers, VECTOR + np.array(numbers))
    np.testing.assert_array_equal(np.add(numbers, x), VECTOR + np.array(numbers))


def test_weak_arrays_have_shortcuts_of_their_own():
    strong, weak = device_put(np.float32(2.0)), jit(lambda x: x * 2)(1.0)
    assert typeof(weak).weak_type
    for _ in range(2):
        assert typeof(weak + weak) is ShapedArray((), np.float64, weak_type=True)
        assert typeof(strong + strong) is ShapedArray((), np.float32)
        assert typeof(strong * weak) is ShapedArray((), np.float32)


def test_a_shortcut_is_not_taken_under_other_settings():
    x = device_put(VECTOR)
    zero = x - x
    assert np.isnan(np.asarray(zero / zero)).all()
    with config.enable_x64(False):
        assert (x + x).dtype == np.float32
    with config.debug_nans(), pytest.raises(FloatingPointError):
        zero / zero
    assert (x + x).dtype == np.float64


def test_a_shortcut_is_not_taken_while_a_task_traces():
    x = device_put(VECTOR)
    assert isinstance(x * x, Array)
    jaxpr = make_jaxpr(lambda y: (x * x) + y)(VECTOR)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "add"]


def test_a_rule_that_replaces_another_is_used_by_the_next_call():
    x = device_put(VECTOR)
    np.testing.assert_array_equal(-x, -VECTOR)
    before = lowering_rule(lax.neg_p, "cpu")
    register_lowering(lax.neg_p, lambda ctx, x: [hlo.add(x, x)])
    try:
        np.testing.assert_array_equal(-x, 2 * VECTOR)
    finally:
        register_lowering(lax.neg_p, before)
    np.testing.assert_array_equal(-x, -VECTOR)


def test_a_new_rule_epoch_drops_all_shortcuts():
    x = device_put(VECTOR)
    assert np.array_equal(x + x, VECTOR + VECTOR)
    assert _shortcuts.known
    advance_rule_epoch()
    assert not _shortcuts.known


def test_a_shortcut_that_is_found_while_a_rule_is_replaced_is_not_kept():
    def negative(x):
        advance_rule_epoch()
        return lax.neg(x)

    for _ in range(3):
        assert np.array_equal(evaluate_function(negative, (device_put(VECTOR),)), -VECTOR)
        assert not _shortcuts.known


def test_a_deleted_operand_is_refused_with_the_words_of_every_call():
    x, y = device_put(VECTOR), device_put(VECTOR)
    x + y
    y.delete()
    message = r"add at .*test_shortcuts.py.*, operand {}: .* was used after it was deleted or donated"
    with pytest.raises(RuntimeError, match=message.format(1)):
        x + y
    with pytest.raises(RuntimeError, match=message.format(1)):
        np.add(x, y)
    with pytest.raises(RuntimeError, match=message.format(0)):
        y + 1.0


def test_a_class_of_the_user_is_not_kept():
    class Other:
        def __radd__(self, other):
            return "theirs"

    x = device_put(VECTOR)
    assert x + Other() == "theirs"
    kept = weakref.ref(Other)
    del Other
    gc.collect()
    assert kept() is None


def test_a_function_of_two_primitives_is_run_each_time():
    x = device_put(VECTOR)

    def shifted_sine(x):
        return lax.sin(lax.add(x, x))

    for _ in range(2):
        np.testing.assert_allclose(evaluate_function(shifted_sine, [x]), np.sin(2 * VECTOR), rtol=1e-15)
    assert _shortcuts.known[next(key for key in _shortcuts.known if key[0] is shifted_sine)] is None


def test_a_function_that_returns_its_argument_or_swaps_operands_is_run_each_time():
    x, y = device_put(VECTOR), device_put(2 * VECTOR)
    for function in (lambda x, y: lax.sub(y, x), lambda x, y: (lax.add(x, y), x)[1]):
        expected = np.asarray(function(VECTOR, 2 * VECTOR))
        for _ in range(2):
            np.testing.assert_array_equal(evaluate_function(function, [x, y]), expected)


def test_ufuncs_and_functions_of_numpy_take_shortcuts():
    x, m = device_put(VECTOR), device_put(np.eye(3))
    for function in (np.sin, np.add, np.matmul):
        operands = [x] if function is np.sin else [m, m]
        function(*operands)
        assert python_calls(lambda f=function, a=operands: f(*a)) == 2
    evaluate_function(numpy_functions.matmul, [m, m])
    assert python_calls(lambda: evaluate_function(numpy_functions.matmul, [m, m])) == 1


def test_threads_share_shortcuts():
    x = device_put(VECTOR)
    outs = []

    def work():
        outs.extend(np.asarray(x * 2.0 + x) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outs) == 200
    for out in outs:
        np.testing.assert_array_equal(out, 3 * VECTOR)


@pytest.mark.parametrize(
    ("apply", "name"),
    [
        (lambda x, texts: x + texts, "+"), (lambda x, texts: x - texts.tolist(), "-"),
        (lambda x, texts: x**texts, "**"), (lambda x, texts: x @ texts, "@"), (lambda x, texts: x < texts, "<"),
        (divmod, "divmod"), (lambda x, texts: np.add(x, texts), "add"), (lambda x, texts: texts + x, "add"),
    ],
)  # fmt: skip
def test_an_operation_that_refuses_an_array_of_texts_is_named_as_in_a_traced_program(apply, name):
    texts = np.array(["a", "b"])
    words = rf"^{re.escape(name)} at test_shortcuts.py:\d+ \(.*\): an array of dtype <U1 is not an operand\. Convert it"
    for run in (lambda function: function(device_put(np.ones(2))), lambda function: jit(function)(np.ones(2))):
        with pytest.raises(TypeError, match=words):
            run(lambda x: apply(x, texts))
