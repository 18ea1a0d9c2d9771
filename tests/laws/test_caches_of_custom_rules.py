"""What functions with rules of their own leave behind: nothing that outlives them, and few traces of a rule."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from calque_autodiff import checkpoint, custom_gradient, custom_jvp, custom_rules, custom_vjp, grad, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_xla_backend import jit

pytestmark = pytest.mark.usefixtures("few_objects")


class Model:
    """What rules close over."""

    def __init__(self):
        self.w = np.ones(3)


def by_jvp(model, count):
    f = custom_jvp(lambda x: x * model.w)

    @f.defjvp
    def rule(primals, dots):
        count()
        return f(*primals), 2.0 * model.w * dots[0]

    return f, rule


def by_vjp(model, count):
    f = custom_vjp(lambda x: x * model.w)

    def bwd(w, ct):
        count()
        return (2.0 * w * ct,)

    f.defvjp(lambda x: (f(x), model.w), bwd)
    return f, bwd


def by_both(model, count):
    f, bwd = by_vjp(model, count)
    f.defvjp(f.fwd, bwd, jvp=lambda primals, dots: (f(*primals), 2.0 * model.w * dots[0]))
    return f, bwd


def by_gradient(model, count):
    def both(x):
        def pull(ct):
            count()
            return 2.0 * model.w * ct

        return x * model.w, pull

    return custom_gradient(both), both


def by_rules(model, count):
    f = custom_rules(lambda x: x * model.w)

    @f.def_jvp
    def rule(primals, dots):
        count()
        return f(*primals), 2.0 * model.w * dots[0]

    f.def_batch(lambda size, in_batched, x: (x * model.w, True))
    return f, rule


KINDS = [by_jvp, by_vjp, by_both, by_gradient, by_rules]
each_kind = pytest.mark.parametrize("make", KINDS, ids=[make.__name__ for make in KINDS])


def total(f):
    return lambda x: f(x).sum()


def in_loop(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0].sum()


USES = {
    "grad": lambda f, x: grad(total(f))(x),
    "jit of grad": lambda f, x: jit(grad(total(f)))(x),
    "grad of jit": lambda f, x: grad(jit(total(f)))(x),
    "grad of grad of jit": lambda f, x: grad(lambda x: grad(jit(total(f)))(x).sum())(x),
    "vmap of grad": lambda f, x: vmap(grad(total(f)))(np.stack([x, x])),
    "grad of jit of vmap": lambda f, x: grad(lambda xs: jit(vmap(f))(xs).sum())(np.stack([x, x])),
    "grad of scan": lambda f, x: jit(grad(in_loop(f)))(x),
    "grad of jit of scan": lambda f, x: grad(jit(in_loop(f)))(x),
    "grad of cond": lambda f, x: grad(jit(lambda x: lax.cond(x[0] > 0, f, lambda x: x, x).sum()))(x),
    "grad of checkpoint": lambda f, x: grad(jit(total(checkpoint(f))))(x),
    "grad of checkpoint by a policy": lambda f, x: grad(checkpoint(lambda x: x.sum(), policy=lambda *_, **__: bool(f)))(
        x
    ),
    "jvp of while": lambda f, x: jvp(lambda x: lax.while_loop(lambda v: f(v)[0] < 0, lambda v: v * 2.0, x), (x,), (x,)),
    "make_jaxpr": lambda f, x: make_jaxpr(grad(total(f)))(x),
    "vjp of jit": lambda f, x: vjp(jit(lambda x: f(x)), x)[1](x),
}


@pytest.mark.sampled(keep=0.2, rows=["use"])
@each_kind
@pytest.mark.parametrize("use", USES)
def test_rules_and_what_they_close_over_are_freed(make, use):
    def run():
        model = Model()
        f, rule = make(model, lambda: None)
        USES[use](f, np.ones(3))
        USES[use](f, np.ones(3))
        return [weakref.ref(x) for x in (model, f, rule)]

    references = run()
    gc.collect()
    assert [r() for r in references] == [None] * 3


def test_a_function_with_rules_that_is_jitted_as_it_is_is_freed():
    def run():
        f, _ = by_jvp(Model(), lambda: None)
        jit(f)(np.ones(3))
        return weakref.ref(f)

    reference = run()
    gc.collect()
    assert reference() is None


@each_kind
@pytest.mark.parametrize("use", ["grad of jit", "grad of jit of vmap", "grad of jit of scan"])
def test_a_jitted_function_frees_the_rules_that_it_made(make, use):
    """The outer function lives on; the function with rules is made in each trace of it."""
    references = []

    def fun(x):
        model = Model()
        f, rule = make(model, lambda: None)
        references.append([weakref.ref(model), weakref.ref(f), weakref.ref(rule)])
        return f(x)

    USES[use](fun, np.ones(3))
    assert references
    del fun
    gc.collect()
    assert {r() for made in references for r in made} == {None}


# Counts


@contextmanager
def collected_by_counting():
    """Check that what is dropped inside is freed at once: that there is nothing for the collector to find."""
    gc.collect()
    gc.disable()
    try:
        yield
        assert gc.collect() == 0
    finally:
        gc.enable()


@each_kind
@pytest.mark.parametrize("use", ["grad", "vmap of grad"])
def test_an_eager_derivative_leaves_no_cycle(make, use):
    model = Model()
    f, _ = make(model, lambda: None)
    USES[use](f, np.ones(3))
    with collected_by_counting():
        for _ in range(5):
            USES[use](f, np.ones(3))


@pytest.mark.parametrize("make", [by_jvp, by_both, by_rules], ids=lambda make: make.__name__)
def test_eager_forward_mode_leaves_no_cycle(make):
    f, _ = make(Model(), lambda: None)
    x = np.ones(3)
    for run in (lambda: jvp(f, (x,), (x,)), lambda: linearize(f, x)[1](x)):
        run()
        with collected_by_counting():
            for _ in range(5):
                run()


def test_a_call_leaves_no_cycle():
    for make in KINDS:
        f, _ = make(Model(), lambda: None)
        with collected_by_counting():
            for _ in range(5):
                f(np.ones(3))


def counted(make):
    """Return a function with a rule, and how often the rule has run, in a list."""
    runs = []
    f, _ = make(Model(), lambda: runs.append(None))
    return f, runs


@each_kind
def test_a_loop_of_a_thousand_calls_traces_the_rule_a_few_times(make):
    few, many = [], []
    for length, found in ((3, few), (1000, many)):
        f, runs = counted(make)
        loop = lambda x, f=f, length=length: lax.scan(lambda c, _: (0.5 * f(c), None), x, None, length=length)[0].sum()
        for derivative in (jit(grad(loop)), grad(jit(loop))):
            for _ in range(2):
                derivative(np.ones(3))
            found.append(len(runs))
    assert many == few  # however long the loop is
    assert 0 < many[-1] <= 12


@each_kind
def test_a_compiled_derivative_runs_no_rule_again(make):
    f, runs = counted(make)
    derivative, function = jit(grad(total(f))), jit(total(f))
    derivative(np.ones(3))
    grad(function)(np.ones(3))
    traced = len(runs)
    assert 0 < traced <= 3
    for i in range(1000):
        derivative(np.full(3, float(i)))
    assert len(runs) == traced
    for i in range(10):
        grad(function)(np.full(3, float(i)))
    assert len(runs) <= traced + 10  # once per derivative of a program, at most


@pytest.mark.sampled(keep=0.2)
@each_kind
def test_a_thousand_calls_in_a_jitted_loop_of_python(make):
    f, runs = counted(make)

    @jit
    def steps(x):
        for _ in range(1000):
            x = 0.5 * f(x)
        return x.sum()

    jit(grad(steps))(np.ones(3))
    assert len(runs) <= 2000
