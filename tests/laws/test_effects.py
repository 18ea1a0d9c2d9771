"""Effects happen as often as the program says, under every transformation and in compiled programs."""

from __future__ import annotations

import numpy as np
import pytest

import calque
from calque import (
    checkpoint,
    config,
    custom_jvp,
    custom_vjp,
    debug,
    grad,
    hessian,
    io_callback,
    jacfwd,
    jacrev,
    jet,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    vjp,
    vmap,
)
from calque_core import eval_jaxpr, jaxpr_as_fun

seen: list[float] = []


@pytest.fixture(autouse=True)
def _forget():
    seen.clear()


def log(x):
    seen.append(np.asarray(x).tolist())


def square(x):
    """Square a number; look at it, and send it out in order."""
    debug.callback(log, x)
    io_callback(log, None, lax.stop_gradient(x) + 0.5, ordered=True)
    return x * x


def looked(x):
    debug.callback(log, x)
    return x * x


def with_vjp(f):
    rule = custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct,))
    return rule


def with_jvp(f):
    rule = custom_jvp(f)
    rule.defjvp(lambda xs, x_dots: (f(*xs), 2 * xs[0] * x_dots[0]))
    return rule


def scanned(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]


def looped(f):
    return lambda x: lax.while_loop(lambda c: c < 100.0, f, x)


ONE, THREE = [2.0], [2.0, 4.0, 16.0]
# name -> (a function of f and a number, the values that one run shows)
VERBS = {
    "call": (lambda f, x: f(x), ONE),
    "jvp": (lambda f, x: jvp(f, (x,), (1.0,)), ONE),
    "grad": (lambda f, x: grad(f)(x), ONE),
    "grad of grad": (lambda f, x: grad(grad(f))(x), ONE),
    "hessian": (lambda f, x: hessian(f)(x), ONE),
    "jacobians": (lambda f, x: (jacfwd(f)(x), jacrev(f)(x)), ONE * 2),
    "vjp, pulled twice": (lambda f, x: [vjp(f, x)[1](ct) for ct in (1.0,)] * 2, ONE),
    "linearize, pushed": (lambda f, x: linearize(f, x)[1](1.0), ONE),
    "checkpoint": (lambda f, x: grad(checkpoint(f))(x), ONE),
    "two checkpoints": (lambda f, x: grad(checkpoint(checkpoint(f)))(x), ONE),
    "checkpointed jit": (lambda f, x: grad(checkpoint(calque.jit(f)))(x), ONE),
    "checkpointed scan": (lambda f, x: grad(checkpoint(scanned(f)))(x), THREE),
    "checkpointed cond": (lambda f, x: grad(checkpoint(lambda x: lax.cond(x > 0, f, lambda x: x, x)))(x), ONE),
    "custom_vjp": (lambda f, x: grad(with_vjp(f))(x), ONE),
    "custom_jvp": (lambda f, x: grad(with_jvp(f))(x), ONE),
    "scan": (lambda f, x: scanned(f)(x), THREE),
    "grad of scan": (lambda f, x: grad(scanned(f))(x), THREE),
    "grad of checkpointed steps": (lambda f, x: grad(scanned(checkpoint(f)))(x), THREE),
    "while": (lambda f, x: looped(f)(x), THREE),
    "grad of while": (lambda f, x: grad(looped(f))(x), THREE),
    "cond": (lambda f, x: lax.cond(x > 0, f, lambda x: x, x), ONE),
    "grad of cond": (lambda f, x: grad(lambda x: lax.cond(x > 0, f, lambda x: x, x))(x), ONE),
    "the other branch": (lambda f, x: grad(lambda x: lax.cond(x < 0, f, lambda x: x, x))(x), []),
    "platform": (lambda f, x: lax.platform_dependent(x, cpu=f, default=lambda x: x), ONE),
    "a program run": (lambda f, x: jaxpr_as_fun(make_jaxpr(f)(x))(x), ONE),
    "nested jit": (lambda f, x: calque.jit(lambda x: calque.jit(f)(x) + 1.0)(x), ONE),
    "grad of jit": (lambda f, x: grad(calque.jit(f))(x), ONE),
    "composite": (lambda f, x: lax.composite(f, name="law.square")(x), ONE),
    "map": (lambda f, x: lax.map(f, x * np.ones(2)), ONE * 2),
}
BATCHES = {
    "vmap": lambda f, x: vmap(f)(x),
    "vmap of grad": lambda f, x: vmap(grad(f))(x),
    "grad of vmap": lambda f, x: grad(lambda x: np.sum(vmap(f)(x)))(x),
    "vmap of scan": lambda f, x: vmap(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(x),
    "vmap of jit": lambda f, x: vmap(calque.jit(f))(x),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("verb", VERBS)
def test_effects_happen_once_for_each_run_of_the_function(verb, compiled):
    transformed, expected = VERBS[verb]
    run = lambda x: transformed(square, x)
    run = calque.jit(run) if compiled else run
    for _ in range(2):
        seen.clear()
        run(2.0)
        assert sorted(seen) == sorted([*expected, *(x + 0.5 for x in expected)])
        assert [x for x in seen if x % 1] == [x + 0.5 for x in expected]


@pytest.mark.parametrize("compiled", [False, True], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("verb", BATCHES)
def test_effects_happen_once_for_each_element(verb, compiled):
    run = lambda x: BATCHES[verb](looked, x)
    (calque.jit(run) if compiled else run)(np.array([1.0, 2.0, 3.0]))
    assert sorted(seen) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("setting", ["debug_nans", "enable_checks", "disable_jit", "checking_leaks"])
@pytest.mark.usefixtures("few_objects")
def test_settings_for_debugging_repeat_no_effect(setting):
    with getattr(config, setting)(True):
        grad(calque.jit(scanned(square)))(2.0)
    assert seen == [2.0, 2.5, 4.0, 4.5, 16.0, 16.5]


def test_tracing_alone_has_no_effect():
    jaxpr = make_jaxpr(grad(square))(2.0)
    calque.jit(square).lower(2.0).compile()
    assert seen == []
    eval_jaxpr(jaxpr, jaxpr.consts, 2.0)
    assert seen == [2.0, 2.5]


def test_taylor_coefficients_look_once():
    calque.jit(lambda x: jet(looked, (x,), ([1.0, 0.0],)))(2.0)
    assert seen == ONE


def test_a_compiled_program_prints_by_the_print_options_of_the_caller(capfd):
    def program(x):
        debug.print("{}", x)
        return x + 1.0

    with np.printoptions(precision=2):
        compiled = calque.jit(program)
        compiled(np.array([1.23456789, 2.0]))
        calque.effects_barrier()
    assert capfd.readouterr().out == "[1.23 2.  ]\n"
