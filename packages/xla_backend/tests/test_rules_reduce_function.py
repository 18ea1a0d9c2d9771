"""Lowering of reductions by functions against their evaluation."""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (0, 5)])
def test_reductions_by_any_function_compile_and_use_the_start_once(shape, check_compiled):
    x = np.random.default_rng(2).integers(-3, 4, shape) / 2
    check_compiled(lambda x: lax.reduce(x, 3.0, lambda a, b: a + b + 0.0 * a * b, (0,)), [(x,)])
    check_compiled(lambda x, y: lax.reduce(x, 3.0, lambda a, b: a + b + a * b * y, (0,)), [(x, 2.0)])


def test_a_function_that_calls_a_compiled_function_compiles(check_compiled):
    inner = jit(lambda a, b: a + b + a * b)
    check_compiled(lambda x: lax.reduce(x, 1.0, lambda a, b: inner(a, b), (0, 1)), [(np.ones((2, 3)),)])
