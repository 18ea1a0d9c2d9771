"""Branches and loops run by Python under `config.disable_jit`; `jit` itself is in the laws."""

import numpy as np
import pytest

from calque_core import config, lax, make_jaxpr


def seen_by(run):
    """Return what the functions of a loop see, by `run(note)`, and its result, under the setting and without."""
    values: list[object] = []
    with config.disable_jit():
        out = run(values.append)
    return values, out, run(lambda _: None)


def test_scan_calls_its_function_on_values():
    def run(note):
        def step(total, x):
            note(x)
            return total + x, {"before": total}

        return lax.scan(step, np.float64(0.0), np.array([1.0, 2.0, 3.0]), reverse=True)

    values, (total, ys), (expected, expected_ys) = seen_by(run)
    assert values == [3.0, 2.0, 1.0]
    assert total == expected
    np.testing.assert_array_equal(ys["before"], expected_ys["before"])


def test_while_loop_calls_its_functions_on_values():
    def run(note):
        return lax.while_loop(lambda x: x < 10.0, lambda x: note(x) or x * 2.0, np.float32(1.0))

    values, out, expected = seen_by(run)
    assert values == [1.0, 2.0, 4.0, 8.0]
    assert (out, out.dtype) == (expected, expected.dtype)


@pytest.mark.parametrize("steps", [2, np.int64(2)])
def test_fori_loop_calls_its_function_on_values(steps):
    values, out, expected = seen_by(lambda note: lax.fori_loop(0, steps, lambda i, x: note(i) or x + i, 1.0))
    assert values == [0, 1]
    assert out == expected


def test_a_branch_sees_values_and_the_other_is_not_called():
    def run(note):
        first = lax.cond(np.bool_(True), lambda x: note("yes") or x + 1.0, lambda x: note("no") or x, 2.0)
        return first, lax.switch(np.int64(7), [lambda x: note("zero") or x, lambda x: note(x) or x * 2.0], 4.0)

    values, out, expected = seen_by(run)
    assert values == ["yes", 4.0]
    assert out == expected


def test_a_bounded_loop_sees_values_until_its_condition_fails():
    run = lambda note: lax.while_loop(lambda x: x < 4, lambda x: note(x) or x + 1, 1, max_steps=9)
    values, out, expected = seen_by(run)
    assert values == [1, 2, 3]
    assert out == expected


def test_a_loop_whose_condition_is_traced_is_traced_from_there():
    fun = lambda x: lax.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, x)
    with config.disable_jit():
        assert "while" in str(make_jaxpr(fun)(1.0))


def test_a_scan_without_steps_has_the_types_of_its_results():
    with config.disable_jit():
        carry, ys = lax.scan(lambda c, x: (c, x * 2.0), np.float32(1.0), np.zeros((0, 3), np.float32))
    assert (carry, ys.shape, ys.dtype) == (1.0, (0, 3), np.float32)


def test_a_python_scalar_takes_the_dtype_of_the_carry():
    with config.disable_jit():
        carry, _ = lax.scan(lambda c, _: (1.0, None), np.float32(0.0), length=2)
        last = lax.while_loop(lambda x: x < 1, lambda x: 1.0, np.float32(0.0))
    assert carry.dtype == last.dtype == np.float32


def test_results_are_arrays_of_their_own():
    x = np.zeros(2)
    with config.disable_jit():
        carry, _ = lax.scan(lambda c, _: (c, None), x, length=1)
        last = lax.while_loop(lambda x: False, lambda x: x, x)
        chosen = lax.cond(True, lambda x: x, lambda x: x, x)
    for out in (carry, last, chosen):
        out += 1.0
    np.testing.assert_array_equal(x, [0.0, 0.0])


def test_structures_are_checked():
    with config.disable_jit():
        with pytest.raises(TypeError, match=r"must return a pair \(carry, y\), but it returned"):
            lax.scan(lambda c, x: c, 0.0, length=1)
        with pytest.raises(TypeError, match="Return the structure of the initial carry"):
            lax.scan(lambda c, x: ((c, c), x), 0.0, length=1)
        with pytest.raises(TypeError, match="Return the structure of the initial carry"):
            lax.while_loop(lambda x: True, lambda x: (x, x), 0.0)
        with pytest.raises(TypeError, match="Return one bool scalar"):
            lax.while_loop(lambda x: 1.0, lambda x: x, 0.0)
        with pytest.raises(
            TypeError, match=r"returned ~bool\[\] in a container, PyTreeDef\(\(\*,\)\)\. Return one bool"
        ):
            lax.while_loop(lambda x: (x < 3.0,), lambda x: x + 1.0, 0.0)
