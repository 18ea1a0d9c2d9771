"""`optimize_remat`: what runs where nobody uses the residuals, and derivatives that do not depend on it."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, checkpoint_name, checkpoint_policies, custom_vjp, grad, jvp, linearize, vjp
from calque_core import (
    ShapeDtypeStruct,
    check_jaxpr,
    dce_jaxpr,
    debug,
    eval_jaxpr,
    jaxpr_from_dict,
    jaxpr_to_dict,
    lax,
    make_jaxpr,
    pure_callback,
    subjaxprs,
)

X, Y = np.array([0.2, -0.7, 1.3]), np.array([1.5, 0.4, -0.8])


def waves(optimize_remat, **options):
    """Return sin(x) * y; its forward half takes a loop that the function does not need."""

    @custom_vjp
    def function(x, y):
        return lax.sin(x) * y

    def fwd(x, y):
        half = lambda c, _: (0.5 * c, c)
        _, kept = lax.scan(half, lax.cos(x), None, length=3)
        return lax.sin(x) * y, (kept, x, y)

    def bwd(residuals, ct):
        kept, x, y = residuals
        return ct * kept[0] * y, ct * lax.sin(x)

    function.defvjp(fwd, bwd, optimize_remat=optimize_remat, **options)
    return function


def passes(fun, *args):
    """Return the programs of both passes of the gradient of a checkpointed function."""
    program = make_jaxpr(grad(checkpoint(fun)))(*args)
    check_jaxpr(program)
    return [eqn.params["jaxpr"] for eqn in program.eqns if eqn.primitive is lax.remat_p]


def count(program, name):
    """Return how many equations of a primitive a program holds, with the programs inside."""
    own = sum(eqn.primitive.name == name for eqn in program.eqns)
    return own + sum(count(inner, name) for inner in subjaxprs(program))


def difference(fun, x, direction, eps=1e-6):
    return (fun(x + eps * direction) - fun(x - eps * direction)) / (2 * eps)


def loss(function):
    return lambda x: lax.reduce_sum(lax.tan(0.3 * function(lax.exp(x), Y)))


def test_the_first_pass_calls_the_function_and_the_second_its_forward_half():
    first, second = passes(loss(waves(True)), X)
    assert (count(first, "jit"), count(first, "custom_vjp_call"), count(first, "custom_vjp_fwd")) == (1, 1, 0)
    assert (count(first, "scan"), count(second, "scan")) == (0, 1)
    assert count(second, "custom_vjp_fwd") == 1


def test_an_opaque_half_runs_in_the_second_pass_alone():
    calls = []

    def opaque(x):
        calls.append("fwd")
        return np.sin(x), np.cos(x)

    def gradient(optimize_remat):
        function = custom_vjp(lax.sin)

        def fwd(x):
            types = (ShapeDtypeStruct((3,), np.float64),) * 2
            return pure_callback(opaque, types, x)

        function.defvjp(fwd, lambda slope, ct: (ct * slope,), optimize_remat=optimize_remat)
        program = make_jaxpr(grad(checkpoint(lambda x: lax.reduce_sum(function(x)))))(X)
        calls.clear()
        [found] = eval_jaxpr(program, program.consts, X)
        np.testing.assert_allclose(found, np.cos(X), rtol=1e-15)
        return len(calls)

    assert (gradient(False), gradient(True)) == (2, 1)


def test_a_pullback_that_nobody_calls_leaves_a_call_of_the_function():
    program = make_jaxpr(lambda x: vjp(waves(True), x, Y)[0])(X)
    assert count(program, "scan") == 1
    smaller, _ = dce_jaxpr(program, [True])
    assert (count(smaller, "scan"), count(smaller, "custom_vjp_fwd"), count(smaller, "jit")) == (0, 0, 1)
    np.testing.assert_array_equal(eval_jaxpr(smaller, smaller.consts, X)[0], np.sin(X) * Y)


def test_a_call_that_is_left_keeps_the_rules():
    function = custom_vjp(lambda x: lax.sin(x))
    function.defvjp(lambda x: (lax.sin(x), lax.exp(x)), lambda e, ct: (7.0 * ct * e,), optimize_remat=True)
    program = make_jaxpr(lambda x: vjp(function, x)[0])(X)
    smaller, _ = dce_jaxpr(program, [True])
    [slope] = vjp(lambda x: eval_jaxpr(smaller, smaller.consts, x)[0], X)[1](np.ones(3))
    np.testing.assert_allclose(slope, 7.0 * np.exp(X), rtol=1e-15)


def test_results_that_nobody_uses_are_dropped_from_both_programs():
    function = waves(True)
    program = make_jaxpr(lambda x: vjp(function, x, Y)[1](np.ones(3))[0])(X)
    smaller, _ = dce_jaxpr(program, [True])
    [eqn] = [eqn for eqn in smaller.eqns if eqn.primitive is lax.custom_vjp_fwd_p]
    assert (len(eqn.outvars), eqn.params["fun"].eqns) == (1, ())
    assert count(smaller, "mul") < count(program, "mul")
    np.testing.assert_allclose(eval_jaxpr(smaller, smaller.consts, X)[0], np.cos(X) * Y, rtol=1e-15)


@pytest.mark.parametrize("wrap", [lambda f: f, checkpoint], ids=["plain", "checkpoint"])
def test_derivatives_agree_with_differences(wrap):
    fun = wrap(loss(waves(True)))
    direction = np.array([0.3, -0.5, 0.9])
    np.testing.assert_allclose(grad(fun)(X) @ direction, difference(fun, X, direction), rtol=1e-7)
    slope = lambda x: grad(fun)(x) @ direction
    np.testing.assert_allclose(grad(slope)(X) @ direction, difference(slope, X, direction), rtol=1e-7)


def test_traced_derivatives_agree_with_differences():
    direction = np.array([0.3, -0.5, 0.9])
    fun = checkpoint(loss(waves(True)))
    program = make_jaxpr(grad(lambda x: grad(fun)(x) @ direction))(X)
    found = eval_jaxpr(program, program.consts, X)[0] @ direction
    np.testing.assert_allclose(found, difference(lambda x: grad(fun)(x) @ direction, X, direction), rtol=1e-7)


def test_in_a_scan_each_step_calls_the_function_first():
    def loop(optimize_remat):
        function = waves(optimize_remat)
        step = checkpoint(lambda c, _: (function(c, Y), None))
        return lambda x: lax.reduce_sum(lax.scan(step, x, None, length=4)[0])

    program = make_jaxpr(grad(loop(True)))(X)
    forward = next(eqn for eqn in program.eqns if eqn.primitive is lax.scan_p)
    assert count(forward.params["jaxpr"], "custom_vjp_fwd") == 0
    direction = np.array([0.3, -0.5, 0.9])
    np.testing.assert_allclose(grad(loop(True))(X) @ direction, difference(loop(False), X, direction), rtol=1e-7)


def test_values_run_the_forward_half_as_it_is():
    function = custom_vjp(lambda x: x * x)

    def fwd(x):
        return x * x, 2.0 * x if x > 0 else 0.0 * x  # Python's branch

    function.defvjp(fwd, lambda slope, ct: (ct * slope,), optimize_remat=True)
    assert [float(grad(function)(x)) for x in (3.0, -3.0)] == [6.0, 0.0]


def test_symbolic_zeros_and_static_arguments():
    seen = []

    def scaled(x, y, power):
        return lax.sin(x) * y**power

    function = custom_vjp(scaled, static_argnums=2)

    def fwd(x, y, power):
        seen.append((x.perturbed, y.perturbed, power))
        return scaled(x.value, y.value, power), (lax.cos(x.value), y.value)

    def bwd(power, residuals, ct):
        slope, y = residuals
        return ct * slope * y**power, None

    function.defvjp(fwd, bwd, symbolic_zeros=True, optimize_remat=True)
    fun = lambda x: lax.reduce_sum(function(x, Y, 3))
    first, _ = passes(fun, X)
    assert count(first, "cos") == 0
    assert set(seen) == {(True, False, 3)}
    direction = np.array([0.3, -0.5, 0.9])
    np.testing.assert_allclose(grad(checkpoint(fun))(X) @ direction, difference(fun, X, direction), rtol=1e-7)


def test_functions_and_rules_may_close_over_traced_values():
    def outer(x, width):
        width = lax.stop_gradient(width)
        function = custom_vjp(lambda x: lax.tanh(x / width))
        fwd = lambda x: (function(x), 1.0 - lax.square(lax.tanh(x / width)))
        function.defvjp(fwd, lambda slope, ct: (ct * slope / width,), optimize_remat=True)
        return lax.reduce_sum(checkpoint(function)(x))

    program = make_jaxpr(grad(outer))(X, 0.7)
    first, second = (eqn.params["jaxpr"] for eqn in program.eqns if eqn.primitive is lax.remat_p)
    assert (count(first, "square"), count(second, "square")) == (0, 1)
    direction = np.array([0.3, -0.5, 0.9])
    expected = difference(lambda x: outer(x, 0.7), X, direction)
    np.testing.assert_allclose(eval_jaxpr(program, program.consts, X, 0.7)[0] @ direction, expected, rtol=1e-7)


def test_weak_results_keep_their_types():
    function = custom_vjp(lambda x: 2.0 * x)
    function.defvjp(lambda x: (lax.mul(2.0, x), lax.exp(x)), lambda e, ct: (2.0 * ct,), optimize_remat=True)
    program = make_jaxpr(grad(checkpoint(lambda x: function(x))))(1.5)
    check_jaxpr(program)
    assert eval_jaxpr(program, program.consts, 1.5) == [2.0]


def test_a_policy_saves_values_of_the_forward_half():
    function = custom_vjp(lambda x: lax.sin(x))

    def fwd(x):
        return lax.sin(x), checkpoint_name(lax.exp(x), "kept")

    function.defvjp(fwd, lambda e, ct: (ct * e,), optimize_remat=True)
    fun = lambda x: lax.reduce_sum(function(lax.tanh(x)))
    for policy, exponentials in ((None, [0, 1]), (checkpoint_policies.save_only_these_names("kept"), [1, 0])):
        program = make_jaxpr(grad(checkpoint(fun, policy=policy)))(X)
        check_jaxpr(program)
        halves = [eqn.params["jaxpr"] for eqn in program.eqns if eqn.primitive is lax.remat_p]
        assert [count(half, "exp") for half in halves] == exponentials
        expected = np.exp(np.tanh(X)) / np.cosh(X) ** 2
        np.testing.assert_allclose(eval_jaxpr(program, program.consts, X)[0], expected, rtol=1e-14)


def test_a_forward_half_with_an_effect_stays():
    shown = []
    function = custom_vjp(lambda x: lax.sin(x))

    def fwd(x):
        debug.callback(lambda value: shown.append(float(value)), x)
        return lax.sin(x), lax.cos(x)

    function.defvjp(fwd, lambda slope, ct: (ct * slope,), optimize_remat=True)
    program = make_jaxpr(lambda x: vjp(function, x)[0])(0.5)
    smaller, _ = dce_jaxpr(program, [True])
    eval_jaxpr(smaller, smaller.consts, 0.5)
    assert shown == [0.5]


def test_a_stored_program_has_both_halves():
    program = make_jaxpr(lambda x: vjp(waves(True), x, Y)[0])(X)
    data = jaxpr_to_dict(program)
    again = jaxpr_from_dict(data)
    assert jaxpr_to_dict(again) == data
    smaller, _ = dce_jaxpr(again, [True])
    assert count(smaller, "scan") == 0
    direction = np.array([0.3, -0.5, 0.9])
    fun = lambda x: lax.reduce_sum(eval_jaxpr(smaller, smaller.consts, x)[0])
    np.testing.assert_allclose(grad(fun)(X) @ direction, difference(fun, X, direction), rtol=1e-7)


def test_forward_mode_beside_it():
    function = custom_vjp(lambda x: lax.sin(x))
    fwd, bwd = lambda x: (lax.sin(x), lax.cos(x)), lambda slope, ct: (ct * slope,)
    function.defvjp(fwd, bwd, optimize_remat=True, jvp="fwd")
    np.testing.assert_allclose(jvp(checkpoint(function), (X,), (Y,))[1], np.cos(X) * Y, rtol=1e-15)
    np.testing.assert_allclose(linearize(function, X)[1](Y), np.cos(X) * Y, rtol=1e-15)
    program = make_jaxpr(lambda x: linearize(function, x)[1](Y))(X)
    np.testing.assert_allclose(eval_jaxpr(program, program.consts, X)[0], np.cos(X) * Y, rtol=1e-15)


def test_a_half_with_other_results_is_refused():
    function = custom_vjp(lambda x: lax.sin(x))
    function.defvjp(lambda x: ((lax.sin(x),), None), lambda _, ct: (ct,), optimize_remat=True)
    with pytest.raises(TypeError, match=r"Return one structure from the function and its rules\."):
        make_jaxpr(grad(checkpoint(lambda x: function(x))))(0.5)
