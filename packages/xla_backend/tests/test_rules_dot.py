"""Lowering of sums of products against their evaluation."""

import numpy as np
import pytest

from calque_core import config, lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

# Dimension numbers with the shapes of the operands.
CONTRACTIONS = {
    "inner": ((((0,), (0,)), ((), ())), (5,), (5,)),
    "matrix": ((((1,), (0,)), ((), ())), (2, 3), (3, 4)),
    "matrix with transposed left": ((((0,), (0,)), ((), ())), (3, 2), (3, 4)),
    "matrix and vector": ((((1,), (0,)), ((), ())), (2, 3), (3,)),
    "outer": ((((), ()), ((), ())), (2,), (3,)),
    "product of scalars": ((((), ()), ((), ())), (), ()),
    "scalar and matrix": ((((), ()), ((), ())), (), (2, 3)),
    "batched": ((((2,), (1,)), ((0,), (0,))), (4, 2, 3), (4, 3, 5)),
    "batched at the end": ((((0,), (0,)), ((2,), (1,))), (3, 2, 4), (3, 4, 5)),
    "two batch axes, two contracted": ((((1, 3), (0, 2)), ((0, 2), (1, 3))), (2, 3, 4, 5, 6), (3, 2, 5, 4, 7)),
    "elementwise": ((((), ()), ((0, 1), (1, 0))), (2, 3), (3, 2)),
    "nothing to sum": ((((1,), (0,)), ((), ())), (2, 0), (0, 3)),
    "no rows": ((((1,), (0,)), ((), ())), (0, 3), (3, 2)),
    "no batch": ((((2,), (1,)), ((0,), (0,))), (0, 2, 3), (0, 3, 2)),
    "long sums": ((((1,), (0,)), ((), ())), (9, 300), (300, 8)),
}


def draw(rng, dtype, shape):
    """Return numbers of one sign, so that sums have few ulps of error; integers that may overflow."""
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return rng.integers(0, 2 if kind == "b" else 100, shape).astype(dtype)
    return rng.uniform(0.5, 1, shape).astype(dtype)


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    numbers, lhs_shape, rhs_shape = CONTRACTIONS[name]
    rng = np.random.default_rng(0)
    exact, rounded = (
        [(draw(rng, dtype, lhs_shape), draw(rng, dtype, rhs_shape)) for dtype in dtypes_of(kinds)]
        for kinds in ("biu", "fc")
    )
    check_compiled(lambda x, y: lax.dot_general(x, y, numbers), exact)
    check_compiled(lambda x, y: lax.dot_general(x, y, numbers), rounded, ulps=16)


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("int8", "int32"),
        ("uint8", "int64"),
        ("bool", "int32"),
        ("int32", "float32"),
        ("float16", "float32"),
        ("float32", "float64"),
        ("float64", "float32"),
        ("float32", "float16"),
        ("float32", "complex64"),
    ],
)
def test_sums_are_made_in_the_preferred_dtype(dtype, preferred, check_compiled):
    rng = np.random.default_rng(1)
    numbers = (((1,), (0,)), ((), ()))
    operands = draw(rng, dtype, (3, 200)), draw(rng, dtype, (200, 2))
    check_compiled(lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=preferred), [operands], ulps=4)


def test_products_of_single_precision_lose_no_bits(check_compiled):
    x = np.float32(1 + 2**-20)  # a product with 10 or 16 bits of mantissa would give 1
    check_compiled(lambda x, y: lax.dot(x, y), [(np.full((4, 4), x), np.eye(4, dtype=np.float32))])


def test_dot_of_vectors_and_matrices(check_compiled):
    rng = np.random.default_rng(2)
    cases = [(rng.uniform(size=s), rng.uniform(size=t)) for s in [(3,), (2, 3)] for t in [(3,), (3, 4)]]
    check_compiled(lax.dot, cases, ulps=2)


def test_infinities_and_nan_pass_through_products(check_compiled):
    x = np.array([[np.inf, 1.0], [np.nan, 1.0], [1.0, -np.inf]], np.float32)
    check_compiled(lax.dot, [(x, np.array([1.0, 2.0], np.float32)), (x, np.array([1.0, 0.0], np.float32))])


@pytest.mark.parametrize("result", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("operand", ["int16", "uint16", "int64", "float16", "bfloat16", "float32"])
def test_sums_have_a_dtype_also_where_numpy_has_no_common_one(operand, result, regime):
    numbers = (((1,), (0,)), ((), ()))
    x, y = np.arange(6).reshape(2, 3).astype(operand), np.full((3, 2), 3, operand)
    product = lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=result)
    try:
        want = product(x, y)
    except TypeError:  # sums that would lose information
        return
    out = jit(product)(x, y)
    assert out.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(out, float), np.asarray(want, float))


def test_a_program_is_compiled_anew_for_another_default_precision():
    product = jit(lambda x: lax.dot(x, x))
    x = np.ones((2, 2), np.float32)
    assert "HIGHEST" in product.lower(x).as_text()
    product(x)
    with config.default_matmul_precision("default"):
        assert "HIGHEST" not in product.lower(x).as_text()
        product(x)
    product(x)
    assert product.cache_info() == (2, 2)
