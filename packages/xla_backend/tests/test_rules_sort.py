"""Lowering of sorting and of the choice of extreme elements against evaluation: NaN, signed zeros, ties, keys."""

import numpy as np
import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(0,), (1,), (7,), (3, 5), (0, 4), (4, 0), (2, 3, 4)]
FLOATS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 2.5]


def draw(rng, dtype, shape):
    """Return numbers with many ties; of floats, also NaN of both signs, infinities and both zeros."""
    kind = np.dtype(dtype).kind
    if kind == "c":
        out = np.empty(shape, dtype)
        out.real, out.imag = rng.choice(FLOATS, shape), rng.choice(FLOATS, shape)
        return out
    if kind == "f":
        return rng.choice(np.array(FLOATS, dtype), shape)
    low, high = (0, 1) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return rng.choice(np.array([low, high, 0, 1] if kind == "b" else [low, high, 0, 1, 5], dtype), shape)


@pytest.mark.parametrize("is_stable", [True, False])
def test_sorting_compiles_to_what_it_evaluates_to(is_stable, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of("biuf") for shape in SHAPES]
    check_compiled(lambda x: [lax.sort(x, axis, is_stable) for axis in range(x.ndim)], cases)
    distinct = [(rng.permutation(100).astype(dtype),) for dtype in dtypes_of("iuf")]
    check_compiled(lambda x: lax.sort(x, 0, is_stable), distinct)


def test_complex_numbers_are_sorted_by_real_then_imaginary_part_and_nan_last(dtypes_of, check_compiled):
    rng = np.random.default_rng(1)
    bits = lambda z: [lax.bitcast_convert_type(lax.convert_element_type(z, "float64"), "int64")]
    cases = [(draw(rng, dtype, (60,)),) for dtype in dtypes_of("c")]
    check_compiled(lambda z: bits(lax.sort(z, 0)), cases)
    position = np.arange(60)
    check_compiled(lambda z: lax.sort((z, position), 0)[1], cases)


def test_signed_zeros_keep_their_order(check_compiled):
    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0, -1.0])
    check_compiled(lambda x: lax.div(1.0, lax.sort(x, 0)), [(x,), (-x,)])


@pytest.mark.parametrize("kinds", ["b", "i", "u", "f", "c"])
def test_rows_move_together_and_ties_keep_their_order(kinds, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(2)
    cases = []
    for dtype in dtypes_of(kinds):
        for shape in [(50,), (6, 7), (0, 2), (1, 1)]:
            position = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
            cases.append((draw(rng, dtype, shape), position, -position.astype(np.float32)))
    check_compiled(lambda *xs: [lax.sort(xs, axis)[1:] for axis in range(xs[0].ndim)], cases)


@pytest.mark.parametrize("num_keys", [1, 2, 3])
def test_later_keys_decide_among_ties_of_earlier_ones(num_keys, check_compiled):
    rng = np.random.default_rng(3)
    position = np.arange(200)
    cases = [
        (draw(rng, first, (200,)), draw(rng, second, (200,)), draw(rng, third, (200,)), position)
        for first, second, third in [
            ("int8", "float32", "bool"),
            ("float64", "float16", "int32"),
            ("complex64", "bool", "f4"),
        ]
    ]
    check_compiled(lambda *xs: lax.sort(xs, 0, num_keys=num_keys)[-1], cases)


# The greatest and the least elements


def bits(x):
    return lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}") if x.dtype.kind == "f" else x


@pytest.mark.parametrize("function", [lax.top_k, lax.approx_min_k])
def test_choosing_compiles_to_what_it_evaluates_to(function, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of("biuf") for shape in SHAPES]

    def chosen(x):
        results = [function(x, k) for k in range(x.shape[-1] + 1)]
        return [out for values, indices in results for out in (bits(values), indices)]

    check_compiled(chosen, cases)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_axis_stays_where_it_is(axis, check_compiled):
    x = np.random.default_rng(1).integers(0, 9, (3, 4, 2)).astype(np.float32)
    check_compiled(lambda x: lax.top_k(x, 2, axis=axis), [(x,)])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_short_floats_are_chosen_as_they_are_evaluated(dtype, check_compiled):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="it comes with jaxlib")
    x = np.array([0.0, -0.0, 1.5, np.nan, -1.5, 1.5, -np.nan]).astype(getattr(ml_dtypes, dtype))

    def chosen(x):
        values, indices = lax.top_k(x, 7)
        return lax.convert_element_type(values, np.float32), indices  # conversions may change the sign of NaN

    check_compiled(chosen, [(x,)])
