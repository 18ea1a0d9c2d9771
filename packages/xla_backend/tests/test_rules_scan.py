"""Lowering of scans against their evaluation."""

import numpy as np
import pytest

import calque_xla_backend as backend
from calque_core import eval_jaxpr, float0, lax, make_jaxpr
from calque_core.ops.calls.scan import scan_p
from calque_core.staging.stage import stage
from calque_core.types.avals import ShapedArray, typeof
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module

pytestmark = pytest.mark.sampled(keep=0.1)

LENGTHS = (0, 1, 2, 3, 7)


def draw(rng, dtype, shape):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.integers(-8, 8, shape).astype(dtype)  # so small that no order of additions rounds


def running(reverse=False, unroll=1):
    """Return a program with two carries, of which the second counts, two inputs and three results."""

    def program(init, xs, ys):
        def step(state, slices):
            total, count = state
            x, y = slices
            after = lax.select(x[0] > y, x, total)
            return (after, count + 1), (total, y, count)

        return lax.scan(step, (init, np.int32(0)), (xs, ys), reverse=reverse, unroll=unroll)

    return program


def test_scans_of_every_dtype_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, dtype, (2,)), draw(rng, dtype, (3, 2)), draw(rng, dtype, (3,))) for dtype in dtypes_of("biuf")]
    check_compiled(running(), cases)


@pytest.mark.parametrize("unroll", [1, 2, 3, 10])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_of_every_length_compile_to_what_they_evaluate_to(reverse, unroll, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, "i8", (2,)), draw(rng, "i8", (length, 2)), draw(rng, "i8", (length,))) for length in LENGTHS]
    check_compiled(running(reverse, unroll), cases)


@pytest.mark.parametrize("unroll", [1, 2])
def test_complex_and_zero_sized_slices(unroll, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(1)
    step = lambda c, x: (c + x, (c, x.sum(), c.sum(axis=0)))
    cases = [
        (draw(rng, dtype, shape), draw(rng, dtype, (length, *shape)))
        for dtype in dtypes_of("cf")
        for shape in [(0,), (3, 0), (2, 2)]
        for length in (0, 1, 4)
    ]
    check_compiled(lambda init, xs: lax.scan(step, init, xs, unroll=unroll), cases)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz"])
def test_narrow_dtypes_are_cut_and_stacked(dtype):
    xs = np.arange(6).reshape(3, 2).astype(dtype)
    program = lambda xs: lax.scan(lambda c, x: (x, c), xs[0], xs)
    (got, got_ys), (want, want_ys) = jit(program)(xs), program(xs)
    assert got.dtype == got_ys.dtype == xs.dtype
    assert np.asarray(got).tolist() == want.tolist()
    assert np.asarray(got_ys).tolist() == want_ys.tolist()


def test_float0_goes_round_and_is_stacked():
    jaxpr = make_jaxpr(lambda x, xs: lax.scan(lambda c, y: (c, (c, y)), x, xs))
    jaxpr = jaxpr(ShapedArray((), float0), ShapedArray((2, 3), float0))
    assert [a.dtype for a in jaxpr.out_avals] == [float0] * 3
    assert "tensor<2x3xi1>" in lower_jaxpr_to_module(jaxpr).as_text()


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("unroll", [1, 2])
def test_a_scan_without_carry_inputs_or_results(length, unroll):
    y = np.arange(3.0)
    only_results = lambda y: lax.scan(lambda c, _: (c, y * 2.0), None, None, length, unroll=unroll)
    only_carry = lambda y: lax.scan(lambda c, _: (c * y, None), y, None, length, unroll=unroll)
    only_inputs = lambda y: lax.scan(lambda c, x: (c, None), (), y, unroll=unroll)
    np.testing.assert_array_equal(jit(only_results)(y)[1], only_results(y)[1])
    np.testing.assert_array_equal(jit(only_carry)(y)[0], only_carry(y)[0])
    assert jit(only_inputs)(y) == ((), None)


def test_every_operand_that_is_a_scalar_literal():
    program = lambda n: lax.scan(lambda c, x: (c + 1, (c, 2.0, True)), 3, n)
    (got, got_ys), (want, want_ys) = jit(program)(np.arange(4)), program(np.arange(4))
    assert (got, typeof(got)) == (want, typeof(want))
    for x, y in zip(got_ys, want_ys, strict=True):
        np.testing.assert_array_equal(np.asarray(x), y)
        assert x.dtype == y.dtype


def test_carries_that_change_places_do_not_overwrite_one_another(check_compiled):
    def program(x, y, z):
        return lax.scan(lambda c, _: ((c[1], c[2], c[0] + c[1]), c), (x, y, z), None, 7)

    check_compiled(program, [(np.ones(3), np.full(3, 2.0), np.full(3, 5.0)), (np.int32(1), np.int32(2), np.int32(3))])


def test_one_input_scanned_twice_and_returned(check_compiled):
    def program(xs):
        last, ys = lax.scan(lambda c, x: (c + x[0] * x[1], x[0]), xs[0], (xs, xs))
        return last, ys, xs

    check_compiled(program, [(np.arange(4.0),), (np.arange(6).reshape(3, 2),)])


def test_a_scan_in_a_scan_over_both_axes(check_compiled):
    def program(xs):
        row = lambda total, x: lax.scan(lambda c, y: (c * 0.5 + y, c), total, x, reverse=True)
        return lax.scan(row, 0.0, xs)

    check_compiled(program, [(np.arange(12.0).reshape(3, 4),), (np.ones((0, 4)),), (np.ones((4, 0)),)], ulps=1)


def test_a_jit_in_the_body_is_one_function_of_the_module():
    double = jit(lambda x: x * 2.0)
    program = lambda xs: lax.scan(lambda c, x: (double(c), double(x)), xs[0], xs, unroll=3)
    module = lower_jaxpr_to_module(make_jaxpr(program)(np.ones(7))).as_text()
    assert module.count("func.func private") == 1
    np.testing.assert_array_equal(jit(program)(np.ones(7))[0], 2.0**7)


def test_large_constants_of_the_body_are_arguments_of_the_program():
    table = np.arange(1000.0)
    program = jit(lambda x: lax.scan(jit(lambda c, _: (c + table, None)), x, None, 4)[0])
    assert "1.000000e+00, 2.000000e+00" not in program.lower(np.ones(1000)).as_text()
    np.testing.assert_array_equal(program(np.ones(1000)), 1.0 + 4 * table)


# What is emitted


def text_of(fun, *args):
    return lower_jaxpr_to_module(make_jaxpr(fun)(*args)).as_text()


def test_only_the_counter_the_carry_and_the_results_go_round():
    w = np.ones((4, 4))
    program = lambda w, h, xs: lax.scan(lambda h, x: (lax.dot(w, h) + x, h.sum()), h, xs)
    text = text_of(program, w, w[0], np.ones((9, 4)))
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert loop.endswith(": tensor<i32>, tensor<4xf64>, tensor<9xf64>")


@pytest.mark.parametrize(
    ("length", "unroll", "loops", "bodies"),
    [(12, 1, 1, 1), (12, 5, 1, 7), (12, 4, 1, 4), (12, 12, 0, 12), (1, 1, 0, 1), (0, 1, 0, 0)],
)
def test_unrolled_and_remaining_steps(length, unroll, loops, bodies):
    text = text_of(lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length, unroll=unroll), 1.0)
    assert text.count("stablehlo.while") == loops
    assert text.count("stablehlo.sine") == bodies


@pytest.mark.parametrize(("length", "unroll", "updates"), [(8, 1, 1), (8, 4, 1), (10, 4, 2), (3, 4, 1), (8, 8, 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_round_of_steps_is_written_by_one_update_for_each_result(length, unroll, updates, reverse):
    """However many steps make a round; those left over after the last one are a round of their own."""
    args = np.zeros(2), np.zeros((length, 2)), np.zeros(length)
    text = text_of(running(reverse, unroll), *args)
    assert text.count("stablehlo.dynamic_update_slice") == 3 * updates


def test_more_steps_than_int32_counts():
    jaxpr = stage(lambda x: [lax.add(x, 1)], [ShapedArray((), np.int64)])
    bind = lambda x: scan_p.bind(x, jaxpr=jaxpr, length=2**31, num_carry=1, num_consts=0, reverse=False, unroll=1)
    assert "dense<2147483648> : tensor<i64>" in text_of(bind, np.int64(0))


# Around it


def test_on_device_arrays_a_scan_is_one_program():
    xs = backend.device_put(np.arange(4.0))
    last, ys = lax.scan(lambda c, x: (c + x, c), 0.0, xs)
    assert type(last) is type(ys) is backend.Array
    assert (float(last), ys.tolist()) == (6.0, [0.0, 0.0, 1.0, 3.0])


def test_map_and_associative_scan(check_compiled):
    cases = [(np.arange(n, dtype=dtype),) for n in (0, 1, 2, 5, 8) for dtype in ("int32", "float64")]
    check_compiled(lambda x: lax.map(lambda y: (y * y, y > 2), x), cases)
    check_compiled(lambda x: lax.associative_scan(lax.add, x), cases)
    check_compiled(lambda x: lax.associative_scan(lax.max, x, reverse=True), cases)


def test_a_fori_loop_of_a_static_count_is_a_scan(check_compiled):
    program = lambda x: lax.fori_loop(2, 7, lambda i, y: y * 2 + i, x)
    assert [eqn.primitive for eqn in make_jaxpr(program)(np.int64(1)).eqns] == [scan_p]
    check_compiled(program, [(np.int64(1),), (np.arange(3),)])


def test_the_compiled_program_means_what_its_jaxpr_means():
    program = running(reverse=True, unroll=2)
    args = np.zeros(2), np.arange(14.0).reshape(7, 2), np.arange(7.0)[::-1].copy()
    jaxpr = make_jaxpr(program)(*args)
    evaluated = eval_jaxpr(jaxpr, jaxpr.consts, *args)
    compiled = backend.jit(lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs))(*args)
    for got, want in zip(compiled, evaluated, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)
