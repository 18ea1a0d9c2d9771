"""The laws, over two types of one's own: numbers with a unit, and quantised weights.

A row is a program on such a value, and the same program on the array that the value stands for: `plain`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from own_values import (
    KILOGRAM,
    METRE,
    ONE,
    SECOND,
    Quantised,
    QuantisedType,
    Quantity,
    QuantityType,
    energy,
    layers,
    matmul,
    over,
    quantise,
    times,
)

import calque
import calque_core as core
from calque import grad, jit, jvp, lax, linearize, make_jaxpr, vjp, vmap
from calque_core import ShapedArray, eval_jaxpr, typeof

RNG = np.random.default_rng(0)
SPEED = over(METRE, SECOND)
MASS = Quantity(np.array([1.0, 2.0, 0.5]), KILOGRAM)
INPUT = RNG.normal(size=(2, 3)).astype(np.float32)


def speed(*shape):
    return Quantity(RNG.normal(size=(*shape, 3)) + 2.0, SPEED)


def weights(*shape):
    return Quantised(
        RNG.integers(-100, 100, size=(*shape, 3, 3)).astype(np.int8),
        RNG.uniform(0.005, 0.01, size=(*shape, 3)).astype(np.float32),
    )


class Row(NamedTuple):
    """A program `fun` of one own value, made by `make`; `plain` is the same on arrays."""

    name: str
    fun: Any
    plain: Any
    make: Any


def slow_down(v):
    return lax.while_loop(lambda c: np.sum(c[1].array) > 0.5, lambda c: (c[0] + 1, 0.5 * c[1]), (0, v))[1]


def slow_down_array(v):
    while v.sum() > 0.5:
        v = 0.5 * v
    return v


def faster(v):
    return lax.cond(v.array[0] > 2.0, lambda v: v + v, lambda v: v, v)


def distance(v):
    """Return a distance after some steps, and those before."""
    second = Quantity(0.1, SECOND)
    return lax.scan(lambda x, _: (x + v * second, x), Quantity(np.zeros(3), METRE), length=4)


def distance_array(v):
    steps = np.arange(4)[:, None] * 0.1 * v
    return 0.4 * v, steps


def stacked_momentum(v):
    return lax.scan(lambda total, m: (total + m * v, 2.0 * m), v * Quantity(0.0, KILOGRAM), MASSES)


def product_of(q):
    return INPUT @ q


MASSES = Quantity(np.ones((2, 3)), KILOGRAM)

ROWS = [
    Row("square", lambda v: v * v, lambda v: v * v, speed),
    Row("sum", lambda v: v + 2.0 * v, lambda v: 3.0 * v, speed),
    Row("energy", lambda v: energy(MASS, v), lambda v: np.sum(0.5 * MASS.array * v * v), speed),
    Row("array", lambda v: np.sin(v.array), np.sin, speed),
    Row("jit", jit(lambda v: (v, v * v)), lambda v: (v, v * v), speed),
    Row("cond", faster, lambda v: v + v if v[0] > 2.0 else v, speed),
    Row("while", slow_down, slow_down_array, speed),
    Row("scan, carry", distance, distance_array, speed),
    Row("scan, inputs", stacked_momentum, lambda v: (2.0 * v, 2.0 * np.ones((2, 3))), speed),
    Row("checkpoint", calque.checkpoint(lambda v: v * v), lambda v: v * v, speed),
    Row("product", lambda q: INPUT @ q, lambda w: INPUT @ w, weights),
    Row("two products", lambda q: lax.tanh(matmul(INPUT @ q, q)), lambda w: np.tanh(INPUT @ w @ w), weights),
    Row("jitted product", jit(lambda q: INPUT @ q), lambda w: INPUT @ w, weights),
    Row(
        "chosen", lambda q: lax.cond(True, lambda q: INPUT @ q, lambda q: -(INPUT @ q), q), lambda w: INPUT @ w, weights
    ),
]
SMOOTH = [row for row in ROWS if row.name != "while"]  # a while loop has no transpose
STACKS = [
    Row("layers", lambda q: layers(q, INPUT), lambda w: np.sum(np.tanh(np.tanh(INPUT @ w[0]) @ w[1])), weights),
]

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
smooth = pytest.mark.parametrize("row", SMOOTH, ids=lambda row: row.name)


def arrays_of(tree):
    """Return the arrays of all values in a tree, those of own values in order."""
    leaves = calque.tree.leaves(tree)
    return [np.asarray(a) for x in leaves for a in ([getattr(x, n) for n in own_names(x)] or [x])]


def own_names(x):
    aval = typeof(x)
    return list(aval.arrays()) if isinstance(aval, core.OwnType) else []


def types_of(tree):
    return [typeof(x).strip_weak_type() for x in calque.tree.leaves(tree)]


def assert_same(got, expected, rtol=1e-5, atol=1e-5):
    assert types_of(got) == types_of(expected)
    for a, b in zip(arrays_of(got), arrays_of(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def stack(values):
    """Return values of one type as one."""
    return calque.tree.map(lambda *xs: _stack(xs), *values)


def _stack(xs):
    names = own_names(xs[0])
    if not names:
        return np.stack(xs)
    arrays = {name: np.stack([getattr(x, name) for x in xs]) for name in names}
    return typeof(xs[0]).with_axis(len(xs)).make(**arrays)


def dense(x):
    """Return the array that a value stands for, in double precision."""
    return np.asarray(x.dense() if isinstance(x, Quantised) else x.array, np.float64)


def direction(x):
    """Return a tangent of a value: of its tangent type."""
    if isinstance(x, Quantised):
        return RNG.normal(size=x.shape).astype(np.float32)
    return Quantity(RNG.normal(size=np.shape(x.array)), x.unit)


def numbers(x):
    return np.asarray(x.array if isinstance(x, Quantity) else x, np.float64)


def inner(a, b):
    return sum(
        np.sum(numbers(x) * numbers(y)) for x, y in zip(calque.tree.leaves(a), calque.tree.leaves(b), strict=True)
    )


@rows
def test_stage(row):
    x = row.make()
    jaxpr = make_jaxpr(row.fun)(x)
    core.check_jaxpr(jaxpr)
    assert jaxpr.in_avals == [typeof(x)]

    outs = eval_jaxpr(jaxpr, jaxpr.consts, x)

    assert_same(outs, calque.tree.leaves(row.fun(x)), rtol=0, atol=0)
    assert calque.tree.leaves(core.eval_shape(row.fun, x)) == [as_type(aval) for aval in jaxpr.out_avals]


def as_type(aval):
    return aval if isinstance(aval, core.OwnType) else core.ShapeDtypeStruct(aval.shape, aval.dtype)


@rows
def test_the_value_is_that_of_the_arrays(row):
    x = row.make()
    for got, expected in zip(calque.tree.leaves(row.fun(x)), calque.tree.leaves(row.plain(dense(x))), strict=True):
        np.testing.assert_allclose(numbers(got), expected, rtol=1e-4, atol=1e-4)


@rows
def test_forward(row):
    x = row.make()
    v, step = direction(x), 1e-6
    out, out_dot = jvp(row.fun, (x,), (v,))
    ahead, behind = (row.plain(dense(x) + h * numbers(v)) for h in (step, -step))

    assert_same(out, row.fun(x))
    assert types_of(out_dot) == [aval.to_tangent_aval() for aval in types_of(out)]
    for got, a, b in zip(*map(calque.tree.leaves, (out_dot, ahead, behind)), strict=True):
        np.testing.assert_allclose(numbers(got), (a - b) / (2 * step), rtol=1e-3, atol=1e-3)


@smooth
def test_adjoint(row):
    x = row.make()
    v = direction(x)
    out, pull = vjp(row.fun, x)
    _, push = linearize(row.fun, x)
    u = calque.tree.map(direction_of_result, out)

    (x_bar,) = pull(u)

    assert types_of(x_bar) == types_of(v)
    np.testing.assert_allclose(inner(u, push(v)), inner(x_bar, v), rtol=1e-4)
    assert_same(push(v), jvp(row.fun, (x,), (v,))[1])


def direction_of_result(y):
    if isinstance(y, Quantity):
        return Quantity(RNG.normal(size=np.shape(y.array)), y.unit)
    return RNG.normal(size=np.shape(y)).astype(typeof(y).dtype)[()]


@rows
@pytest.mark.parametrize("size", [3, 1])
def test_batch(row, size):
    xs = [row.make() for _ in range(size)]

    assert_same(vmap(row.fun)(stack(xs)), stack([row.fun(x) for x in xs]))


@rows
def test_batch_of_batches(row):
    xs = [[row.make() for _ in range(2)] for _ in range(3)]

    assert_same(vmap(vmap(row.fun))(stack(map(stack, xs))), stack([stack([row.fun(x) for x in line]) for line in xs]))


@rows
def test_compile(row):
    x = row.make()
    compiled = jit(lambda x: row.fun(x))

    assert_same(compiled(x), row.fun(x))
    assert_same(compiled(x), row.fun(x))
    assert compiled.cache_info() == (1, 1)


def test_a_program_is_compiled_once_for_equal_types_and_again_for_another_unit():
    square = jit(lambda v: v * v)
    for _ in range(2):
        square(speed())
    assert square.cache_info() == (1, 1)

    assert square(Quantity(np.ones(3), METRE)).unit == (0, 2, 0)
    assert square.cache_info() == (2, 2)
    assert square(speed()).unit == times(SPEED, SPEED)
    assert square.cache_info() == (2, 2)


def mean_energy(v):
    return energy(MASS, v)


def product(q):
    return np.sum(np.sin(INPUT @ q))


SCALARS = [(mean_energy, speed), (product, weights)]
scalars = pytest.mark.parametrize(("fun", "make"), SCALARS, ids=["energy", "product"])


@scalars
def test_every_pair_of_transformations(fun, make):
    x, xs = make(), stack([make() for _ in range(3)])
    gradient = grad(fun)
    both = gradient(x)
    batch = stack([gradient(typeof_item(xs, i)) for i in range(3)])
    v = direction(x)

    assert_same(jit(gradient)(x), both)
    assert_same(grad(jit(fun))(x), both)
    assert_same(jit(jit(gradient))(x), both)
    assert_same(jit(lambda x: jit(fun)(x))(x), fun(x))
    assert_same(vmap(gradient)(xs), batch)
    assert_same(vmap(jit(gradient))(xs), batch)
    assert_same(jit(vmap(gradient))(xs), batch)
    assert_same(grad(lambda xs: total(vmap(fun)(xs)))(xs), batch)
    assert_same(jit(grad(lambda xs: total(vmap(jit(fun))(xs))))(xs), batch)
    assert_same(jit(lambda x, v: jvp(fun, (x,), (v,)))(x, v), jvp(jit(fun), (x,), (v,)))
    assert_same(lax.map(gradient, xs), batch)
    assert_same(jit(lambda xs: lax.map(gradient, xs))(xs), batch)
    assert_same(grad(lambda xs: total(lax.map(fun, xs)))(xs), batch)
    assert_same(lax.cond(True, gradient, lambda x: gradient(x), x), both)
    assert_same(grad(lambda x: lax.cond(True, fun, fun, x))(x), both)
    assert_same(grad(calque.checkpoint(fun))(x), both)


def typeof_item(xs, i):
    aval = typeof(xs).without_axis()
    return aval.make(**{name: getattr(xs, name)[i] for name in aval.arrays()})


def total(y):
    return y.sum() if isinstance(y, Quantity) else np.sum(y)


def test_the_derivative_of_a_derivative():
    v, t = speed(), Quantity(RNG.normal(size=3), SPEED)
    gradient = grad(mean_energy)

    _, change = jvp(gradient, (v,), (t,))

    assert_same(change, Quantity(MASS.array * t.array, times(KILOGRAM, SPEED)))
    assert_same(jit(lambda v, t: jvp(gradient, (v,), (t,))[1])(v, t), change)


@pytest.mark.parametrize("row", STACKS, ids=lambda row: row.name)
def test_a_stack_of_layers_is_the_input_of_a_scan(row):
    q = row.make(2)
    gradient = grad(row.fun)(q)
    step = 1e-5
    t = RNG.normal(size=q.shape)
    ahead, behind = (row.plain(dense(q) + h * t) for h in (step, -step))

    np.testing.assert_allclose(row.fun(q), row.plain(dense(q)), rtol=1e-5)
    np.testing.assert_allclose(np.sum(gradient * t), (ahead - behind) / (2 * step), rtol=1e-3)
    assert typeof(gradient) == ShapedArray((2, 3, 3), np.float32)
    assert_same(jit(grad(row.fun))(q), gradient)
    assert_same(vmap(grad(row.fun))(stack([q, q])), np.stack([gradient, gradient]))


def test_a_gradient_has_the_unit_of_the_quotient():
    v = speed()

    assert grad(energy, 1)(MASS, v).unit == times(KILOGRAM, SPEED)  # of an energy by a speed: a momentum
    assert grad(energy, 0)(MASS, v).unit == times(SPEED, SPEED)
    assert grad(lambda v: np.sum(v.array))(v).unit == over(ONE, SPEED)
    assert jit(grad(energy, 1))(MASS, v).unit == times(KILOGRAM, SPEED)


def test_training_passes_straight_through_the_quantisation():
    w, x = RNG.normal(size=(3, 4)).astype(np.float32), INPUT
    loss = lambda w: np.sum(np.square(x @ quantise(w)))

    gradient = grad(loss)(w)

    q = quantise(w)
    np.testing.assert_allclose(gradient, 2 * x.T @ (x @ q.dense()), rtol=1e-4)
    assert_same(jit(grad(loss))(w), gradient)
    assert_same(vmap(grad(loss))(np.stack([w, w])), np.stack([gradient, gradient]))
    assert_same(grad(lambda ws: np.sum(vmap(loss)(ws)))(np.stack([w, w])), np.stack([gradient, gradient]))
    assert_same(jit(quantise)(w), q)


def test_constants_of_own_types_in_programs():
    q, v = weights(), speed()
    expected = INPUT @ q

    assert_same(jit(lambda x: x @ q)(INPUT), expected)
    assert_same(grad(lambda x: np.sum(x @ q))(INPUT), np.ones((2, 3), np.float32) @ q.dense().T)
    assert_same(jit(lambda m: m * v)(MASS), MASS * v)
    assert_same(vmap(lambda x: x[None] @ q)(INPUT), expected[:, None])


def test_a_captured_value_keeps_its_numbers():
    v = speed()
    program = make_jaxpr(lambda m: m * v)(MASS)
    expected = MASS * Quantity(v.array.copy(), v.unit)
    v.array[:] = 0.0

    (out,) = eval_jaxpr(program, program.consts, MASS)

    assert_same(out, expected)


def test_a_mapped_condition_chooses_for_each_value():
    vs = stack([speed(), speed()])
    choose = lambda v, up: lax.cond(up, lambda v: v + v, lambda v: v, v)
    doubled = np.array([True, False])

    out = vmap(choose)(vs, doubled)

    assert_same(out, Quantity(vs.array * np.array([[2.0], [1.0]]), SPEED))
    weight_batch = stack([weights(), weights()])
    kept = vmap(lambda q, keep: lax.cond(keep, lambda q: q, lambda q: Quantised(-q.values, q.scale), q))
    assert_same(kept(weight_batch, doubled).values, weight_batch.values * np.array([1, -1], np.int8)[:, None, None])


def test_branches_and_loops_of_other_units_are_refused():
    v = speed()
    with pytest.raises(
        TypeError, match=r"must have equal types.*quantity\[3\]\(m\^2 s\^-2\).*quantity\[3\]\(m s\^-1\)"
    ):
        lax.cond(True, lambda v: v * v, lambda v: v, v)
    with pytest.raises(TypeError, match=r"changes the type of the carry from quantity\[3\]\(m s\^-1\) to quantity"):
        lax.scan(lambda c, _: (c * v, None), v, length=2)
    with pytest.raises(TypeError, match=r"m s\^-1 and kg cannot be added"):
        jit(lambda v: v + MASS)(v)


def test_a_program_says_the_types():
    text = str(make_jaxpr(lambda v, q: (v * v, INPUT @ q))(speed(), weights()))

    assert "b:quantity[3](m s^-1) c:quantised[3,3]. let" in text
    assert "quantity[3](m^2 s^-2) = raise" in text


def test_jacobians_by_values_whose_tangents_are_an_array():
    q = weights()

    jacobian = calque.jacrev(lambda q: INPUT @ q)(q)

    np.testing.assert_allclose(jacobian, np.einsum("in,mk->imnk", INPUT, np.eye(3, dtype=np.float32)), rtol=1e-6)
    with pytest.raises(TypeError, match=r"jacrev of .* got a value of type quantity.* Use vjp or jvp"):
        calque.jacrev(lambda v: v.array)(speed())
    with pytest.raises(TypeError, match=r"jacfwd of .* got a value of type quantised.* Use vjp or jvp"):
        calque.jacfwd(lambda q: INPUT @ q)(q)


def test_values_are_printed_from_programs(capsys):
    core.debug.print("{v}", v=Quantity(np.ones(1), METRE))
    jit(lambda v: core.debug.print("{v}", v=v))(Quantity(np.ones(1), METRE))
    core.effects_barrier()

    assert capsys.readouterr().out.splitlines() == ["Quantity(array=array([1.]), unit=(0, 1, 0))"] * 2


def test_types_of_the_two_kinds():
    assert typeof(weights(2)) is QuantisedType((2, 3, 3))
    assert typeof(speed()) is QuantityType((3,), "float64", SPEED)
    assert typeof(Quantity(2.0, METRE)).shape == ()
