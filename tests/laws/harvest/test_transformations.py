"""What derivatives, batches, compilation and meshes do with names: examples, and cotangents."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from named_programs import KINDS, SHAPE, parts, program

from calque_autodiff import checkpoint, custom_jvp, custom_root, custom_vjp, grad, linear_transpose, linearize
from calque_batching import vmap
from calque_core import (
    AbstractMesh,
    config,
    dce_jaxpr,
    io_callback,
    jaxpr_from_dict,
    jaxpr_to_dict,
    lax,
    make_jaxpr,
    shard_map,
)
from calque_core import PartitionSpec as P
from calque_harvest import call_and_reap, harvest, nest, plant, reap, sow, sow_cotangent, sow_p
from calque_jet import jet
from calque_xla_backend import jit

X, N = np.random.default_rng(1).uniform(-1.0, 1.0, SHAPE), 3


def wave(x):
    y = sow(np.sin(x), name="y")
    return y * y


# Derivatives of a harvest


def test_the_derivative_of_a_harvest_is_that_of_its_values():
    assert grad(lambda x: reap(wave)(x)["y"])(0.5) == np.cos(0.5)
    np.testing.assert_allclose(grad(grad(lambda x: reap(wave)(x)["y"]))(0.5), -np.sin(0.5))
    np.testing.assert_allclose(grad(lambda p: plant(wave)({"y": p}, 0.5))(3.0), 6.0)
    np.testing.assert_allclose(grad(lambda p: jit(plant(wave))({"y": p}, 0.5))(3.0), 6.0)
    assert reap(grad(grad(wave)))(0.5) == {"y": np.sin(0.5)}


def test_the_derivative_of_plants_of_a_scan_is_theirs_row_by_row():
    f = lambda x: lax.scan(lambda c, a: (sow(c * x, name="c", mode="append") + a, a * c), x, np.arange(3.0))
    total = lambda p: plant(f)({"c": p}, 2.0)[1].sum()
    rows = np.array([1.0, -2.0, 0.5])
    for derivative in (grad(total), jit(grad(total)), grad(jit(total))):
        differences = [(total(rows + e) - total(rows - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(derivative(rows), differences, rtol=1e-8)


def test_taylor_series_give_the_values_and_plants_are_constants():
    expand = lambda x: jet(wave, (x,), ([1.0, 0.0],))
    (value, terms), reaps = call_and_reap(expand)(0.5)
    assert reaps == {"y": np.sin(0.5)}
    np.testing.assert_allclose(value, np.sin(0.5) ** 2)
    np.testing.assert_allclose(terms, [np.sin(1.0), 2.0 * np.cos(1.0)])
    assert plant(expand)({"y": 3.0}, 0.5) == (9.0, [0.0, 0.0])


def test_linear_functions_pass_names():
    assert linear_transpose(lambda x: sow(x * 3.0, name="x"), 1.0)(2.0) == (6.0,)
    assert reap(lambda x: linearize(wave, x)[1](1.0))(0.5) == {"y": np.sin(0.5)}


# Cotangents


drawn = settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def with_both(value, *, name, mode):
    return sow_cotangent(sow(value, name=name, mode=mode), name=name, tag="bars", mode=mode)


@drawn
@given(parts)
def test_a_cotangent_is_the_derivative_by_the_planted_value(is_drawn, chosen):
    chosen = [(kind, body) for kind, body in chosen if KINDS[kind][0] == "strict" and kind != "custom_jvp"]
    if not chosen or not is_drawn(chosen, 0.05):
        return
    total = lambda x: (program(chosen, with_both)(x, N) ** 2).sum()
    values, bars = reap(total)(X), reap(grad(total), tag="bars")(X)
    for name, value in values.items():
        expected = grad(lambda v, name=name: plant(total)({name: v}, X))(value)
        if name in bars:
            np.testing.assert_allclose(bars[name], expected, rtol=1e-9, atol=1e-14)
        else:  # the loss does not depend on the value, or the value does not depend on the argument
            assert not expected.any() or np.array_equal(reap(total)(2.0 * X)[name], value)


def stepped(x):
    step = lambda c, a: (sow_cotangent(np.sin(c) * a * x, name="bar", mode="append"), None)
    return lax.scan(step, x, np.arange(1.0, 4.0))[0]


def test_a_loop_stacks_the_cotangents_of_its_steps():
    x, carries = 0.7, [0.7]
    for a in (1.0, 2.0, 3.0):
        carries.append(np.sin(carries[-1]) * a * x)
    bars = [1.0]
    for a, c in ((3.0, carries[2]), (2.0, carries[1])):
        bars.insert(0, bars[0] * a * x * np.cos(c))
    for derivative in (grad(stepped), jit(grad(stepped)), grad(jit(stepped)), grad(checkpoint(stepped))):
        np.testing.assert_allclose(reap(derivative)(x)["bar"], bars, rtol=1e-12)
    np.testing.assert_allclose(vmap(reap(grad(stepped)))(np.array([x, x]))["bar"], [bars, bars], rtol=1e-12)


def test_a_cotangent_may_be_planted():
    f = lambda x: sow_cotangent(x * x, name="bar") * 3.0
    assert harvest(grad(f))({"bar": 1.0}, 5.0) == (10.0, {})
    assert jit(plant(grad(f)))({"bar": 1.0}, 5.0) == 10.0


def test_a_pytree_has_the_cotangents_of_all_its_leaves():
    f = lambda x: sow_cotangent({"a": x * 2.0, "b": x * 3.0}, name="bar")["a"]
    assert call_and_reap(grad(f))(1.0) == (2.0, {"bar": {"a": 1.0, "b": 0.0}})


def test_the_last_cotangent_of_a_while_loop_is_that_of_its_first_step():
    def f(x):
        step = lambda c: (c[0] + 1, sow_cotangent(np.sin(c[1]) * x, name="bar", mode="clobber"))
        return lax.while_loop(lambda c: c[0] < 2, step, (0, x))[1]

    x = 0.7
    expected = np.cos(np.sin(x) * x) * x
    for derivative in (grad(f), jit(grad(f))):
        np.testing.assert_allclose(reap(derivative)(x)["bar"], expected, rtol=1e-12)


# Functions with derivative rules


@custom_jvp
def by_jvp(x):
    return sow(np.sin(x), name="s") * 2.0


by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), 7.0 * sow(tangents[0], name="dot")))


@custom_vjp
def by_vjp(x):
    return sow(np.sin(x), name="s") * 2.0


by_vjp.defvjp(lambda x: (by_vjp(x), x), lambda x, ct: (sow(ct * 7.0, name="bar"),))


@pytest.mark.parametrize(("f", "of_rule"), [(by_jvp, "dot"), (by_vjp, "bar")])
def test_a_rule_reports_what_it_runs(f, of_rule):
    for derivative in (grad(f), jit(grad(f)), grad(jit(f))):
        slope, reaps = call_and_reap(derivative)(0.5)
        assert slope == 7.0
        assert reaps["s"] == pytest.approx(np.sin(0.5), rel=1e-15)
        assert set(reaps) == ({"s", "bar"} if of_rule == "bar" else {"s"})  # reverse mode has no value of a tangent


@pytest.mark.parametrize("f", [by_jvp, by_vjp])
def test_the_result_keeps_its_rule_and_a_value_inside_its_operations(f):
    assert grad(lambda x: call_and_reap(f)(x)[0])(0.5) == 7.0
    assert grad(lambda x: reap(f)(x)["s"])(0.5) == np.cos(0.5)
    assert jit(grad(lambda x: reap(f)(x)["s"]))(0.5) == pytest.approx(np.cos(0.5), rel=1e-15)


@pytest.mark.parametrize("f", [by_jvp, by_vjp])
def test_a_plant_reaches_the_function(f):
    for planted in (plant(f), jit(plant(f)), plant(jit(f)), jit(plant(jit(f)))):
        assert planted({"s": 4.0}, 0.5) == 8.0
    assert grad(lambda x: plant(f)({"s": 4.0}, x))(0.5) == 7.0  # the rule says so


@pytest.mark.parametrize("f", [by_jvp, by_vjp])
def test_a_scope_reaches_the_rules(f):
    scoped = nest(f, scope="a")
    for derivative in (grad(scoped), jit(grad(scoped)), grad(nest(jit(f), scope="a")), nest(grad(f), scope="a")):
        reaps = reap(derivative)(0.5)
        assert "a/s" in reaps
        assert all(name.startswith("a/") for name in reaps)


def test_a_plant_inside_a_function_with_rules_has_no_derivative():
    for f in (by_jvp, by_vjp):
        with pytest.raises(NotImplementedError, match=r"the plants 's' inside of by_.* are being differentiated"):
            grad(lambda p, f=f: plant(f)({"s": p}, 0.5))(3.0)


def test_no_effect_happens_twice():
    @custom_jvp
    def noisy(x):
        io_callback(lambda y: None, None, x)
        return sow(np.sin(x), name="s")

    noisy.defjvp(lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))
    assert reap(noisy)(0.5) == {"s": np.sin(0.5)}
    with pytest.raises(NotImplementedError, match=r"noisy .* has the effect io, which would happen twice"):
        jit(reap(noisy))(0.5)


# Batches


def chosen_branch(x):
    return lax.cond(x > 0.0, lambda x: sow(np.sin(x), name="b"), lambda x: sow(x * x, name="b") * 2.0, x)


def counted(x):
    return lax.while_loop(lambda c: c < 9.0, lambda c: sow(c * 2.0, name="b", mode="clobber"), x)


@pytest.mark.parametrize("f", [chosen_branch, counted])
def test_elements_that_take_their_own_path_are_harvested_one_by_one(f):
    xs = np.array([1.0, -2.0, 5.0]) if f is chosen_branch else np.array([1.0, 3.0, 10.0])
    expected = [call_and_reap(f)(x) for x in xs]
    outs, reaps = vmap(call_and_reap(f))(xs)
    np.testing.assert_array_equal(outs, [out for out, _ in expected])
    np.testing.assert_array_equal(reaps["b"], [values["b"] for _, values in expected])
    np.testing.assert_array_equal(vmap(f)(xs), outs)
    np.testing.assert_allclose(jit(vmap(f))(xs), outs)
    for inside in (vmap(f), jit(vmap(f)), vmap(jit(f))):
        with pytest.raises(NotImplementedError, match=r"'b' is sown at .*only some elements.*vmap\(harvest\(f\)\)"):
            reap(inside)(xs)


def test_a_plant_needs_no_element():
    xs, planted = np.array([1.0, -2.0]), np.array([5.0, 6.0])
    assert plant(vmap(chosen_branch))({"b": planted}, xs).tolist() == [5.0, 12.0]


def test_an_unmapped_value_has_no_batch_axis():
    f = lambda x, y: sow(y * 2.0, name="shared") + sow(x, name="own")
    reaps = reap(vmap(f, (0, None)))(np.arange(2.0), 3.0)
    assert (reaps["shared"], reaps["own"].tolist()) == (6.0, [0.0, 1.0])
    assert vmap(reap(f), (0, None))(np.arange(2.0), 3.0)["shared"].tolist() == [6.0, 6.0]


# Compiled programs


def test_a_compiled_program_holds_nothing_of_a_name():
    f = lambda x: sow(np.sin(x), name="y") * 2.0
    plain = lambda x: np.sin(x) * 2.0
    texts = [jit(g).lower(1.0).as_text() for g in (f, plain)]
    assert texts[0].count("stablehlo.") == texts[1].count("stablehlo.")
    assert "sow" not in texts[0]


def test_a_function_compiled_before_gives_its_values():
    traces = []

    @jit
    def f(x):
        traces.append(1)
        return sow(np.sin(x), name="y") * 2.0

    first = f(0.5)
    assert call_and_reap(f)(0.5) == (first, {"y": pytest.approx(np.sin(0.5), rel=1e-15)})
    assert f(0.5) == first
    assert len(traces) == 1


@pytest.mark.usefixtures("few_objects")
def test_no_tracer_leaks():
    def f(x):
        return lax.scan(lambda c, a: (sow(jit(np.sin)(c), name="c", mode="append"), None), x, np.arange(3.0))[0]

    runs = [reap(f), reap(grad(f)), jit(reap(f)), reap(jit(f)), jit(reap(grad(f))), grad(lambda x: reap(f)(x)["c"][1])]
    with config.checking_leaks(True):
        for run in runs:
            run(0.5)
        vmap(reap(f))(np.ones(2))


@pytest.mark.usefixtures("few_objects")
def test_a_tracer_that_the_user_stores_is_found_beneath_a_harvest():
    stored = []
    with config.checking_leaks(True), pytest.raises(Exception, match="outlives"):
        make_jaxpr(lambda x: reap(lambda x: stored.append(sow(x, name="x")) or x)(x))(0.5)


def test_an_error_of_the_function_leaves_nothing_behind():
    refs = []

    def f(x):
        y = sow(np.sin(x), name="y")
        refs.append(weakref.ref(y))
        raise KeyError("the user's own error")

    for run in (jit(reap(f)), grad(reap(f)), reap(grad(f)), make_jaxpr(reap(f)), reap(jit(f))):
        with pytest.raises(KeyError):
            run(0.5)
    gc.collect()
    assert [ref() for ref in refs if not isinstance(ref(), np.generic | type(None))] == []
    assert reap(wave)(0.5) == {"y": np.sin(0.5)}


def test_the_settings_of_a_harvest_are_those_of_its_call():
    f = jit(wave)
    wide = reap(f)(0.5)["y"]
    with config.enable_x64(False):
        narrow = reap(f)(np.float32(0.5))["y"]
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
    assert reap(f)(0.5)["y"].dtype == np.float64


def test_a_saved_program_keeps_its_names():
    jaxpr = make_jaxpr(grad(wave))(0.5)
    again = jaxpr_from_dict(jaxpr_to_dict(jaxpr))
    assert str(again) == str(jaxpr)
    kept, _ = dce_jaxpr(make_jaxpr(lambda x: (sow(x, name="x"), x)[1])(0.5), [True])
    assert [eqn.primitive for eqn in kept.eqns if eqn.primitive is sow_p] == [sow_p]


# Primitives that hold other programs


def test_solvers_are_opened_where_nobody_differentiates():
    solve = lambda x: custom_root(
        lambda y: y * y - x, x, lambda f, y: sow(np.sqrt(y), name="root"), lambda g, y: y / g(1.0)
    )
    assert solve(4.0) == 2.0
    assert reap(solve)(4.0) == {"root": 2.0}
    assert grad(solve)(4.0) == 0.25
    with pytest.raises(NotImplementedError, match=r"'custom_root'.* sows 'root', and has no rule to open it"):
        grad(lambda x: reap(solve)(x)["root"])(4.0)


def test_a_mesh_is_refused_by_name():
    mesh = AbstractMesh((2,), ("i",))
    f = shard_map(lambda x: sow(x * 2.0, name="part"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    assert f(np.arange(4.0)).tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(NotImplementedError, match=r"'shard_map'.* sows 'part', and has no rule to open it"):
        reap(f)(np.arange(4.0))
