from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import Zero, defjvp_all, jvp
from calque_core import Primitive, UnexpectedTracerError, current_trace, evaluation, float0, lax, make_jaxpr, typeof


def f(x):
    return -(lax.sin(x) * 2.0) + x


def derivative(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def test_jvp_gives_the_value_and_the_derivative():
    y, y_dot = jvp(f, (3.0,), (1.0,))
    np.testing.assert_allclose([y, y_dot], [2.7177599838802657, 2.979984993200891], 1e-15)


def test_derivatives_of_derivatives_of_sine_go_round():
    found, g = [], lax.sin
    for _ in range(4):
        g = derivative(g)
        found.append(g(3.0))
    np.testing.assert_allclose(found, [np.cos(3.0), -np.sin(3.0), -np.cos(3.0), np.sin(3.0)], 1e-14)


def test_python_control_flow_follows_the_primal():
    g = lambda x: 2.0 * x if x > 0.0 else x
    assert [derivative(g)(3.0), derivative(g)(-3.0)] == [2.0, 1.0]


def test_pytrees_go_in_and_come_out():
    def g(p):
        y = lax.sin(p["a"]) * 2.0
        return {"hi": -y + p["a"], "there": [p["a"], y]}

    y, y_dot = jvp(g, ({"a": 3.0},), ({"a": 1.0},))
    np.testing.assert_allclose(y_dot["hi"], 2.979984993200891)
    assert y["there"][0] == 3.0
    assert y_dot["there"][0] == 1.0


def test_perturbations_of_nested_derivatives_are_not_confused():
    assert derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(2.0) == 1.0
    assert derivative(lambda x: x * derivative(lambda y: x * y)(2.0))(3.0) == 6.0


def test_integers_take_and_give_float0_tangents():
    n_dot = np.zeros((2,), float0)
    _, y_dot = jvp(lambda x, n: (x * n, n), (np.ones(2), np.arange(2)), (np.ones(2), n_dot))
    assert y_dot[0].tolist() == [0.0, 1.0]
    assert y_dot[1].dtype == float0


def test_outputs_that_depend_on_nothing_have_zero_tangents_of_their_types():
    _, (a_dot, b_dot) = jvp(lambda x: (np.ones((2, 3), np.float32), 5), (1.0,), (1.0,))
    assert (a_dot.shape, a_dot.dtype) == ((2, 3), np.float32)
    assert not a_dot.any()
    assert b_dot.dtype == float0


def test_auxiliary_output_carries_no_tracer_and_no_tangent():
    for fun in (lambda x: (x * x, {"y": x * 2.0, "n": 3}), lambda x: [x * x, {"y": x * 2.0, "n": 3}]):
        y, y_dot, aux = jvp(fun, (3.0,), (1.0,), has_aux=True)
        assert (y, y_dot, aux) == (9.0, 6.0, {"y": 6.0, "n": 3})


def test_lists_of_primals_take_lists_of_tangents():
    assert jvp(lax.mul, [2.0, 3.0], [1.0, 0.0]) == (6.0, 3.0)


def test_python_scalars_as_tangents_take_the_dtype_of_their_primal():
    _, y_dot = jvp(lax.sin, (np.float32(0.0),), (1,))
    assert y_dot.dtype == np.float32


def test_jvp_is_traced_like_any_function():
    jaxpr = make_jaxpr(lambda x, t: jvp(lax.sin, (x,), (t,)))(1.0, 1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos", "mul"]


def test_rules_see_zeros_for_what_is_not_perturbed():
    seen = []
    fma_p = Primitive("fma")
    fma_p.def_impl(lambda x, y, z: x * y + z)

    def fma_jvp(primals, tangents):
        seen.extend(tangents)
        return fma_p.bind(*primals), lax.mul(tangents[0], primals[1])

    defjvp_all(fma_p, fma_jvp)
    assert jvp(lambda x: fma_p.bind(x, np.arange(3.0), 1), (2.0,), (1.0,))[1].tolist() == [0.0, 1.0, 2.0]
    assert [type(t) is Zero for t in seen] == [False, True, True]
    assert str(seen[1].aval) == "float64[3]"
    assert seen[2].aval.dtype == float0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jvp(f, (1.0,), [1.0]), "the primals are a tuple, the tangents a list. Give both as tuples"),
        (lambda: jvp(f, 1.0, (1.0,)), "got ~float64\\[\\] as its primals. Give a tuple or a list: primals=\\(x,\\)"),
        (lambda: jvp(f, (1.0,), 1.0), "got ~float64\\[\\] as its tangents. Give a tuple or a list"),
        (
            lambda: jvp(f, (1.0,), (1.0, 2.0)),
            "the tangents have the structure .* but .* is needed. Give one tangent per leaf",
        ),
        (
            lambda: jvp(f, (1.0,), (np.ones(2),)),
            "the leaf \\[0\\] of the tangents is float64\\[2\\], but float64\\[\\] is needed. Give it",
        ),
        (lambda: jvp(f, (np.float32(1),), (np.ones(()),)), "is float64\\[\\], but float32\\[\\] is needed"),
        (lambda: jvp(f, (1.0,), (1j,)), "is ~complex128\\[\\], but float64\\[\\] is needed"),
        (
            lambda: jvp(f, (1,), (1.0,)),
            "its primal is ~int64\\[\\], which has no derivative. Give numpy.zeros\\(shape, calque",
        ),
        (lambda: jvp(f, ("a",), (1.0,)), "x is 'a' of type str, which is not an array or a scalar. Pass arrays"),
        (lambda: jvp(3, (1.0,), (1.0,)), "jvp got 3 of type int.*. Give a function"),
        (lambda: jvp(lambda x: "a", (1.0,), (1.0,)), "the function returned 'a' of type str, .*. Return arrays"),
        (
            lambda: jvp(lambda x: x, (1.0,), (1.0,), has_aux=True),
            "needs a pair \\(output, aux\\).*. Return a pair, or leave",
        ),
        (
            lambda: jvp(lambda x: (y for y in [x]), (1.0,), (1.0,)),
            "a generator or coroutine runs after.*. Return the values",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises(TypeError, match=words):
        call()
    assert current_trace() is evaluation


def test_messages_name_the_function_and_its_line():
    with pytest.raises(TypeError, match=r"jvp of f \(test_forward.py:\d+\)"):
        jvp(f, (1.0,), (np.ones(2),))


def test_an_escaped_tracer_is_refused_with_its_origin():
    kept = []
    jvp(lambda x: kept.append(x * 2.0) or x, (1.0,), (1.0,))
    with pytest.raises(UnexpectedTracerError, match=r"its trace, jvp of <lambda> \(test_forward.py:\d+\), has ended"):
        kept[0] + 1.0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_the_function_raises_leaves_the_trace_as_it_was(error):
    def g(x):
        lax.sin(x)
        raise error("stop")

    with pytest.raises(error, match="stop"):
        jvp(g, (1.0,), (1.0,))
    assert current_trace() is evaluation


def test_the_tangent_of_a_number_that_is_handed_through_is_the_callers_number():
    for number, dot in ((3.0, 0.5), (3j, 2j)):
        out, out_dot = jvp(lambda x: [x, x * 2.0, x], (number,), (dot,))
        assert [type(x) for x in out_dot] == [type(dot), type(np.asarray(dot)[()]), type(dot)]
        assert (out[0], out_dot[0]) == (number, dot)
    (_, out_dot) = jvp(lambda x, y: (y, x), (1.0, 2.0), (0.25, 0.5))
    assert repr(out_dot) == "(0.5, 0.25)"


@pytest.mark.parametrize("x", [np.float32(3.0), np.float64(3.0), np.ones(())])
def test_the_tangent_of_an_array_that_is_handed_through_has_its_dtype(x):
    _, out_dot = jvp(lambda x: x, (x,), (1.0,))
    assert typeof(out_dot) == typeof(x)


def test_a_whole_tangent_of_a_float_that_is_handed_through_is_a_float():
    assert repr(jvp(lambda x: x, (3.0,), (1,))) == "(3.0, np.float64(1.0))"
