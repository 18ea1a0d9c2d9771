"""Values of own types at the edge of compiled programs: a program takes and gives their arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calque_core import (
    MissingRuleError,
    OwnType,
    Primitive,
    ShapedArray,
    config,
    lax,
    make_jaxpr,
    register_aval,
    typeof,
)
from calque_core.engine import advance_rule_epoch
from calque_xla_backend import Array, block_until_ready, device_get, device_put, devices, export, jit, pmap


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`."""

    low: Any
    high: Any

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, factor):
        return Interval(self.low * factor, self.high * factor)

    @property
    def width(self):
        return self.high - self.low


@dataclass(frozen=True)
class IntervalType(OwnType):
    """The type of intervals, closed or not."""

    shape: tuple

    @classmethod
    def of(cls, x):
        return cls(np.shape(x.low))

    def arrays(self):
        return dict.fromkeys(("low", "high"), ShapedArray(self.shape, np.float64))


register_aval(Interval, IntervalType)

hull_p = Primitive("hull")
hull_p.def_abstract_eval(lambda x, y: x)
hull_p.def_rule("decomposition", lambda x, y: Interval(np.minimum(x.low, y.low), np.maximum(x.high, y.high)))

opaque_p = Primitive("opaque")
opaque_p.def_abstract_eval(lambda x: x)
opaque_p.def_impl(lambda x: x)


def interval(start=0.0, n=3):
    low = np.arange(n) + start
    return Interval(low, low + 2.0)


def same(x, y):
    np.testing.assert_array_equal(x.low, y.low)
    np.testing.assert_array_equal(x.high, y.high)


def test_arguments_and_results_are_values_with_device_arrays():
    out = jit(lambda x: x + x)(interval())

    assert type(out) is Interval
    assert type(out.low) is Array
    same(out, interval() + interval())
    same(jit(lambda x: x * 2.0)(out), out * 2.0)
    same(jit(lambda x: {"a": x, "b": [x.width]})(interval())["a"], interval())
    same(jit(lambda a, b: Interval(a, b))(interval().low, interval().high), interval())


def test_there_is_one_program_for_each_type():
    double = jit(lambda x: x * 2.0)
    for x in (interval(), interval(1.0), device_put(interval())):
        same(double(x), x * 2.0)
    assert double.cache_info() == (1, 1)

    double(interval(n=5))
    assert double.cache_info() == (2, 2)


CAPTURED = interval(5.0)
PROGRAMS = {
    "primitive": lambda x: hull_p.bind(x, x * 2.0),
    "constant": lambda x: hull_p.bind(x, CAPTURED),
    "scan": lambda x: lax.scan(lambda c, _: (c + x, c), x, length=3),
    "inputs": lambda x: lax.scan(lambda c, y: (c + y, c.width), x, Interval(np.ones((2, 3)), np.ones((2, 3)))),
    "cond": lambda x: lax.cond(x.low[0] > 1.0, lambda x: x, lambda x: hull_p.bind(x, CAPTURED), x),
    "while": lambda x: lax.while_loop(lambda c: c.high[0] < 9.0, lambda c: c * 2.0, x),
    "jit": lambda x: jit(lambda y: y * 3.0)(x).width,
    "inside": lambda x: Interval(x.low, x.high).width,
    "weak": lambda x: Interval(0.0, 1.0),
    "untouched": lambda x: x,
}


@pytest.mark.parametrize("fun", PROGRAMS.values(), ids=PROGRAMS)
def test_compiled_programs_give_what_evaluation_gives(fun):
    x = interval()
    got, expected = jit(fun)(x), fun(x)

    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert typeof(a).dtype == typeof(b).dtype
        np.testing.assert_allclose(a, b)


def leaves(x):
    if isinstance(x, (tuple, list)):
        return [a for item in x for a in leaves(item)]
    return [x.low, x.high] if isinstance(x, Interval) else [x]


def test_a_program_with_such_a_constant_alone_takes_the_fast_path():
    add = jit(lambda y: y + CAPTURED.low + hull_p.bind(CAPTURED, CAPTURED).width)

    np.testing.assert_array_equal(add(np.ones(3)), 1.0 + CAPTURED.low + 2.0)
    assert add.cache_info() == (1, 1)


def test_a_function_of_arrays_is_traced_once_beside_own_types():
    traces = []
    add = jit(lambda x: traces.append(x) or advance_rule_epoch() or x + 1.0)

    assert [float(add(np.float64(1.0))) for _ in range(3)] == [2.0] * 3
    assert len(traces) == 3  # as a rule was replaced in each


def test_a_function_of_arrays_that_returns_a_value_is_traced_once():
    traces = []
    make = jit(lambda x: traces.append(x) or Interval(x, x + 1.0))

    for _ in range(3):
        same(make(np.zeros(2)), Interval(np.zeros(2), np.ones(2)))
    assert len(traces) == 1
    assert make.cache_info() == (1, 1)


def test_an_equation_of_jit_is_evaluated_by_its_compiler():
    program = make_jaxpr(jit(lambda x: x * 2.0))(interval())

    assert [eqn.primitive.name for eqn in program.eqns] == ["jit"]
    assert program.eqns[0].invars[0].aval is IntervalType((3,))


def test_a_primitive_without_a_decomposition_is_named():
    with pytest.raises(MissingRuleError, match=r"'opaque' at test_own_values.* has an operand or a result"):
        jit(opaque_p.bind)(interval())


def test_a_value_that_is_not_as_its_type_says_is_refused():
    with pytest.raises(TypeError, match=r"the array high of a value of type interval\[3\].* is float32\[3\]"):
        jit(lambda x: x)(Interval(np.ones(3), np.ones(3, np.float32)))


def test_stored_programs_take_arrays():
    double = jit(lambda x: x * 2.0)

    assert double.eval_shape(interval()) is IntervalType((3,))
    assert double.trace(interval()).jaxpr.in_avals == [IntervalType((3,))]
    with pytest.raises(TypeError, match=r"takes or gives values of own types, and a program that is compiled ahead"):
        export(double)(interval())
    with pytest.raises(TypeError, match=r"no array"):
        pmap(lambda x: x)(interval(n=1))


def test_a_program_ahead_of_time_takes_the_arrays_of_values():
    x = interval()
    lowered = jit(lambda x, y: (x * 2.0, y), donate_argnums=0).lower(x, 1.0)
    compiled = lowered.compile()

    assert [(str(info.aval), info.donated) for info in lowered.args_info[0]] == [
        ("interval[3]", True), ("~float64[]", False),
    ]  # fmt: skip
    assert len(compiled.input_shardings[0]) == len(compiled.output_shardings) == 2
    for _ in range(2):  # the second call compares less
        same(compiled(device_put(x), 2.0)[0], x * 2.0)
    with pytest.raises(TypeError, match=r"x is interval\[5\] instead of interval\[3\]"):
        compiled(interval(n=5), 1.0)


def test_donated_values_give_their_memory():
    x = device_put(interval())
    double = jit(lambda x: x * 2.0, donate_argnums=0)

    same(double(x), interval() * 2.0)
    assert x.low.is_deleted()


def test_values_move_to_devices_and_back():
    x = device_put(interval(), devices()[0])

    assert type(x.low) is Array
    assert block_until_ready(x) is x
    assert type(device_get(x).high) is np.ndarray
    same(device_get(x), interval())


def test_narrow_settings_and_debugging():
    with config.enable_x64(False):
        assert jit(lambda x: x * 2.0)(interval()).low.dtype == np.float32
    with config.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        jit(lambda x: Interval(np.log(x.low - 1.0), x.high))(interval())
    with config.disable_jit(True):
        same(jit(lambda x: x * 2.0)(interval()), interval() * 2.0)


def test_loops_of_values_with_device_arrays():
    start, xs = device_put(interval()), device_put(Interval(np.ones((4, 3)), np.full((4, 3), 2.0)))

    total, before = lax.scan(lambda total, x: (total + x, total), start, xs)
    doubled = lax.while_loop(lambda x: x.high[0] < 7.0, lambda x: x * 2.0, start)
    with config.enable_checks(True):
        counted = lax.fori_loop(0, 3, lambda _, x: x + x, start)

    same(total, Interval(interval().low + 4.0, interval().high + 8.0))
    same(Interval(before.low[1], before.high[1]), interval() + Interval(np.ones(3), np.full(3, 2.0)))
    same(doubled, interval() * 4.0)
    same(counted, interval() * 8.0)
    assert {type(x) for value in (total, before, doubled, counted) for x in (value.low, value.high)} == {Array}


def test_a_loop_of_values_with_device_arrays_is_one_program_and_takes_steps_with_numpys():
    evaluated = []
    twice_p = Primitive("twice")
    twice_p.def_abstract_eval(lambda x: x)
    twice_p.def_impl(lambda x: evaluated.append(type(x.low)) or x + x)
    twice_p.def_rule("decomposition", lambda x: x + x)
    loops = [
        lambda x: lax.scan(lambda x, _: (twice_p.bind(x), None), x, length=3)[0],
        lambda x: lax.while_loop(lambda x: x.high[0] < 16.0, twice_p.bind, x),
    ]

    for loop in loops:
        same(loop(device_put(interval())), interval() * 8.0)
    assert evaluated == []
    for loop in loops:
        same(loop(interval()), interval() * 8.0)
    assert evaluated == [np.ndarray] * 6


def test_a_loop_over_an_authors_primitive_without_arrays_takes_steps():
    out, _ = lax.scan(lambda x, _: (opaque_p.bind(x), None), device_put(interval()), length=3)

    same(out, interval())
