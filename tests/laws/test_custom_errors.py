"""Errors about rules of one function under two transformations: each names the function, and leaves no trace open."""

from __future__ import annotations

import numpy as np
import pytest

from calque import custom_gradient, custom_jvp, custom_rules, custom_vjp, custom_vmap, grad, jacfwd, jit, jvp, lax, vmap
from calque_core import UnexpectedTracerError, trace_state_clean
from calque_core.context import active, here

XS = np.linspace(0.1, 0.9, 3)


@pytest.fixture(autouse=True)
def at_rest():
    """The thread is as it was after every error, and works."""
    yield
    assert trace_state_clean()
    assert not active
    assert here().axis_env == ()
    np.testing.assert_allclose(vmap(grad(jit(lax.sin)))(XS), np.cos(XS), 1e-14)


# Closed-over values


def by_jvp(x, a):
    f = custom_jvp(lambda y: y * a)
    f.defjvp(lambda primals, tangents: (f(*primals), a * tangents[0]))
    return f(x)


def by_vjp(x, a):
    f = custom_vjp(lambda y: y * a)
    f.defvjp(lambda y: (y * a, None), lambda _, ct: (a * ct,))
    return f(x)


def in_a_list(x, a):
    held = [a]
    f = custom_jvp(lambda y: y * held[0])
    f.defjvp(lambda primals, tangents: (f(*primals), held[0] * tangents[0]))
    return f(x)


def as_static(x, a):
    f = custom_vjp(lambda y, b: y * b, static_argnums=1)
    f.defvjp(lambda y, b: (y * b, None), lambda b, _, ct: (b * ct,))
    return f(x, a)


def total(f):
    return lambda x, a: np.sum(f(x, a))


PLACES = {
    "grad(jit)": lambda f: grad(jit(f), 1)(1.0, 2.0),
    "jit(grad)": lambda f: jit(grad(f, 1))(1.0, 2.0),
    "vmap(grad)": lambda f: vmap(grad(f, 1))(XS, XS),
    "grad(vmap)": lambda f: grad(total(vmap(f)), 1)(XS, XS),
    "grad(vmap), of both": lambda f: grad(total(vmap(f)), (0, 1))(XS, XS),
    "grad(vmap), of one for all": lambda f: grad(total(vmap(f, (0, None))), 1)(XS, 2.0),
    "grad(vmap(jit))": lambda f: grad(total(vmap(jit(f))), 1)(XS, XS),
    "grad(jit(vmap))": lambda f: grad(total(jit(vmap(f))), 1)(XS, XS),
    "jit(vmap(grad))": lambda f: jit(vmap(grad(f, 1)))(XS, XS),
    "grad(jit(scan))": lambda f: grad(
        jit(lambda x, a: lax.scan(lambda c, _: (f(c, a), None), x, None, length=2)[0]), 1
    )(1.0, 2.0),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("f", [by_jvp, by_vjp, in_a_list, as_static], ids=lambda f: f.__name__)
def test_a_derivative_with_respect_to_a_closed_over_value_is_refused(f, place):
    message = (
        r"<lambda> \(test_custom_errors\.py:\d+\) at test_custom_errors\.py:\d+ .* closes over a value that is being "
        r"differentiated, or takes one as a static argument, .* Pass the value as an argument that is not static"
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        place(f)


@pytest.mark.parametrize("f", [by_jvp, by_vjp, in_a_list, as_static], ids=lambda f: f.__name__)
def test_a_closed_over_value_that_is_not_differentiated_is_a_constant_in_the_same_places(f):
    for place in (
        vmap(grad(f)),
        jit(vmap(grad(f))),
        vmap(jit(grad(f))),
        vmap(grad(jit(f))),
        grad(total(vmap(f))),
        grad(total(jit(vmap(f)))),
        grad(total(vmap(jit(f)))),
        jit(grad(total(vmap(f)))),
    ):
        np.testing.assert_allclose(place(XS, XS + 1.0), XS + 1.0, 1e-14)


def test_values_that_a_rule_let_out_are_refused_by_every_later_trace():
    leaked = []
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (leaked.append(tangents[0]) or primals[0], tangents[0]))
    jit(vmap(grad(f)))(XS)
    for later in (lambda x: x + leaked[0], jit(lambda x: x + leaked[0]), vmap(lambda x: x + leaked[0])):
        with pytest.raises(
            UnexpectedTracerError, match=r"an escaped tracer .*: its trace, .*, has ended\. It was made at"
        ):
            later(XS)


# Forward mode


@custom_vjp
def backwards_only(x):
    return np.sin(x)


backwards_only.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
by_gradient = custom_gradient(lambda x: (np.sin(x), lambda ct: ct * np.cos(x)))

FORWARDS = {
    "jit(jvp)": lambda f: jit(lambda x: jvp(f, (x,), (1.0,)))(1.0),
    "jvp(jit)": lambda f: jvp(jit(f), (1.0,), (1.0,)),
    "jvp(vmap)": lambda f: jvp(vmap(f), (XS,), (XS,)),
    "vmap(jvp)": lambda f: vmap(lambda x: jvp(f, (x,), (1.0,))[1])(XS),
    "jvp(vmap(jit))": lambda f: jvp(vmap(jit(f)), (XS,), (XS,)),
    "jacfwd": lambda f: jacfwd(f)(1.0),
    "grad(jvp)": lambda f: grad(lambda x: jvp(f, (x,), (1.0,))[1])(1.0),
}


@pytest.mark.parametrize("forwards", FORWARDS.values(), ids=FORWARDS)
@pytest.mark.parametrize("f", [backwards_only, by_gradient], ids=["custom_vjp", "custom_gradient"])
def test_forward_mode_of_a_function_with_a_vjp_rule_only_is_refused(f, forwards):
    message = r"can't apply forward-mode autodiff \(jvp\) to .* \(test_custom_errors\.py:\d+\) at .* only a vjp rule"
    with pytest.raises(TypeError, match=message):
        forwards(f)


# Rules for batches


def by_custom_rules(rule):
    f = custom_rules(lambda x: x * x)
    f.def_batch(rule)
    return f


def by_custom_vmap(rule):
    f = custom_vmap(lambda x: x * x)
    f.def_vmap(rule)
    return f


RULE = r"the batching rule <lambda> \(test_custom_errors\.py:\d+\) of <lambda> \(test_custom_errors\.py:\d+\)"
ABOUT_BATCHES = {
    "another size": (
        lambda size, in_batched, x: (np.ones(5), True),
        ValueError,
        RULE + r" returned float64\[5\] as a batch of 3\. Put the batch axis, of size 3, in front, or return False",
    ),
    "no axis": (lambda size, in_batched, x: (1.0, True), ValueError, RULE + r" returned ~float64\[\] as a batch of 3"),
    "no pair": (
        lambda size, in_batched, x: x,
        TypeError,
        RULE + r" returned float64\[3\]\. Return a pair: the output, and",
    ),
    "no flag": (
        lambda size, in_batched, x: (x, "yes"),
        TypeError,
        RULE + r" returned out_batched='yes'\. Return True or",
    ),
    "flags of another structure": (
        lambda size, in_batched, x: (x, (True, True)),
        TypeError,
        RULE + ": out_batched has a tuple of length 2 at the root",
    ),
    "no array": (lambda size, in_batched, x: ("text", True), TypeError, RULE + ": output 0 is 'text' of type str"),
    "a generator": (lambda size, in_batched, x: (y for y in x), TypeError, "the batching rule of <lambda> .*generator"),
}


@pytest.mark.parametrize("make", [by_custom_rules, by_custom_vmap])
@pytest.mark.parametrize(("rule", "error", "message"), ABOUT_BATCHES.values(), ids=ABOUT_BATCHES)
def test_a_wrong_rule_for_batches_is_refused_with_its_name(rule, error, message, make):
    f = make(rule)
    for mapped in (vmap(f), jit(vmap(f)), vmap(jit(f)), grad(lambda x: np.sum(vmap(f)(x)))):
        with pytest.raises(error, match=message):
            mapped(XS)


WRONG_TYPES = {
    "another shape": (
        lambda size, in_batched, x: (np.ones((3, 2)), True),
        r", for one element, returned outputs of types \(float64\[2\]\), but the function returned \(float64\[\]\)",
    ),
    "another dtype": (
        lambda size, in_batched, x: (np.ones(3, "float32"), True),
        r", for one element, returned outputs of types \(float32\[\]\), but the function returned \(float64\[\]\)",
    ),
    "a batch that it does not call one": (
        lambda size, in_batched, x: (x * x, False),
        r", for one element, returned outputs of types \(float64\[3\]\), but the function returned \(float64\[\]\)",
    ),
    "another structure": (
        lambda size, in_batched, x: ((x, x), True),
        r", for one element, returned PyTreeDef\(\(\*, \*\)\), but the function returned PyTreeDef\(\*\)",
    ),
}


@pytest.mark.parametrize("make", [by_custom_rules, by_custom_vmap])
@pytest.mark.parametrize(("rule", "message"), WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_function_and_rule_for_batches_must_agree(rule, message, make):
    f = make(rule)
    for mapped in (vmap(f), vmap(jit(f)), jit(vmap(f)), grad(lambda x: np.sum(vmap(f)(x))), vmap(grad(f))):
        with pytest.raises(TypeError, match=RULE + message):
            mapped(XS)


def test_a_function_without_its_rule_for_batches_is_refused_where_it_is_traced():
    message = r"custom_vmap of <lambda> \(test_custom_errors\.py:\d+\) has no rule\. Give one with def_vmap"
    for mapped in (vmap, jit, grad):
        with pytest.raises(AttributeError, match=message):
            mapped(custom_vmap(lambda x: x * x))(1.0 if mapped is grad else XS)


# Wrong rules under transformations


@pytest.mark.parametrize("derivative", [lambda f: jit(grad(f)), lambda f: grad(jit(f)), lambda f: vmap(grad(f))])
def test_a_wrong_bwd_is_refused_with_the_path_of_the_argument_wherever_it_is_run(derivative):
    f = custom_vjp(lambda p: np.sum(p["w"][0] * p["b"]))
    f.defvjp(lambda p: (f(p), None), lambda _, ct: ({"w": [np.ones(7)], "b": None},))
    message = r"the bwd rule <lambda> .* of <lambda> .* returned a cotangent of float64\[7\] for p\['w'\]\[0\]"
    with pytest.raises(TypeError, match=message):
        derivative(f)({"w": [XS], "b": XS})


# Values that a compiled function does not know


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp, custom_vmap])
def test_a_choice_by_an_unknown_value_names_the_users_function(kind):
    @kind
    def magnitude(x):
        return x if x > 0 else -x

    rule = {
        custom_jvp: lambda: magnitude.defjvps(lambda x_dot, out, x: x_dot),
        custom_vjp: lambda: magnitude.defvjp(lambda x: (x, None), lambda _, ct: (ct,)),
        custom_vmap: lambda: magnitude.def_vmap(lambda size, batched, x: (x, True)),
    }
    rule[kind]()
    with pytest.raises(TypeError, match=r"under a call of magnitude \(test_custom_errors\.py:\d+\)"):
        jit(magnitude)(1.0)
