"""Loops under `interpret`, beside the tests of `jit` and `cond` in test_table_interpreter.py."""

import numpy as np
import pytest

from calque_core import check_jaxpr, eval_jaxpr, interpret, lax, make_jaxpr
from calque_core.lax import fori_loop, scan, while_loop

SWAP = {lax.sin_p: lax.cos}
XS = np.array([0.5, 1.0, 1.5])


def scanned(fun, reverse=False):
    return lambda c, xs: scan(lambda c, x: (fun(c) + x, fun(x)), c, xs, reverse=reverse)


def looped(fun):
    return lambda n, x: while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, fun(s[1])), (0, x))[1]


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


def ends(x):
    return (x.low, x.high) if isinstance(x, Interval) else (x, x)


INTERVALS = {
    lax.add_p: lambda x, y: Interval(ends(x)[0] + ends(y)[0], ends(x)[1] + ends(y)[1]),
    lax.lt_p: lambda x, y: ends(x)[1] < ends(y)[0],
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_the_steps_of_a_scan_are_interpreted(reverse, length):
    jaxpr = make_jaxpr(scanned(lax.sin, reverse))(1.0, XS[:length])
    carry, ys = interpret(jaxpr, SWAP, 1.0, XS[:length])
    want_carry, want_ys = scanned(lax.cos, reverse)(1.0, XS[:length])
    assert carry == want_carry
    assert (ys.dtype, ys.tolist()) == (want_ys.dtype, want_ys.tolist())


def test_the_body_and_the_condition_of_a_while_are_interpreted():
    jaxpr = make_jaxpr(looped(lax.sin))(3, 1.0)
    assert interpret(jaxpr, SWAP, 3, 1.0) == [np.cos(np.cos(np.cos(1.0)))]
    assert interpret(jaxpr, SWAP | {lax.lt_p: lambda i, n: i < n - 1}, 3, 1.0) == [np.cos(np.cos(1.0))]


def test_loops_stay_loops_while_values_are_traced():
    scale = np.full(3, 2.0)[:1].reshape(())
    rules = {lax.sin_p: lambda x: lax.cos(x) * scale}
    for fun, args, name in ((scanned(lax.sin), (1.0, XS), "scan"), (looped(lax.sin), (3, 1.0), "while")):
        jaxpr = make_jaxpr(fun)(*args)
        traced = make_jaxpr(lambda *xs, jaxpr=jaxpr: interpret(jaxpr, rules, *xs))(*args)
        check_jaxpr(traced)
        assert [eqn.primitive.name for eqn in traced.eqns].count(name) == 1
        assert "sin" not in str(traced)
        for x, y in zip(eval_jaxpr(traced, traced.consts, *args), interpret(jaxpr, rules, *args), strict=True):
            assert np.array_equal(x, y)


def test_a_rule_that_brings_an_array_into_a_traced_loop_makes_it_an_operand():
    offset = np.arange(3.0)
    offset.flags.writeable = False
    jaxpr = make_jaxpr(lambda c: scan(lambda c, _: (lax.sin(c), c), c, None, length=2))(XS)
    traced = make_jaxpr(lambda c: interpret(jaxpr, {lax.sin_p: lambda x: x + offset}, c))(XS)
    check_jaxpr(traced)
    [eqn] = traced.eqns
    assert (eqn.params["num_consts"], eqn.params["jaxpr"].consts) == (1, ())
    assert eval_jaxpr(traced, traced.consts, XS)[0].tolist() == (XS + 2 * offset).tolist()


def test_carries_may_be_of_any_kind():
    jaxpr = make_jaxpr(lambda c, x: scan(lambda c, _: (c + x, None), c, None, length=3)[0])(0.0, 0.0)
    (out,) = interpret(jaxpr, INTERVALS | {lax.convert_element_type_p: lambda x, **_: x}, Interval(0, 1), 2)
    assert ends(out) == (6, 7)
    jaxpr = make_jaxpr(lambda n, x: while_loop(lambda x: x < n, lambda x: x + 3.0, x))(0.0, np.float64(0))
    (out,) = interpret(jaxpr, INTERVALS, 10.0, Interval(0, 1))
    assert ends(out) == (9.0, 10.0)


def test_a_counted_loop_is_interpreted_step_by_step():
    jaxpr = make_jaxpr(lambda x: fori_loop(0, 3, lambda i, x: lax.sin(x), x))(1.0)
    assert interpret(jaxpr, SWAP, 1.0) == [np.cos(np.cos(np.cos(1.0)))]


def test_a_result_that_cannot_be_stacked_is_refused():
    jaxpr = make_jaxpr(lambda xs: scan(lambda c, x: (c, x + 1.0), 0.0, xs))(XS)
    expected = r"met 'scan' with a result of class Interval, which cannot be stacked\. Give a rule for scan_p\."
    with pytest.raises(TypeError, match=expected):
        interpret(jaxpr, INTERVALS, XS)


def test_a_condition_that_decides_nothing_is_refused():
    jaxpr = make_jaxpr(lambda x: while_loop(lambda x: x < 3.0, lambda x: x + 1.0, x))(np.float64(0))
    expected = (
        r"interpret met 'while' with a condition of class str, which has no truth value\. "
        r"Give a rule for while_p\."
    )
    with pytest.raises(TypeError, match=expected):
        interpret(jaxpr, {lax.lt_p: lambda x, y: "maybe"}, 0.0)


@pytest.mark.parametrize("name", ["scan", "while"])
def test_rules_that_change_the_type_of_a_traced_carry_are_refused(name):
    fun, args = (scanned(lax.sin), (1.0, XS)) if name == "scan" else (looped(lax.sin), (3, 1.0))
    jaxpr = make_jaxpr(fun)(*args)
    rules = {lax.sin_p: lambda x: x > 0, lax.add_p: lambda x, y: x}
    expected = (
        rf"interpret of {name} at test_table_int.* changes the type of the carry\[.\] from float64\[\] to bool\[\]"
    )
    with pytest.raises(TypeError, match=expected):
        make_jaxpr(lambda *xs: interpret(jaxpr, rules, *xs))(*args)


HALVES = np.full(3, 0.5, np.float32)
SCALES = {
    "scan": lambda c: scan(lambda c, x: (lax.mul(c, x), None), c, HALVES)[0],
    "while": lambda c: while_loop(lambda c: lax.lt(c, HALVES[0]), lambda c: lax.mul(c, HALVES[0]), c),
}


@pytest.mark.parametrize("name", SCALES)
def test_a_carry_has_one_type_on_values_as_under_a_trace(name):
    start = np.float32(0.25)
    jaxpr = make_jaxpr(SCALES[name])(start)
    wide = lambda c: interpret(jaxpr, {lax.mul_p: lambda x, y: np.float64(2)}, c)
    weak = lambda c: interpret(jaxpr, {lax.mul_p: lambda x, y: 2}, c)
    expected = (
        rf"interpret of {name} at test_table_interpreter_loops\.py.* changes the type of the carry\[0\] from float32"
    )
    for wrap in (lambda f: f, lambda f: lambda c: eval_jaxpr(traced := make_jaxpr(f)(c), traced.consts, c)):
        with pytest.raises(TypeError, match=expected):
            wrap(wide)(start)
        assert [(x.dtype, x.item()) for x in wrap(weak)(start)] == [("float32", 2.0)]
