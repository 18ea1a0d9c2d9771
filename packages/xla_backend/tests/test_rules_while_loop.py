"""Lowering of `while` loops against their evaluation."""

import numpy as np
import pytest

import calque_xla_backend as backend
from calque_core import lax, make_jaxpr
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.while_loop import while_p
from calque_core.primitives.primitive import Primitive
from calque_core.staging.stage import stage
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module


def test_loops_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    def program(x, limit):
        return lax.while_loop(
            lambda s: s[0] < limit, lambda s: (s[0] + 1, s[1] + s[1], ~s[2]), (np.int32(0), x, np.True_)
        )

    cases = [(np.arange(3).astype(dtype), np.int32(limit)) for dtype in dtypes_of("iufc") for limit in (-1, 0, 1, 5)]
    check_compiled(program, cases)


def test_loops_over_bools_and_scalars_of_every_dtype(regime, dtypes_of, check_compiled):
    program = lambda x: lax.while_loop(lambda x: x < 50, lambda x: x + x, x)
    check_compiled(program, [(np.ones((), dtype),) for dtype in dtypes_of("iuf")])
    check_compiled(lambda x: lax.while_loop(lambda x: x, lambda x: ~x, x), [(np.True_,), (np.False_,)])


def test_condition_and_body_close_over_values_around_them(check_compiled):
    table = np.arange(400.0)

    def program(x, y, n):
        z = x * y
        return lax.while_loop(lambda c: c.sum() < n + z[0], lambda c: c + y + table, x)

    check_compiled(program, [(np.ones(400), np.full(400, 2.0), np.float64(n)) for n in (0, 1e5, 1e6)])


def test_condition_and_body_close_over_the_same_value(check_compiled):
    program = lambda x, y: lax.while_loop(lambda c: c < y, lambda c: c * y, x)
    check_compiled(program, [(np.float64(0.1), np.float64(3.0)), (np.int64(1), np.int64(7))])


def test_carries_that_change_places_do_not_overwrite_one_another(check_compiled):
    def program(a, b):
        return lax.while_loop(lambda s: s[1] > 0, lambda s: (s[1], lax.rem(s[0], s[1])), (a, b))

    check_compiled(program, [(np.int64(a), np.int64(b)) for a, b in [(48, 36), (17, 5), (0, 3), (5, 0)]])


def test_a_loop_that_never_runs_returns_its_start(check_compiled):
    check_compiled(lambda x: lax.while_loop(lambda x: False, lambda x: x * 2, x), [(np.arange(3),), (np.float32(1),)])


def test_loops_in_the_condition_and_in_the_body(check_compiled):
    def program(n):
        count = lambda m: lax.while_loop(lambda s: s[0] < m, lambda s: (s[0] + 1, s[1] + s[0]), (0, 0))[1]
        evened = lambda c: lax.while_loop(lambda d: d < c, lambda d: d + 2, 0)
        return lax.while_loop(lambda c: count(c) < n, lambda c: c + 1 + evened(c), 0)

    check_compiled(program, [(n,) for n in (0, 1, 10, 1000)])


def test_a_loop_of_a_dynamic_count_is_a_while(check_compiled):
    program = lambda low, high, x: lax.fori_loop(low, high, lambda i, y: y * 2 + i, x)
    assert [eqn.primitive for eqn in make_jaxpr(program)(0, 3, 1).eqns][-1] is while_p
    check_compiled(program, [(np.int32(low), np.int32(high), np.int64(1)) for low, high in [(0, 3), (3, 0), (-2, 2)]])


def test_a_loop_without_carry_has_no_results():
    no = stage(lambda: [lax.lt(1.0, 0.0)], [], verb="test")
    nothing = Jaxpr((), (), (), ())
    options = {"batched": "select", "checkpoints": 16}
    bind = lambda: while_p.bind(body_jaxpr=nothing, body_nconsts=0, cond_jaxpr=no, cond_nconsts=0, **options)
    assert jit(bind)() == bind() == []


def test_only_the_carry_goes_round():
    w = np.ones((4, 4))
    program = lambda w, x, n: lax.while_loop(lambda x: x.sum() < n, lambda x: lax.dot(w, x), x)
    text = lower_jaxpr_to_module(make_jaxpr(program)(w, w[0], 9.0)).as_text()
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert loop.endswith(": tensor<4xf64>")


def carried_types(program, *args):
    text = lower_jaxpr_to_module(make_jaxpr(program)(*args)).as_text()
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    return loop.rpartition(" : ")[2].split(", ")


def test_the_flags_of_running_elements_are_carried_as_bytes(check_compiled):
    def program(x):
        step = lambda s: (s[0] & (s[1] < 1.0), lax.select(s[0], s[1] * 3.0, s[1]))
        return lax.while_loop(lambda s: lax.reduce_or(s[0]), step, (x < 1.0, x))

    assert carried_types(program, np.ones(4)) == ["tensor<4xui8>", "tensor<4xf64>"]
    check_compiled(program, [(np.array([0.1, 2.0, 0.3, 0.5]),), (np.full(4, 2.0),)])


def test_other_bools_are_carried_as_they_are(check_compiled):
    """A conversion at each step would read the whole array for the element that changes."""

    def sieve(flags):
        clear = lambda s: (s[0] + 1, lax.dynamic_update_index_in_dim(s[1], False, s[0], 0))
        return lax.while_loop(lambda s: s[0] < 3, clear, (0, flags))[1]

    def bits(x):
        shift = lambda x: lax.shift_right_logical(x, np.int64(1))
        return lax.while_loop(lambda x: lax.reduce_or(x) != 0, shift, x)

    assert carried_types(sieve, np.ones(4, bool)) == ["tensor<i64>", "tensor<4xi1>"]
    assert carried_types(bits, np.arange(4)) == ["tensor<4xi64>"]
    check_compiled(sieve, [(np.ones(4, bool),)])
    check_compiled(bits, [(np.array([0, 1, 2, 300]),)])


def test_on_device_arrays_a_loop_is_one_program():
    x = backend.device_put(np.float64(1.0))
    out = lax.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, x)
    assert type(out) is backend.Array
    assert float(out) == 16.0


def test_a_missing_lowering_rule_in_a_body_is_named_with_its_place():
    lost_p = Primitive("lost")
    lost_p.def_abstract_eval(lambda x_aval: x_aval)
    program = jit(lambda x: lax.while_loop(lambda x: x < 1.0, lambda x: lost_p.bind(x), x))
    with pytest.raises(NotImplementedError, match="lost") as info:
        program(0.0)
    assert any("This happened in lowering 'lost', bound at" in note for note in info.value.__notes__)
