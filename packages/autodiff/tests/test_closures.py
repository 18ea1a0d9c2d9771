"""Closures made explicit: derivatives by the values that a function closes over."""

import numpy as np
import pytest

from calque_autodiff import closure_convert, custom_vjp, grad, jvp, vjp
from calque_core import lax, make_jaxpr
from calque_core.jaxprs.captured import search_for_tracers
from calque_core.traces.tracer import is_tracer


def test_without_tracers_the_function_is_unchanged():
    table = np.arange(3.0)
    converted, tracers = closure_convert(lambda x: {"out": x["a"] * table}, {"a": np.ones(3)})
    assert tracers == []
    np.testing.assert_array_equal(converted({"a": np.full(3, 2.0)})["out"], 2.0 * table)


def test_the_tracers_of_a_closure_are_its_last_arguments():
    kinds = []

    def f(x, n):
        converted, tracers = closure_convert(lambda y: x * y + n, 1.0)
        kinds.extend(tracers)
        return converted(2.0, *tracers)

    jaxpr = make_jaxpr(f)(3.0, 4)
    assert [str(x.aval) for x in kinds] == ["~float64[]", "~int64[]"]
    assert all(map(is_tracer, kinds))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "convert_element_type", "add"]


def test_the_function_holds_no_tracer():
    def f(x):
        converted, tracers = closure_convert(lambda y: x * y, 1.0)
        assert search_for_tracers([converted]).tracers == []
        return converted(2.0, *tracers)

    assert len(make_jaxpr(f)(3.0).eqns) == 1


def test_a_function_with_a_rule_has_a_derivative_by_the_closure_of_its_argument():
    def solve(fun, x):
        converted, tracers = closure_convert(fun, x)

        @custom_vjp
        def run(x, *closure):
            return converted(x, *closure)

        run.defvjp(lambda *args: vjp(converted, *args), lambda pull, ct: pull(ct))
        return run(x, *tracers)

    loss = lambda w: solve(lambda x: lax.sin(w * x), 0.7)
    step = 1e-6
    np.testing.assert_allclose(grad(loss)(1.3), (loss(1.3 + step) - loss(1.3 - step)) / (2 * step), 1e-8)
    np.testing.assert_allclose(
        grad(grad(loss))(1.3), (grad(loss)(1.3 + step) - grad(loss)(1.3 - step)) / (2 * step), 1e-8
    )


def test_forward_mode_passes_through_a_converted_function():
    def f(w):
        converted, tracers = closure_convert(lambda x: w * w * x, 1.0)
        return converted(5.0, *tracers)

    assert jvp(f, (3.0,), (1.0,)) == (45.0, 30.0)


def test_arguments_of_another_structure_are_refused():
    converted, _ = closure_convert(lambda x, y: x["a"] + y, {"a": 1.0}, 2.0)
    message = r"closure_convert of <lambda> .* got 1 arguments of .*\. Give 2 arguments of the structure .*, then the 0"
    with pytest.raises(TypeError, match=message):
        converted({"a": 1.0})
    with pytest.raises(TypeError, match=r"got 2 arguments of the structure"):
        converted(1.0, 2.0)


def test_an_example_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"closure_convert of .*: x is 'a' of type str"):
        closure_convert(lambda x: x, "a")
