"""Derivatives of values of own types: with tangents of the same type, and with tangents of another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calque_autodiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    defjvp,
    grad,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from calque_core import (
    OwnType,
    Primitive,
    ShapedArray,
    Zero,
    check_jaxpr,
    float0,
    lax,
    make_jaxpr,
    register_aval,
    typeof,
)


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`."""

    low: Any
    high: Any

    def __mul__(self, factor):
        return Interval(self.low * factor, self.high * factor)

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    @property
    def width(self):
        return self.high - self.low


@dataclass(frozen=True)
class IntervalType(OwnType):
    """The type of intervals, whose tangents are intervals."""

    shape: tuple

    @classmethod
    def of(cls, x):
        return cls(np.shape(x.low))

    def arrays(self):
        return dict.fromkeys(("low", "high"), ShapedArray(self.shape, np.float64))


register_aval(Interval, IntervalType)


@dataclass(frozen=True)
class Rounded:
    """Numbers in steps of 1/8: their tangents are floats."""

    steps: Any


@dataclass(frozen=True)
class RoundedType(OwnType):
    """The type of rounded numbers."""

    shape: tuple

    @classmethod
    def of(cls, x):
        return cls(np.shape(x.steps))

    def arrays(self):
        return {"steps": ShapedArray(self.shape, np.int32)}

    def to_tangent_aval(self):
        return ShapedArray(self.shape, np.float64)


register_aval(Rounded, RoundedType)

value_p = Primitive("value_of_rounded")
value_p.def_abstract_eval(lambda x: ShapedArray(x.shape, np.float64))
value_p.def_rule("decomposition", lambda x: x.steps.astype(np.float64) / 8.0)
defjvp(value_p, lambda x_dot, out, x: x_dot)


@dataclass(frozen=True)
class Label:
    """An integer with a name: it has no tangent."""

    number: Any


class LabelType(OwnType):
    """The type of labels."""

    @classmethod
    def of(cls, x):
        return cls()

    def arrays(self):
        return {"number": ShapedArray((), np.int64)}

    def to_tangent_aval(self):
        return ShapedArray((), float0)


register_aval(Label, LabelType)

X = Interval(np.array([1.0, 2.0]), np.array([3.0, 7.0]))
T = Interval(np.array([0.5, -1.0]), np.array([1.0, 2.0]))
ONES = Interval(np.ones((3, 2)), np.ones((3, 2)))
ROUNDED = Rounded(np.array([8, 20], np.int32))


def cubes(x):
    return Interval(x.low * x.low * x.low, lax.sin(x.high))


def area(x):
    return np.sum(x.width * x.width * x.low)


def same(x, y, **how):
    np.testing.assert_allclose(x.low, y.low, **how)
    np.testing.assert_allclose(x.high, y.high, **how)


def along(fun, step):
    return fun(Interval(X.low + step * T.low, X.high + step * T.high))


def test_tangents_of_values_are_values():
    out, out_dot = jvp(cubes, (X,), (T,))

    same(out, cubes(X))
    ahead, behind = along(cubes, 1e-6), along(cubes, -1e-6)
    same(out_dot, Interval((ahead.low - behind.low) / 2e-6, (ahead.high - behind.high) / 2e-6), rtol=1e-6)
    same(linearize(cubes, X)[1](T), out_dot)


def test_cotangents_are_the_transposed_tangents():
    _, pull = vjp(cubes, X)
    u = Interval(np.array([2.0, 3.0]), np.array([-1.0, 0.5]))
    (bar,) = pull(u)
    dot = jvp(cubes, (X,), (T,))[1]

    inner = lambda a, b: np.sum(a.low * b.low) + np.sum(a.high * b.high)
    np.testing.assert_allclose(inner(u, dot), inner(bar, T), rtol=1e-12)


@pytest.mark.parametrize("transform", [lambda f: f, checkpoint], ids=["plain", "checkpoint"])
def test_a_gradient_is_a_value(transform):
    value, gradient = value_and_grad(transform(area))(X)

    assert typeof(gradient) is typeof(X)
    assert value == area(X)
    change = (along(area, 1e-6) - along(area, -1e-6)) / 2e-6
    np.testing.assert_allclose(np.sum(gradient.low * T.low) + np.sum(gradient.high * T.high), change, rtol=1e-6)


def test_a_staged_gradient_keeps_the_types():
    program = make_jaxpr(grad(area))(X)

    check_jaxpr(program)
    assert program.out_avals == [IntervalType((2,))]


def test_second_derivatives():
    change = jvp(grad(area), (X,), (T,))[1]
    ahead, behind = along(grad(area), 1e-5), along(grad(area), -1e-5)

    same(change, Interval((ahead.low - behind.low) / 2e-5, (ahead.high - behind.high) / 2e-5), rtol=1e-6)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: lax.cond(x.low[0] > 0.0, cubes, lambda x: x, x).width[1],
        lambda x: lax.scan(lambda c, _: (c * 1.5 + x, None), x, length=3)[0].width[0],
        lambda x: np.sum(lax.scan(lambda c, y: (c + y, c), x, ONES)[1].width),
        lambda x: lax.scan(lambda c, y: (c + y.width, y), 0.0, Interval(x.low * 2.0, x.high))[0],
    ],
    ids=["cond", "carry", "results", "inputs"],
)
def test_loops_and_branches(fun):
    gradient = grad(fun)(X)

    change = (along(fun, 1e-6) - along(fun, -1e-6)) / 2e-6
    np.testing.assert_allclose(np.sum(gradient.low * T.low) + np.sum(gradient.high * T.high), change, rtol=1e-6)


def test_a_while_loop_has_tangents_forward():
    double = lambda x: lax.while_loop(lambda c: c.high[0] < 9.0, lambda c: c * 2.0, x)

    same(jvp(double, (X,), (T,))[1], T * 4.0)


def test_tangents_of_another_type():
    loss = lambda x: np.sum(lax.square(value_p.bind(x)))

    gradient = grad(loss)(ROUNDED)

    np.testing.assert_allclose(gradient, 2.0 * np.array([1.0, 2.5]))
    np.testing.assert_allclose(jvp(loss, (ROUNDED,), (np.array([1.0, 0.0]),))[1], 2.0)
    np.testing.assert_allclose(grad(lambda x: loss(lax.cond(True, lambda x: x, lambda x: x, x)))(ROUNDED), gradient)


def test_arrays_of_such_a_value_have_no_derivative():
    with pytest.raises(TypeError, match=r"the arrays of rounded\[2\] have no derivative of their own: its"):
        grad(lambda x: np.sum(x.steps * 0.5))(ROUNDED)


def test_rules_of_functions_on_both_types():
    @custom_jvp
    def rounded(x):
        return Rounded(lax.round(x * 8.0).astype(np.int32))

    rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))
    loss = lambda x: np.sum(lax.square(value_p.bind(rounded(x))))

    np.testing.assert_allclose(grad(loss)(np.array([1.01, 2.49])), [2.0, 5.0])

    @custom_vjp
    def tripled(x):
        return x * 3.0

    tripled.defvjp(lambda x: (tripled(x), None), lambda _, ct: (ct * 30.0,))
    same(grad(lambda x: tripled(x).width[0])(X), Interval(np.array([-30.0, 0.0]), np.array([30.0, 0.0])))


def test_a_rule_that_gives_another_tangent_is_named():
    wrong = custom_jvp(lambda x: x * 3.0)
    wrong.defjvp(lambda primals, tangents: (primals[0] * 3.0, tangents[0].low))

    with pytest.raises(TypeError, match=r"returned a tangent of float64\[2\] for the output, which is interval\[2\]"):
        jvp(wrong, (X,), (T,))


def test_types_without_tangents():
    fun = lambda x, label: np.sum(x) * label.number
    x, label = np.ones(2), Label(np.int64(3))

    np.testing.assert_allclose(grad(fun)(x, label), [3.0, 3.0])
    assert vjp(fun, x, label)[1](1.0)[1].dtype == float0
    with pytest.raises(TypeError, match=r"grad of .*: label is label\[\], which has no derivative\. Close over it"):
        grad(fun, 1)(x, label)
    assert grad(fun, 1, allow_int=True)(x, label).dtype == float0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jvp(cubes, (X,), (X.low,)),
            r"the leaf \[0\] of the tangents is float64\[2\], but interval\[2\]",
        ),
        (lambda: vjp(area, X)[1](X), r"the cotangent is interval\[2\], but float64\[\] is needed"),
        (lambda: grad(cubes)(X), r"needs a scalar output, but the function returned interval\[2\]"),
        (lambda: vjp(cubes, X)[1](1.0), r"the cotangent is ~?float64\[\], but interval\[2\] is needed"),
    ],
    ids=["jvp", "vjp", "grad", "pull"],
)
def test_other_types_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_value_that_is_constant_has_a_zero():
    _, dots = jvp(lambda x: (x, X), (1.0,), (2.0,))

    same(dots[1], X * 0.0)
    assert Zero(IntervalType((2,))).shape == (2,)


def test_results_share_no_memory_with_primals():
    x = Interval(np.ones(2), np.ones(2))
    out, out_dot = jvp(lambda x: x, (x,), (x,))
    (bar,) = vjp(lambda x: x, x)[1](x)

    for value in (out, out_dot, bar):
        value.low[:] = 5.0
        value.high[:] = 5.0
    same(x, Interval(np.ones(2), np.ones(2)))


def test_a_derivative_keeps_the_numbers_of_its_primal():
    x = Interval(np.ones(2), np.full(2, 3.0))
    _, push = linearize(cubes, x)
    x.low[:] = 100.0

    same(push(T), jvp(cubes, (Interval(np.ones(2), np.full(2, 3.0)),), (T,))[1])
