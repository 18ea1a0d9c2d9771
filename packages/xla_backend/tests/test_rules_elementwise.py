"""Lowering of elementwise operations against their evaluation: arithmetic, rounding and special functions.

Results are normal numbers: XLA flushes subnormal ones to zero on CPU.  Complex operands are finite.
"""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(), (1,), (2, 0, 3), (2, 1, 3)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]

# What an operation is defined for, and how many ulps it may differ for reals and for complex numbers.
UNARY = {
    "neg": ("iufc", 0, 0),
    "abs": ("ifc", 0, 2),
    "sign": ("ifc", 0, 2),
    "square": ("iufc", 0, 2),
    "sqrt": ("fc", 1, 4),
    "rsqrt": ("fc", 2, 4),
    "exp": ("fc", 2, 4),
    "expm1": ("fc", 4, 8),
    "log": ("fc", 2, 64),
    "log1p": ("fc", 4, 64),
    "exp2": ("fc", 4, 64),
    "cbrt": ("f", 4, 0),
    "logistic": ("fc", 4, 64),
    "erf": ("f", 4, 0),
    "population_count": ("iu", 0, 0),
    "clz": ("iu", 0, 0),
    "erf_inv": ("f", 32, 0),
    "sin": ("fc", 2, 64),
    "cos": ("fc", 2, 64),
    "tan": ("fc", 2, 64),
    "tanh": ("fc", 4, 64),
    "asin": ("fc", 4, 64),
    "acos": ("fc", 4, 64),
    "atan": ("fc", 8, 64),  # in single precision XLA's own is 5 ulp away near 0.001
    "sinh": ("fc", 4, 64),
    "cosh": ("fc", 4, 64),
    "asinh": ("fc", 4, 64),
    "acosh": ("fc", 4, 64),
    "atanh": ("fc", 4, 64),
    "floor": ("f", 0, 0),
    "ceil": ("f", 0, 0),
    "is_finite": ("f", 0, 0),
}
BINARY = {
    "add": ("biufc", 0, 0),
    "add_any": ("biufc", 0, 0),
    "sub": ("iufc", 0, 0),
    "mul": ("biufc", 0, 2),
    "div": ("iufc", 1, 4),  # XLA multiplies by the reciprocal of a divisor of rank 0
    "rem": ("iuf", 0, 0),
    "max": ("biufc", 0, 0),
    "min": ("biufc", 0, 0),
    "pow": ("fc", 4, 128),
    "atan2": ("f", 4, 0),
    "nextafter": ("f", 0, 0),
}


def draw(rng, dtype, shape, special=()):
    """Return numbers of all sizes that an operation keeps normal, the special ones at the end."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    numbers = rng.choice([0.05, 1.0, 7.0], shape) * rng.normal(size=shape)
    if dtype.kind == "c":
        return np.asarray(numbers / 2 + 1j * rng.normal(size=shape), dtype)
    if len(special):
        numbers = np.concatenate([numbers, special])
    return np.asarray(numbers, dtype)


def real_and_complex(cases):
    is_complex = [np.asarray(case[0]).dtype.kind == "c" for case in cases]
    return [c for c, z in zip(cases, is_complex) if not z], [c for c, z in zip(cases, is_complex) if z]


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    kinds, real_ulps, complex_ulps = UNARY[name]
    rng = np.random.default_rng(0)
    cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of(kinds) for shape in SHAPES]
    cases += [(draw(rng, dtype, (400,), SPECIAL),) for dtype in dtypes_of(kinds)]
    reals, complexes = real_and_complex(cases)
    check_compiled(getattr(lax, name), reals, real_ulps)
    check_compiled(getattr(lax, name), complexes, complex_ulps)


PAIRS = [((), ()), ((0,), (0,)), ((2, 3), ()), ((), (2, 3)), ((0, 3), ()), ((), (1,))]


def operand_pairs(rng, name, dtype):
    """Return pairs of equal shapes, and of a full shape beside rank 0; the longest has all pairs of special numbers."""
    pairs = [(draw(rng, dtype, x), draw(rng, dtype, y)) for x, y in PAIRS]
    x, y = np.meshgrid(SPECIAL, SPECIAL) if np.dtype(dtype).kind == "f" else ([], [])
    pairs.append((draw(rng, dtype, (300,), np.ravel(x)), draw(rng, dtype, (300,), np.ravel(y))))
    if name == "pow" and np.dtype(dtype).kind == "f":
        pairs = [(x, np.where(np.isfinite(y), np.clip(y, -5, 5), y)) for x, y in pairs]
    if name in ("div", "rem") and np.dtype(dtype).kind in "iu":
        pairs = [(x, np.where(y == 0, 1, y).astype(dtype)) for x, y in pairs]
    return pairs


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    kinds, real_ulps, complex_ulps = BINARY[name]
    rng = np.random.default_rng(1)
    cases = [pair for dtype in dtypes_of(kinds) for pair in operand_pairs(rng, name, dtype)]
    reals, complexes = real_and_complex(cases)
    check_compiled(getattr(lax, name), reals, real_ulps)
    check_compiled(getattr(lax, name), complexes, complex_ulps)


@pytest.mark.parametrize("y", [0, 1, 2, 3, 7, -1, -2, -5])
def test_integer_pow_multiplies_in_the_order_of_evaluation(y, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(2)
    kinds = "iufc" if y >= 0 else "fc"
    cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of(kinds) for shape in [(), (0,), (50,)]]
    reals, complexes = real_and_complex(cases)
    check_compiled(lambda x: lax.integer_pow(x, y), reals, ulps=0)
    check_compiled(lambda x: lax.integer_pow(x, y), complexes, ulps=8)


@pytest.mark.parametrize("y", [-1, -2, -3, -4, -5, -7, -8])
def test_a_negative_power_of_float16_may_be_subnormal(y, check_compiled):
    numbers = np.array([*np.linspace(-60, 60, 97), 0.0, -0.0, 6e4, np.inf, -np.inf, np.nan], np.float16)
    check_compiled(lambda x: lax.integer_pow(x, y), [(numbers,)], ulps=0)
    if y == -5:
        np.testing.assert_array_equal(jit(lambda x: lax.integer_pow(x, y))(np.float16(-10.0)), np.float16(-1e-5))


@pytest.mark.parametrize("method", list(lax.RoundingMethod))
def test_round_sends_halves_where_the_method_says(method, regime, dtypes_of, check_compiled):
    halves = np.arange(-6, 7) / 2
    just_below = np.nextafter(np.float32(0.5), np.float32(0.0))
    cases = [(np.array([*halves, *SPECIAL, just_below, 1e4]).astype(dtype),) for dtype in dtypes_of("f")]
    check_compiled(lambda x: lax.round(x, method), cases)


def test_sign_of_negative_zero_is_positive_as_in_evaluation(dtypes_of, check_compiled):
    cases = [(np.array([-0.0, 0.0, -2.0, np.nan], dtype),) for dtype in dtypes_of("f")]
    check_compiled(lambda x: lax.div(1.0, lax.sign(x)), cases)


def test_special_functions_have_their_limits(dtypes_of, check_compiled):
    ends = [(np.array([-1.0, 1.0, 1.5, -np.inf, np.nan], dtype),) for dtype in dtypes_of("f")]
    check_compiled(lax.erf_inv, ends)
    check_compiled(lax.logistic, [(np.array([-np.inf, np.inf, 80.0, np.nan], dtype),) for dtype in dtypes_of("f")])


def test_logistic_of_half_precision_does_not_overflow_on_the_way(check_compiled):
    check_compiled(lax.logistic, [(np.linspace(-16, 16, 101, dtype=np.float16),)], ulps=2)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers_divided_by_zero_give_all_bits_and_the_dividend(dtype):
    x, zero = np.array([0, 1, 7, 100], dtype), np.zeros(4, dtype)
    quotient, remainder = jit(lambda x, y: (lax.div(x, y), lax.rem(x, y)))(x, zero)
    np.testing.assert_array_equal(np.asarray(quotient), np.invert(zero))
    np.testing.assert_array_equal(np.asarray(remainder), x)


def test_python_scalars_are_operands(check_compiled):
    x = np.array([1, 2, 3], np.float32)
    check_compiled(lambda x: [lax.add(x, 2), lax.mul(0.5, x), lax.max(x, 2.0), lax.add(1, 2)], [(x,)])
    check_compiled(lambda x, y: [lax.add(x, y), lax.sin(x)], [(2.0, 3), (True, 1.0), (x, 1)], ulps=1)
