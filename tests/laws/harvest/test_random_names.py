"""Random programs with names, under every transformation: the values are those of the program by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from named_programs import SHAPE, by_hand, parts, program
from program import Program, numbers
from transformations import QUICKLY, TRANSFORMATIONS, batch_of, check_stack

from calque_autodiff import grad, value_and_grad
from calque_batching import vmap
from calque_core import make_jaxpr
from calque_harvest import call_and_reap, harvest, plant, reap
from calque_xla_backend import jit as compile_with

jit = partial(compile_with, compiler_options=QUICKLY)
drawn = settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
X = np.random.default_rng(0).uniform(-1.0, 1.0, SHAPE)
N = 3


def assert_same(got, expected, exactly=False):
    assert list(got) == list(expected)
    for name, value in expected.items():
        assert (np.shape(got[name]), np.asarray(got[name]).dtype) == (np.shape(value), np.asarray(value).dtype), name
        np.testing.assert_allclose(got[name], value, rtol=0.0 if exactly else 1e-12, atol=1e-14, err_msg=name)


def result_or_refusal(planted, plants):
    try:
        return planted(plants, X, N), ""
    except (NotImplementedError, ValueError) as error:
        return None, str(error)


def loss(f):
    return lambda x, n: (f(x, n) ** 2).sum()


@drawn
@given(parts)
def test_names_give_the_values_of_the_program_by_hand(is_drawn, chosen):
    if not is_drawn(chosen, 0.04):
        return
    f = program(chosen)
    out, values = by_hand(chosen, X, N)
    np.testing.assert_array_equal(f(X, N), program(chosen, lambda x, **_: x)(X, N))
    reaped = call_and_reap(f)(X, N)
    np.testing.assert_allclose(reaped[0], out, rtol=1e-13)
    assert_same(reaped[1], values)
    for harvested in (jit(reap(f)), reap(jit(f))):
        assert_same(harvested(X, N), values)


@drawn
@given(parts)
def test_derivatives_give_the_values_once(is_drawn, chosen):
    if not is_drawn(chosen, 0.04):
        return
    f, plain = loss(program(chosen)), loss(program(chosen, lambda x, **_: x))
    values = by_hand(chosen, X, N)[1]
    slope = grad(plain)(X, N)
    np.testing.assert_allclose(grad(f)(X, N), slope, rtol=1e-13)
    for inside in (value_and_grad(f), jit(value_and_grad(f)), value_and_grad(jit(f))):
        (_, got), reaps = call_and_reap(inside)(X, N)
        np.testing.assert_allclose(got, slope, rtol=1e-9, atol=1e-14)
        assert_same(reaps, values)


@drawn
@given(parts)
def test_a_batch_has_the_values_of_its_elements(is_drawn, chosen):
    if not is_drawn(chosen, 0.04):
        return
    f, xs = program(chosen), np.stack([X, -X, 2.0 * X])
    values = [by_hand(chosen, x, N)[1] for x in xs]
    stacked = {name: np.stack([v[name] for v in values]) for name in values[0]}
    assert_same(vmap(reap(f), (0, None))(xs, N), stacked)
    inner = reap(vmap(f, (0, None)))(xs, N)
    assert list(inner) == list(stacked)
    for name, value in inner.items():
        one = values[0][name]
        if np.shape(value) == np.shape(one):  # it depends on no element
            value = np.broadcast_to(value, (3, *np.shape(one)))
        elif one.ndim == 3:  # the rows of the steps are in front of the batch
            value = np.moveaxis(value, 1, 0)
        np.testing.assert_allclose(value, stacked[name], rtol=1e-12, atol=1e-14)


@drawn
@given(parts)
def test_planting_the_values_changes_nothing(is_drawn, chosen):
    if not is_drawn(chosen, 0.04):
        return
    f = program(chosen)
    out, values = call_and_reap(f)(X, N)
    last = {f"part{k}/" for k, (kind, _) in enumerate(chosen) if kind in ("scan, last", "while")}
    kept = {name: value for name, value in values.items() if not name.startswith(tuple(last) or ("-",))}
    again, reaps = harvest(f)(kept, X, N)
    np.testing.assert_array_equal(again, out)
    assert_same(reaps, {name: value for name, value in values.items() if name not in kept}, exactly=True)
    np.testing.assert_allclose(jit(plant(f))(kept, X, N), out, rtol=1e-12)


@drawn
@given(parts, st.integers(0, 9))
def test_a_planted_value_is_a_constant_inside_and_outside(is_drawn, chosen, which):
    if not is_drawn((chosen, which), 0.04):
        return
    f = loss(program(chosen))
    values = reap(f)(X, N)
    if not values:
        return
    name = sorted(values)[which % len(values)]
    planted = {name: np.cos(values[name])}
    expected = grad(lambda x: plant(f)(planted, x, N))(X)
    step = 1e-6 * np.cos(np.arange(6.0)).reshape(SHAPE)
    difference = plant(f)(planted, X + step, N) - plant(f)(planted, X - step, N)
    np.testing.assert_allclose(2.0 * (expected * step).sum(), difference, rtol=1e-5, atol=1e-12)
    for inside in (grad(f), jit(grad(f)), grad(jit(f))):
        got, refusal = result_or_refusal(plant(inside), planted)
        if refusal:
            assert "Differentiate the planted function" in refusal
            assert "scan" in chosen[int(name[4])][0]
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-14)


@drawn
@given(parts, st.lists(st.sampled_from(sorted(TRANSFORMATIONS)), min_size=1, max_size=2))
def test_harvests_under_random_stacks(is_drawn, chosen, stack):
    if not is_drawn((chosen, stack), 0.03):
        return
    f = program(chosen)
    named = Program("named", lambda x: call_and_reap(f)(x, N), (numbers(SHAPE, -1.0, 1.0),), ulps=64)
    check_stack(named.example("float64"), stack, batch_of(named, "float64", stack.count("vmap")))


@pytest.mark.parametrize("wrap", [lambda f: jit(reap(f)), lambda f: reap(jit(f)), lambda f: jit(reap(grad(loss(f))))])
def test_one_trace_serves_all_calls(wrap):
    traces = []
    inner = program([("scan", [("sin", True)]), ("jit", [("tanh", True)])])

    def f(x, n):
        traces.append(n)
        return inner(x, n)

    harvested = wrap(f)
    first = harvested(X, N)
    for _ in range(3):
        again = harvested(X + 0.0, N)
    assert len(traces) == 1
    assert_same(again, {name: np.asarray(value) for name, value in first.items()}, exactly=True)


def test_the_staged_derivative_computes_nothing_twice():
    f = loss(program([("plain", [("sin", True), ("tanh", True)])]))
    plain = loss(program([("plain", [("sin", True), ("tanh", True)])], lambda x, **_: x))
    names = [[eqn.primitive.name for eqn in make_jaxpr(grad(g))(X, N).eqns] for g in (f, plain)]
    assert [name for name in names[0] if not name.startswith(("site", "sow"))] == names[1]
    assert [eqn.primitive.name for eqn in make_jaxpr(reap(grad(f)))(X, N).eqns if "so" in eqn.primitive.name] == []
