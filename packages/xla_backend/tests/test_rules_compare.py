"""Lowering of comparisons, logic, shifts and choices against their evaluation."""

import numpy as np
import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [((), ()), ((0,), (0,)), ((2, 3), ()), ((), (2, 3)), ((0, 2), ()), ((), (1,)), ((60,), (60,))]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
BINARY = {
    **dict.fromkeys(["eq", "ne"], "biufc"),
    **dict.fromkeys(["lt", "le", "gt", "ge"], "biuf"),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], "biu"),
}
SHIFTS = ["shift_left", "shift_right_logical", "shift_right_arithmetic"]


def draw(rng, dtype, shape):
    """Return few different numbers, the extreme ones among them, so that equal ones meet."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.max, 0, 1, 2, 5], dtype), shape)
    return rng.choice(np.array([0, 1] if kind == "b" else SPECIAL[:4] if kind == "c" else SPECIAL, dtype), shape)


@pytest.mark.parametrize("name", BINARY)
def test_comparisons_and_logic_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, d, x), draw(rng, d, y)) for d in dtypes_of(BINARY[name]) for x, y in SHAPES]
    check_compiled(getattr(lax, name), cases)


def test_not_compiles_to_what_it_evaluates_to(regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(1)
    check_compiled(lax.bitwise_not, [(draw(rng, d, shape),) for d in dtypes_of("biu") for shape, _ in SHAPES])


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_by_any_number_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(2)
    cases = []
    for dtype in dtypes_of("iu"):
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 70, dtype, endpoint=True)
        beyond = np.array([-1, -8, 63, 64, 65, 127]).astype(dtype)  # negative and over-long, at each width
        places = np.resize(np.concatenate([np.arange(34).astype(dtype), beyond]), 70)
        cases += [(x, places), (x, places[3]), (x[0], places), (x[:0], places[0]), (x[1], places[1])]
    check_compiled(getattr(lax, name), cases)


def test_select_n_of_bools_compiles_to_what_it_evaluates_to(regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(3)
    cases = [
        (rng.integers(0, 2, which).astype(bool), draw(rng, dtype, x), draw(rng, dtype, y))
        for dtype in dtypes_of("biufc")
        for which, x, y in [
            ((2, 3), (2, 3), (2, 3)),
            ((), (2, 3), ()),
            ((2, 3), (), ()),
            ((), (), ()),
            ((0,), (), (0,)),
        ]
    ]
    check_compiled(lax.select_n, cases)
    check_compiled(lax.select, cases)


@pytest.mark.parametrize("n_cases", [1, 2, 3, 5])
def test_select_n_by_number_chooses_the_nearest_case_beyond_the_last(n_cases, dtypes_of, check_compiled):
    rng = np.random.default_rng(4)
    which = np.arange(-2, 8, dtype=np.int32)
    cases = [(which, *[draw(rng, dtype, which.shape) for _ in range(n_cases)]) for dtype in dtypes_of("biufc")]
    cases += [(which.astype(np.int64) * 2**40, *cases[0][1:])] if np.dtype("int64") in dtypes_of("i") else []
    cases += [
        (number, *[draw(rng, "float32", shape) for _ in range(n_cases)]) for number in which for shape in [(), (3,)]
    ]
    cases += [(which, *[draw(rng, "float32", ()) for _ in range(n_cases)])]
    check_compiled(lax.select_n, cases)


def test_select_n_with_one_case_takes_its_shape_from_either(check_compiled):
    check_compiled(lax.select_n, [(np.array([True, False]), np.float32(2)), (np.True_, np.arange(3.0))])


def test_clamp_propagates_nan_and_prefers_the_upper_bound(regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(5)
    shapes = [((), (2, 3), ()), ((2, 3), (2, 3), (2, 3)), ((4,), (), ()), ((), (), ()), ((), (0,), ()), ((60,),) * 3]
    cases = [tuple(draw(rng, dtype, s) for s in three) for dtype in dtypes_of("biufc") for three in shapes]
    check_compiled(lax.clamp, cases)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_extremes_of_complex_numbers_are_numpys_at_infinities_and_nan(dtype, check_compiled):
    parts = [-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan]
    z = np.array([complex(real, imag) for real in parts for imag in parts], dtype)
    x, y = (each.ravel() for each in np.meshgrid(z, z))
    check_compiled(lambda x, y: [lax.max(x, y), lax.min(x, y), lax.clamp(y[::-1], x, y)], [(x, y)])
    rows = x.reshape(-1, 4)
    check_compiled(
        lambda x: [f(x, 1) for f in (lax.reduce_max, lax.argmin, lax.argmax, lax.cummin)], [(rows,), (z[None],)]
    )
