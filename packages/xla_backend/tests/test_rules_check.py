import numpy as np
import pytest

from calque_core import CheckError, check, config, lax
from calque_xla_backend import jit


def positive(x):
    check(x > 0, "x is {}", x)
    return x * 2.0


def test_a_program_calls_python_in_a_branch():
    text = jit(positive).lower(np.ones(3)).as_text()
    assert text.index("stablehlo.case") < text.index("stablehlo.custom_call")


def test_the_error_comes_out_of_the_call_and_the_next_call_works():
    compiled = jit(positive)
    with pytest.raises(CheckError, match=r"\(positive\) failed at index \[1\]: x is -1\.0") as caught:
        compiled(np.array([1.0, -1.0]))
    assert caught.value.__notes__[0] == "The check belongs to the compiled program of positive."
    np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), [2.0, 4.0])


def test_a_program_without_checks_calls_nothing():
    with config.checks(False):
        lowered = jit(positive).lower(np.ones(3))
    assert not lowered.callbacks
    assert "custom_call" not in lowered.as_text()


def test_a_loop_without_checks_is_lowered_as_before():
    loop = jit(lambda x: lax.fori_loop(0, 3, lambda i, c: positive(c), x))
    with config.checks(False):
        assert "stablehlo.case" not in loop.lower(1.0).as_text()
    with pytest.raises(CheckError) as caught:
        jit(lambda x: lax.fori_loop(0, 5, lambda i, c: positive(c) - 5.0, x))(3.0)
    assert caught.value.steps == (2,)
