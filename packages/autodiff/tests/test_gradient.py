from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

from calque_autodiff import grad, jvp, value_and_grad
from calque_core import (
    UnexpectedTracerError,
    config,
    count_eqns,
    current_trace,
    eval_jaxpr,
    evaluation,
    float0,
    lax,
    make_jaxpr,
)


def product(x, y, *, z=1.0):
    return x * y * z


def test_the_gradient_has_the_structure_shapes_and_dtypes_of_the_argument():
    p = {"w": np.ones((2, 3), np.float32), "b": (np.float64(2.0), [np.ones(0)])}
    bar = grad(lambda p: lax.reduce_sum(p["w"]) * p["b"][0] + lax.reduce_sum(p["b"][1][0]))(p)
    assert bar["w"].dtype == np.float32
    assert bar["w"].tolist() == [[2.0] * 3] * 2
    assert bar["b"][0] == 6.0
    assert bar["b"][1][0].shape == (0,)


@pytest.mark.parametrize(
    ("argnums", "wanted"),
    [(0, 3.0), (1, 2.0), (-1, 2.0), (-2, 3.0), ((0, 1), (3.0, 2.0)), ([1], (2.0,)), ((-1, 0), (2.0, 3.0)), ((), ())],
)
def test_argnums_choose_arguments_by_position(argnums, wanted):
    assert grad(product, argnums)(2.0, 3.0) == wanted


@pytest.mark.parametrize("call", [lambda g: g(2.0, 3.0), lambda g: g(2.0, y=3.0), lambda g: g(x=2.0, y=3.0)])
def test_argnames_choose_arguments_however_they_are_passed(call):
    assert call(grad(product, argnames="y")) == 2.0
    assert call(grad(product, argnames=("y", "x"))) == {"y": 2.0, "x": 3.0}


def test_a_gradient_by_name_may_call_itself_in_another_spelling():
    def f(x, w):
        return w * x if x > 2.0 else w * w * both(x + 2.0, w=w)["w"]

    both = grad(f, argnames=["w"])
    assert both(1.0, 3.0) == {"w": 18.0}
    assert both(1.0, w=3.0) == {"w": 18.0}


def test_a_gradient_by_name_may_be_taken_by_two_threads_in_two_spellings():
    inside = threading.Barrier(2, timeout=20)

    def f(x, w):
        inside.wait()
        return x * w

    gradient = grad(f, argnames="w")
    results = {}
    calls = {"by position": lambda: gradient(2.0, 3.0), "by keyword": lambda: gradient(w=3.0, x=4.0)}
    threads = [threading.Thread(target=lambda n=n: results.update({n: calls[n]()})) for n in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"by position": 2.0, "by keyword": 4.0}


def test_argnums_and_argnames_together_give_a_pair():
    assert grad(product, argnums=0, argnames="z")(2.0, 3.0, z=5.0) == (15.0, 6.0)
    assert grad(product, argnums=(1,), argnames=["z"])(2.0, 3.0, z=5.0) == ((10.0,), {"z": 6.0})


@pytest.mark.parametrize("pair", [tuple, list])
def test_auxiliary_output_goes_along(pair):
    f = lambda x: pair([x * x, {"twice": 2.0 * x}])
    assert grad(f, has_aux=True)(3.0) == (6.0, {"twice": 6.0})
    assert value_and_grad(f, has_aux=True)(3.0) == ((9.0, {"twice": 6.0}), 6.0)


def test_integers_have_float0_gradients_where_they_are_allowed():
    x_bar, n_bar = grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    assert x_bar == 3.0
    assert n_bar.dtype == float0


def test_holomorphic_functions_have_complex_gradients():
    np.testing.assert_allclose(grad(lax.sin, holomorphic=True)(1.0 + 2.0j), np.cos(1.0 + 2.0j))


def test_a_real_function_of_a_complex_argument_has_a_gradient():
    """The convention is without conjugation: f changes by the real part of gradient times step."""
    z, step = 3.0 + 4.0j, 1e-6 * (0.3 - 0.7j)
    change = (grad(lax.abs)(z) * step).real
    np.testing.assert_allclose(change, abs(z + step / 2) - abs(z - step / 2), 1e-6)


def test_the_wrapped_function_keeps_its_name_and_docstring():
    assert grad(product).__name__ == value_and_grad(product).__name__ == "product"


def test_nested_gradients_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: x * x * y)(1.0) * x)(2.0) == 12.0
    assert grad(lambda x: jvp(lambda y: x * y * y, (x,), (1.0,))[1])(3.0) == 12.0
    assert jvp(lambda x: grad(lambda y: x * y * y)(x), (3.0,), (1.0,))[1] == 12.0


def test_third_derivatives_agree_however_they_are_nested():
    f = lambda x: lax.sin(x) * lax.exp(x)
    d = lambda f: lambda x: jvp(f, (x,), (1.0,))[1]
    found = [a(b(c(f)))(0.3) for a in (grad, d) for b in (grad, d) for c in (grad, d)]
    np.testing.assert_allclose(found, found[0], 1e-13)


def test_functions_without_a_name_or_a_signature_can_be_differentiated():
    assert grad(functools.partial(product, 2.0))(3.0) == 2.0
    assert grad(type("F", (), {"__call__": lambda self, x: x * x})())(3.0) == 6.0


def test_known_values_can_decide():
    def f(x):
        while x < 10.0:
            x = x * x
        return x

    assert grad(f)(2.0) == 32.0
    assert grad(lambda x: [x, x * x, x * x * x][int(x)])(2.0) == 12.0


def test_gradients_of_long_chains_need_no_stack():
    def f(x):
        for _ in range(5_000):
            x = lax.sin(x)
        return x

    assert np.isfinite(grad(f)(1.0))


def test_the_gradient_of_one_operation_is_few_equations():
    jaxpr = make_jaxpr(grad(lax.sin))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos"]


def names_in_gradient(f, *args):
    return [eqn.primitive.name for eqn in make_jaxpr(grad(f))(*args).eqns]


def test_the_gradient_of_a_square_has_one_term():
    assert names_in_gradient(lambda x: x * x, np.float64(2.0)) == ["mul", "mul"]
    assert names_in_gradient(lambda x: lax.sin(x) * x, 2.0).count("add_any") == 1


def test_a_cotangent_of_one_is_multiplied_only_where_the_type_changes():
    assert names_in_gradient(lambda x: 3.0 * x, 2.0) == ["mul", "mul"]
    jaxpr = make_jaxpr(grad(lambda x, y: x * y))(2.0, np.float32(3.0))
    assert [v.aval.dtype.name for v in jaxpr.outvars] == ["float64"]


def sines(x):
    for _ in range(5):
        x = lax.sin(x) * x
    return x


def nested(f, depth):
    for _ in range(depth):
        f = grad(f)
    return f


def test_nested_derivatives_compute_known_values_once():
    counts = [count_eqns(make_jaxpr(nested(sines, depth))(2.0)) for depth in (2, 4, 6)]
    assert all(count <= most for count, most in zip(counts, (110, 910, 7_500)))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_shared_values_leave_nested_derivatives_as_they_are(depth):
    staged = make_jaxpr(nested(sines, depth))(0.7)
    (value,) = eval_jaxpr(staged, staged.consts, 0.7)
    np.testing.assert_allclose(value, nested(sines, depth)(0.7), rtol=1e-12)


def test_settings_inside_a_nested_derivative_keep_their_own_values():
    def f(x):
        with config.enable_x64(False):
            y = lax.sin(x)
        return lax.sin(x) + lax.convert_element_type(y, np.float64)

    jaxpr = make_jaxpr(nested(f, 2))(np.float64(0.7))
    assert {e.outvars[0].aval.dtype.name for e in jaxpr.eqns if e.primitive is lax.sin_p} == {"float32", "float64"}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: grad(lax.sin)(np.ones(2)),
            TypeError,
            r"grad of sin \(.*\) needs a scalar output.*float64\[2\]. Reduce it",
        ),
        (
            lambda: grad(lambda x: (x, x))(1.0),
            TypeError,
            "needs a scalar output.*a tuple of length 2. Return one scalar",
        ),
        (lambda: grad(lambda x: None)(1.0), TypeError, "needs a scalar output.*returned None. Return one scalar"),
        (lambda: grad(lambda x: 3)(1.0), TypeError, r"needs a real output.*int64\[\]. Return a float"),
        (
            lambda: grad(lambda x: x)(1j),
            TypeError,
            (
                r"real output.*complex128\[\]\. Set holomorphic=True if the function is holomorphic; otherwise return "
                r"a real number, or use vjp"
            ),
        ),
        (
            lambda: grad(lax.sin)(1),
            TypeError,
            "x has dtype int64, which has no derivative. Pass a float, or set allow_int",
        ),
        (lambda: grad(lambda p: p["a"][1])({"a": [1.0, 2]}), TypeError, r"p\['a'\]\[1\] has dtype int64"),
        (lambda: grad(product, argnames="y")(1.0, y=2), TypeError, "y has dtype int64"),
        (
            lambda: grad(lax.sin, holomorphic=True)(1.0),
            TypeError,
            "with holomorphic=True: x has dtype float64. Give complex",
        ),
        (lambda: grad(lax.abs, holomorphic=True)(1j), TypeError, r"the output is float64\[\]. Return a complex scalar"),
        (
            lambda: grad(product, 2)(1.0, 2.0),
            ValueError,
            "argnums=2, but there are 2 positional arguments. Pass the argument",
        ),
        (lambda: grad(product, (0, -2))(1.0, 2.0), ValueError, "names an argument twice. Name each argument once"),
        (
            lambda: grad(product, 0, argnames="x")(1.0, 2.0),
            ValueError,
            "name an argument twice. Name each argument once",
        ),
        (lambda: grad(product, "x")(1.0, 2.0), TypeError, "argnums='x'. Give an int or a tuple of ints"),
        (
            lambda: grad(product, argnames="w")(1.0, 2.0),
            ValueError,
            "argnames='w', but the call passes no argument 'w'. Pass it",
        ),
        (lambda: grad(product)("a", 2.0), TypeError, "x is 'a' of type str, which is not an array or a scalar"),
        (lambda: grad(lambda x: "a")(1.0), TypeError, "the function returned 'a' of type str"),
        (
            lambda: grad(lambda x: x, has_aux=True)(1.0),
            TypeError,
            r"grad of <lambda> \(test_gradient.py:\d+\) with has_aux=True needs",
        ),
        (lambda: grad(3), TypeError, "grad got 3 of type int"),
        (
            lambda: grad(lambda x: (yield x)),
            TypeError,
            "a generator or coroutine runs after the transformation has ended",
        ),
        (
            lambda: grad(lambda x: float(x))(1.0),
            TypeError,
            r"float\(\) was asked of a traced value of type ~float64\[\]",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert current_trace() is evaluation


def test_an_escaped_tracer_is_refused_with_its_origin():
    kept = []
    grad(lambda x: kept.append(x * 2.0) or x * x)(1.0)
    for use in (lambda: kept[0] + 1.0, lambda: lax.sin(kept[0]), lambda: grad(lambda x: x * kept[0])(1.0)):
        with pytest.raises(
            UnexpectedTracerError, match=r"its trace, grad of <lambda> \(.*\), has ended. It was made at .*test_grad"
        ):
            use()


def test_threads_differentiate_at_once():
    found = {}

    def work(n):
        found[n] = [grad(lambda x: lax.sin(x * n))(0.1 * i) for i in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, values in found.items():
        np.testing.assert_allclose(values, [n * np.cos(n * 0.1 * i) for i in range(50)])
    assert len(found) == 8


def test_a_call_that_lacks_an_argument_names_the_function_and_its_arguments():
    def loss(x, y):
        return x

    with pytest.raises(TypeError, match=r"^grad of loss \(.*\) at .*missing .*'y'\. Call it as loss\(x, y"):
        grad(loss)(1.0)


def test_a_format_shows_the_value_where_it_is_known():
    seen = []

    def f(x):
        seen.append(f"{x:.3f}")
        return x

    grad(f)(2.0)
    grad(grad(f))(2.0)
    jvp(f, (2.0,), (1.0,))
    assert seen == ["2.000"] * 3


def test_a_shared_value_does_not_hide_the_use_of_an_overwritten_name():
    def outer(y):
        def inner(x):
            old = y
            product = x * old
            new = old
            new += 1.0
            return lax.reduce_sum(product + x * old)

        return lax.reduce_sum(grad(inner)(np.ones(3)))

    with pytest.raises(UnexpectedTracerError, match=r"after '\+='"):
        make_jaxpr(grad(outer))(np.ones(3))
