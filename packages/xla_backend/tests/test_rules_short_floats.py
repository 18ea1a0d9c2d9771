"""Lowering of operations on bfloat16 and the floats of 8 bits, which NumPy does not have, against their evaluation."""

import ml_dtypes
import numpy as np
import pytest

from calque_core import lax
from calque_core.types.dtypes import SHORT_FLOATS
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]


def on_bfloat16(fun):
    """Return `fun` applied to bfloat16, taking and giving float32."""

    def applied(*xs):
        return lax.convert_element_type(fun(*[lax.convert_element_type(x, BFLOAT16) for x in xs]), np.float32)

    return applied


ONE_ULP = 2.0**16  # of bfloat16, in ulps of float32


@pytest.mark.parametrize("name", ["neg", "abs", "sign", "sqrt", "exp", "log", "logistic", "sin", "tanh", "floor"])
def test_unary_operations_on_bfloat16_compile_to_what_they_evaluate_to(name, check_compiled):
    x = np.concatenate([np.random.default_rng(0).normal(size=50), SPECIAL]).astype(np.float32)
    check_compiled(on_bfloat16(getattr(lax, name)), [(x,), (x[0],), (x[:0],)], ulps=ONE_ULP)


@pytest.mark.parametrize("name", ["add", "mul", "div", "max", "min", "lt", "eq"])
def test_binary_operations_on_bfloat16_compile_to_what_they_evaluate_to(name, check_compiled):
    x, y = (np.ravel(z).astype(np.float32) for z in np.meshgrid(SPECIAL, SPECIAL))
    check_compiled(on_bfloat16(getattr(lax, name)), [(x, y), (x, y[2]), (x[2], y)])


def test_bfloat16_is_summed_in_single():
    total = jit(on_bfloat16(lax.reduce_sum))(np.ones(4000, np.float32))
    assert float(total) == 4000  # steps of 1 are lost beyond 256 in bfloat16 itself


def test_products_and_orders_of_bfloat16_compile_to_what_they_evaluate_to(check_compiled):
    x = np.array([[1.0, np.inf], [-0.0, 3.0]], np.float32)
    check_compiled(on_bfloat16(lambda x: lax.sort(x, 0)), [(x,)])
    check_compiled(on_bfloat16(lambda x: lax.reduce_max(x, 1)), [(x,)])
    check_compiled(on_bfloat16(lax.dot), [(x, x)], ulps=ONE_ULP)


# Floats of 8 bits

SHORT = sorted(SHORT_FLOATS)


def all_at_once(x):
    product = lax.dot_general(x, x, (((1,), (1,)), ((), ())))
    return [lax.reduce_max(x, 1), lax.reduce_min(x, 1), lax.reduce_sum(x, 1), lax.sort(x, 1), lax.exp(x), product]


def check_alike(fun, x):
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of comparisons with NaN
        for got, want in zip(jit(fun)(x), fun(x), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got).astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("dtype", SHORT)
def test_short_floats_compile_to_what_they_evaluate_to(dtype):
    row = np.array([[0.25, np.nan, 1.5]], getattr(ml_dtypes, dtype))
    check_alike(all_at_once, np.concatenate([row, -row, row[:, ::-1], row[:, [0, 2, 0]]]))
    check_alike(all_at_once, row[:, :0])


@pytest.mark.parametrize("dtype", SHORT)
def test_positions_of_extreme_short_floats_compile_to_what_they_evaluate_to(dtype):
    row = np.array([[0.25, np.nan, 1.5]], getattr(ml_dtypes, dtype))
    rows = np.concatenate([row, -row, row[:, ::-1], row[:, [0, 2, 0]]])
    check_alike(lambda x: [lax.argmax(x, 1), lax.argmin(x, 1)], rows)
    check_alike(lambda x: [lax.argmax(x, 1), lax.argmin(x, 1)], rows[:, ::2])
