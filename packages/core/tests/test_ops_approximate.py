"""Formulas become code after some runs: the same numbers, in every shape, for scalars, in blocks of large arrays."""

import numpy as np
import pytest

from calque_core import ShapeError, config, lax, make_jaxpr
from calque_core.known import table
from calque_core.ops import approximate


def halved(x):
    """Return x, divided by 2 until it is below 1, if it is greater: by a branch and a loop for whole arrays."""
    is_great = lambda y: lax.gt(lax.abs(y), 1.0)
    halve = lambda y: lax.select(is_great(y), lax.mul(y, 0.5), y)
    loop = lambda y: lax.while_loop(lambda y: lax.reduce_or(is_great(y)), halve, y)
    finite = lax.select(lax.lt(lax.abs(x), np.inf), x, lax.zeros_like(x))
    return lax.cond(lax.reduce_or(is_great(finite)), loop, lambda y: y, finite)


halved_p = approximate.declare_formula("halved", halved)
logarithm_p = approximate.declare_formula("logarithm_above", lambda x: lax.select(lax.gt(x, 0.0), lax.log(x), x))
slopes_p = approximate.declare_formula("slopes", lambda x, y: lax.div(lax.sub(x, y), lax.add(lax.mul(x, y), 64.0)))

FORMULAS = {
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lax.erf_inv,
    "logarithm": logarithm_p.bind,
    "slopes": lambda x: slopes_p.bind(x, np.asarray(2.0, np.asarray(x).dtype)[()]),
    "halved": halved_p.bind,
}
SHAPES = [(5,), (0,), (1,), (2, 3), (), (9001,), (3, 4001)]
RUNS = 40


def numbers(shape, dtype):
    x = np.random.default_rng(3).uniform(-3.0, 12.0, shape).astype(dtype)
    return x if shape else x[()]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_later_runs_give_the_numbers_of_the_first_run(name, dtype):
    table.forget_known_operations()
    f = FORMULAS[name]
    first = [f(numbers(shape, dtype)) for shape in SHAPES]
    for shape in [(5,), (2, 3), (), (9001,)]:
        for _ in range(RUNS if shape != (9001,) else 26):
            f(numbers(shape, dtype))
    x = numbers((2, 3), dtype)
    later = [f(numbers(shape, dtype)) for shape in SHAPES]
    for y, z in zip(first, later, strict=True):
        assert type(z) is type(y)
        assert (z.dtype, z.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(z, y)
    np.testing.assert_array_equal(f(x.T), f(x).T)  # not contiguous


SPECIAL = [0.0, -0.0, 1.0, 2.0, 3.0, -1.0, -2.5, 8.0, 1e-320, 1e300, -1e300, np.inf, -np.inf, np.nan, 0.5, 171.5]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_few_numbers_and_many_give_the_same_bits(name):
    f = FORMULAS[name]
    x = np.array([*SPECIAL, *numbers((100,), "float64"), *np.arange(-4.0, 20.0)])
    for _ in range(RUNS):
        f(x)
        f(x[:3])
        f(x[0])
    many = f(x)
    np.testing.assert_array_equal([f(x[i : i + 4]) for i in range(0, x.size, 4)], many.reshape(-1, 4))
    ones = np.array([f(v) for v in x])
    np.testing.assert_array_equal(ones, many)
    np.testing.assert_array_equal(np.signbit(ones[ones == 0]), np.signbit(many[many == 0]))


@pytest.mark.parametrize("name", ["erf_inv", "slopes"])
def test_a_few_doubles_run_on_floats_of_python(name, monkeypatch):
    f = FORMULAS[name]
    for _ in range(RUNS):
        f(np.full(3, 0.25))
        f(np.full(3, 0.25, np.float32))
    met = []
    run = approximate.on_numbers
    monkeypatch.setattr(approximate, "on_numbers", lambda *args: met.append(args[1][0].dtype) or run(*args))
    f(np.full(3, 0.25))
    f(np.full(3, 0.25, np.float32))
    f(np.full(100, 0.25))
    assert met == [np.float64]


def test_the_code_of_a_formula_without_branches_is_one_for_all_shapes():
    table.forget_known_operations()
    for f in (lax.erf_inv, halved_p.bind):
        for n in range(4, 4 + RUNS):
            f(numbers((n,), "float64"))
            f(numbers((n,), "float64"))  # the plan of a shape that is met again is kept
            f(numbers((4,), "float64"))
    made = [(key[0], plan) for key, plan in approximate._codes.known.items() if type(plan) is approximate._Code]
    erf_inv = [plan for primitive, plan in made if primitive is lax.erf_inv_p]
    branching = [plan for primitive, plan in made if primitive is halved_p]
    assert len(erf_inv) > RUNS // 2
    assert len(set(erf_inv)) == 1
    assert 1 <= len(set(branching)) == len(branching) <= 2
    assert erf_inv[0].is_by_element
    assert not branching[0].is_by_element


def test_a_formula_with_branches_runs_in_evaluation_also_while_a_program_is_traced():
    x = abs(numbers((4,), "float64"))
    want = halved_p.bind(x)
    traced = []
    for _ in range(RUNS):
        program = make_jaxpr(lambda y: traced.append(halved_p.impl(x)) or y)(1.0)
        assert program.eqns == ()
    for out in traced:
        np.testing.assert_array_equal(out, want)


def test_a_write_to_a_result_changes_neither_the_argument_nor_later_results():
    x = numbers((4,), "float64")
    kept = x.copy()
    for _ in range(RUNS):
        y = lax.erf(x)
        want = y.copy()
        y[:] = 7.0
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(lax.erf(x), want)


def test_code_reports_no_warning_and_the_result_alone_is_checked_for_nan():
    x = np.array([0.5, -2.0, np.inf])
    for _ in range(RUNS):
        np.testing.assert_array_equal(logarithm_p.bind(x), [np.log(0.5), -2.0, np.inf])
    with config.debug_nans(True):
        assert logarithm_p.bind(x)[1] == -2.0  # the logarithm of -2 is nan
        with pytest.raises(FloatingPointError, match="erf_inv"):
            lax.erf_inv(x)


def test_operands_that_do_not_fit_are_refused_in_each_run():
    for _ in range(RUNS):
        with pytest.raises(ShapeError, match=r"float64\[2\]"):
            slopes_p.bind(np.ones(2), np.ones(3))


@pytest.mark.parametrize("enter", [lambda: config.enable_x64(False), lambda: config.default_dtype_bits(32)])
def test_settings_have_code_of_their_own(enter):
    x = numbers((4,), "float64")
    want = [lax.erfc(x), lax.erfc(x.astype(np.float32))]
    for _ in range(RUNS):
        lax.erfc(x)
    with enter():
        first = lax.erfc(x)
        later = [lax.erfc(x) for _ in range(RUNS)][-1]
    assert later.dtype == first.dtype
    np.testing.assert_array_equal(later, want[first.dtype == np.float32])
