import numpy as np
import pytest

from calque_autodiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from calque_core import ShapeDtypeStruct, debug, io_callback, lax, make_jaxpr, pure_callback
from calque_core.lax import stop_gradient

F64 = ShapeDtypeStruct((), np.float64)


@pytest.fixture
def watched():
    """Return a function that is looked at, and the values seen."""
    seen = []

    def fun(x):
        y = lax.sin(x)
        debug.callback(lambda x, y: seen.append((float(x), float(y))), x, y)
        return lax.mul(y, y)

    return fun, seen


ONE = [(0.5, float(np.sin(0.5)))]
VERBS = {
    "jvp": lambda f: jvp(f, (0.5,), (1.0,)),
    "grad": lambda f: grad(f)(0.5),
    "value_and_grad": lambda f: value_and_grad(f)(0.5),
    "hessian": lambda f: grad(grad(f))(0.5),
    "grad of a loop": lambda f: grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(0.5),
    "grad of a branch": lambda f: grad(lambda x: lax.cond(x > 0, f, lambda x: x, x))(0.5),
    "grad of custom_jvp": lambda f: grad(with_jvp(f))(0.5),
    "grad of checkpoint": lambda f: grad(checkpoint(f))(0.5),
}


def with_jvp(f):
    custom = custom_jvp(f)
    custom.defjvp(lambda primals, tangents: (f(*primals), 2 * tangents[0]))
    return custom


@pytest.mark.parametrize("verb", VERBS)
def test_derivatives_look_once_at_the_primal_value(watched, verb):
    fun, seen = watched
    VERBS[verb](fun)
    assert seen == ONE


def test_the_backward_pass_looks_at_nothing(watched):
    fun, seen = watched
    _, pull = vjp(fun, 0.5)
    _, push = linearize(fun, 0.5)
    assert seen == ONE * 2
    pull(1.0), pull(2.0), push(1.0)
    assert seen == ONE * 2


def test_a_loop_with_an_effect_alone_runs_in_the_forward_pass():
    seen = []

    def step(carry, x):
        debug.callback(lambda x: seen.append(float(x)), x)
        return carry * 2.0, None

    assert grad(lambda c: lax.scan(step, c, np.arange(3.0))[0])(1.0) == 8.0
    assert seen == [0.0, 1.0, 2.0]


def loop(call):
    return lambda x: lax.while_loop(lambda c: (call(c), c < 100.0)[1], lambda c: (call(-c), c * c)[1], x)


STEPS = [2.0, -2.0, 4.0, -4.0, 16.0, -16.0, 256.0]


@pytest.mark.parametrize("kind", ["debug", "io"])
def test_the_reverse_mode_of_a_loop_repeats_no_effect(kind):
    seen = []
    log = lambda x: seen.append(float(x))
    call = {
        "debug": lambda x: debug.callback(log, x),
        "io": lambda x: io_callback(log, None, stop_gradient(x), ordered=True),
    }[kind]
    assert grad(loop(call))(2.0) == 8 * 2.0**7
    assert seen == STEPS
    seen.clear()
    _, push = linearize(loop(call), 2.0)
    assert push(1.0) == push(1.0) == 8 * 2.0**7
    assert seen == STEPS
    seen.clear()
    jvp(loop(call), (2.0,), (1.0,))
    assert seen == STEPS


def test_the_reverse_mode_of_a_loop_that_needs_the_result_of_an_effect_is_refused():
    read = lambda: io_callback(lambda: 2.0, F64)
    message = r"reverse mode run the steps of while_loop at .* again, but a step has the effect io and uses its result"
    with pytest.raises(TypeError, match=message):
        grad(lambda x: lax.while_loop(lambda c: c < 100.0, lambda c: c * read(), x))(2.0)
    assert grad(lambda x: lax.scan(lambda c, _: (c * read(), None), x, None, length=3)[0])(2.0) == 8.0


def test_a_traced_gradient_has_one_call(watched):
    fun, _ = watched
    names = [eqn.primitive.name for eqn in make_jaxpr(grad(fun))(0.5).eqns]
    assert names.count("debug_callback") == 1


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_other_calls_have_no_derivative_and_the_error_says_what_to_do(call):
    f = lambda x: call(np.sin, F64, x)
    for run in (lambda: jvp(f, (1.0,), (1.0,)), lambda: grad(f)(1.0), lambda: linear_transpose(f, 1.0)(1.0)):
        with pytest.raises(NotImplementedError, match=rf"rule .*for '{call.__name__}' not implemented") as caught:
            run()
        assert (
            "There is none because calque cannot look into a Python function. Put the call into a function that has a "
            "derivative of its own, made with custom_jvp or custom_vjp." in str(caught.value)
        )


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_values_without_tangents_may_pass(call):
    f = lambda x: x * call(np.cos, F64, stop_gradient(x)) + call(lambda: 1.0, F64)
    assert grad(f)(2.0) == np.cos(2.0)


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_custom_rules_give_a_call_its_derivative(call):
    sine = custom_jvp(lambda x: call(np.sin, F64, x))
    sine.defjvp(lambda primals, tangents: (sine(*primals), call(np.cos, F64, *primals) * tangents[0]))
    assert grad(sine)(0.5) == np.cos(0.5)
    cube = custom_vjp(lambda x: call(lambda x: x**3, F64, x))
    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (3 * x * x * ct,))
    assert grad(cube)(2.0) == 12.0


def test_forward_mode_shows_tangents_and_the_backward_pass_has_none():
    seen = []
    watched = custom_jvp(lambda x: x)
    look = lambda x_dot: (debug.callback(lambda x: seen.append(float(x)), x_dot), x_dot)[1]
    watched.defjvp(lambda primals, tangents: (primals[0], look(tangents[0])))
    jvp(watched, (1.0,), (2.0,))
    assert linearize(watched, 1.0)[1](3.0) == 3.0
    assert seen == [2.0, 3.0]
    assert grad(watched)(1.0) == 1.0
    assert seen == [2.0, 3.0]


@pytest.mark.parametrize("result", [None, F64])
def test_the_backward_pass_does_not_lose_an_effect_in_silence(result):
    sent = custom_jvp(lambda x: x)
    send = lambda x_dot: (io_callback(lambda x: x if result else None, result, x_dot), x_dot)[1]
    sent.defjvp(lambda primals, tangents: (primals[0], send(tangents[0])))
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'io_callback' not implemented"):
        grad(sent)(1.0)
