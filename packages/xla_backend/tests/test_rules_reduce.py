"""Lowering of reductions against their evaluation."""

import numpy as np
import pytest

from calque_core import lax
from calque_core.ops.reductions.reduce import reduce_sum_p

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES_AND_AXES = [
    ((), ()),
    ((5,), (0,)),
    ((2, 3), (0,)),
    ((2, 3), (1,)),
    ((2, 3), (0, 1)),
    ((2, 3, 4), (0, 2)),
    ((0,), (0,)),
    ((0, 3), (0,)),
    ((0, 3), (1,)),
    ((1, 3), (0,)),
    ((7, 40), (1,)),
]
KINDS = {"reduce_max": "biufc", "reduce_min": "biufc", "reduce_and": "biu", "reduce_or": "biu"}


def draw(rng, dtype, shape):
    """Return numbers with ties and extreme values; of floats, also infinities, and NaN in one row of the long ones."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.max, 0, 1, 7, 8], dtype), shape)
    x = rng.choice(np.array([0, 1] if kind == "b" else [-np.inf, -2, 0.5, 1, 3], dtype), shape)
    if kind == "c":
        x.imag = rng.choice([-np.inf, -2, 0.5], shape)
    if kind in "fc" and x.ndim == 2 and x.shape[1] > 5:
        x[1, [3, 5]] = np.nan
    return x


@pytest.mark.parametrize("name", KINDS)
def test_reductions_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    for axes in sorted({axes for _, axes in SHAPES_AND_AXES}):
        shapes = [shape for shape, its_axes in SHAPES_AND_AXES if its_axes == axes]
        cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of(KINDS[name]) for shape in shapes]
        check_compiled(lambda x, axes=axes: getattr(lax, name)(x, axes), cases)
        check_compiled(lambda x, axes=axes: getattr(lax, name)(x, axes, keepdims=True), cases[:3])


@pytest.mark.parametrize("axes", sorted({axes for _, axes in SHAPES_AND_AXES}))
def test_reduce_sum_compiles_to_what_it_evaluates_to(axes, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(1)
    shapes = [shape for shape, its_axes in SHAPES_AND_AXES if its_axes == axes]
    integers = [(draw(rng, dtype, shape),) for dtype in dtypes_of("iu") for shape in shapes]
    check_compiled(lambda x: lax.reduce_sum(x, axes), integers)
    positive = [(rng.uniform(0.5, 2, shape).astype(dtype),) for dtype in dtypes_of("fc") for shape in shapes]
    check_compiled(lambda x: lax.reduce_sum(x, axes), positive, ulps=4)
    check_compiled(lambda x: lax.reduce_sum(x, axes, keepdims=True), positive, ulps=4)


def test_sums_of_infinities_and_nan(dtypes_of, check_compiled):
    rows = [[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1.0]]
    check_compiled(lambda x: lax.reduce_sum(x, 1), [(np.array(rows, dtype),) for dtype in dtypes_of("f")])


def test_half_precision_is_summed_in_single(check_compiled):
    check_compiled(lax.reduce_sum, [(np.ones(5000, np.float16),), (np.full(3000, 0.1, np.float16),)])


def test_a_reduction_over_no_axes_is_the_identity(check_compiled):
    check_compiled(lambda x: reduce_sum_p.bind(x, axes=()), [(np.arange(6.0).reshape(2, 3),)])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_those_of_the_first_extreme_element_or_nan(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(2)
    for axis in (0, 1):
        shapes = [(1, 1), (2, 3), (3, 5), (7, 40)] + ([(3, 0)] if axis == 0 else [(0, 3)])
        cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of("biufc") for shape in shapes]
        check_compiled(lambda x, axis=axis: getattr(lax, name)(x, axis), cases)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_among_ties_infinities_and_nan(name, dtypes_of, check_compiled):
    rows = [
        [-np.inf, -np.inf],
        [np.inf, np.inf],
        [np.nan, np.nan],
        [1.0, np.nan],
        [np.nan, np.inf],
        [-np.inf, np.nan],
        [0.0, -0.0],
        [-0.0, 0.0],
    ]
    cases = [(np.array(row, dtype),) for dtype in dtypes_of("f") for row in rows]
    check_compiled(lambda x: getattr(lax, name)(x, 0), cases)
    long = np.zeros(1000, np.float32)
    long[[400, 700]] = 1, np.nan
    check_compiled(
        lambda x: getattr(lax, name)(x, 0), [(long,), (-long,), (np.nan_to_num(long),), (np.full(999, np.nan),)]
    )


@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int32", "uint64"])
def test_positions_have_the_requested_dtype(index_dtype, check_compiled):
    x = np.array([[3, 1, 2], [1, 9, 9]], np.int16)
    check_compiled(lambda x: [lax.argmax(x, a, index_dtype) for a in (0, 1)], [(x,)])
