from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, checkpoint_name, checkpoint_policies, grad, jvp, linearize, remat, vjp
from calque_autodiff.checkpoint_policies import nothing_saveable, save_from_both_policies
from calque_autodiff.verbs import checkpoint as checkpoint_module
from calque_autodiff.verbs.checkpoint import BorrowingTrace
from calque_core import (
    TracerBoolConversionError,
    check_jaxpr,
    eval_jaxpr,
    float0,
    is_tracer,
    lax,
    make_jaxpr,
    stage,
    typeof,
)
from calque_core.extend import JaxprTrace
from calque_core.lax import name_p, remat_p
from calque_pytree import tree_leaves

# Calls


def test_where_nobody_traces_it_is_the_function():
    seen = []

    @checkpoint
    def f(x):
        seen.append(type(x))
        return lax.sin(x) if x > 0 else x

    assert f(2.0) == np.sin(2.0)
    assert f(-2.0) == -2.0
    assert seen == [float, float]


def test_under_a_trace_it_is_one_operation():
    jaxpr = make_jaxpr(checkpoint(lambda x: lax.sin(lax.sin(x))))(1.0)
    check_jaxpr(jaxpr)
    [eqn] = jaxpr.eqns
    assert eqn.primitive is remat_p
    assert [e.primitive for e in eqn.params["jaxpr"].eqns] == [lax.sin_p, lax.sin_p]


def test_it_is_a_decorator_with_and_without_arguments():
    @checkpoint
    def plain(x):
        """Return the sine."""
        return lax.sin(x)

    @checkpoint(policy=checkpoint_policies.dots_saveable, prevent_cse=False)
    def other(x):
        return lax.sin(x)

    assert remat is checkpoint
    assert (plain.__name__, plain.__doc__) == ("plain", "Return the sine.")
    params = make_jaxpr(other)(1.0).eqns[0].params
    assert (params["policy"], params["prevent_cse"]) == (checkpoint_policies.dots_saveable, False)


def test_arguments_and_results_are_pytrees():
    @checkpoint
    def f(params, *, scale):
        return {"out": params["w"] * scale[0], "none": None, "n": 3}

    out = f({"w": np.arange(2.0)}, scale=(2.0,))
    assert (out["out"].tolist(), out["none"], out["n"]) == ([0.0, 2.0], None, 3)
    staged, dots = jvp(lambda w: f({"w": w}, scale=(2.0,)), (np.arange(2.0),), (np.ones(2),))
    assert (staged["out"].tolist(), staged["none"], staged["n"]) == ([0.0, 2.0], None, 3)
    assert dots["out"].tolist() == [2.0, 2.0]
    assert dots["n"].dtype == float0


def test_results_are_as_strong_evaluated_as_they_are_traced():
    same = checkpoint(lambda x: (x, x * 2.0, lax.sin(x)))
    assert [type(x) for x in same(2.0)] == [float, float, np.float64]
    assert [aval.weak_type for aval in make_jaxpr(same)(2.0).out_avals] == [True, True, False]


def test_functions_obey_the_laws(laws, spaced):
    laws(checkpoint(lambda x, y: lax.sin(x) * lax.exp(y) + x), spaced((3,)), 0.5)
    laws(checkpoint(lambda x: {"a": lax.sin(x) * 2.0, "b": (x, lax.cos(x))}), 0.7)


def test_a_function_that_closes_over_traced_values_obeys_the_laws(laws):
    laws(lambda x: checkpoint(lambda y: lax.sin(y) * x)(x * x), 0.7)
    laws(lambda x: checkpoint(lambda: lax.sin(x) * x)(), 0.7)


def test_what_it_closes_over_is_shared_not_copied():
    weights = np.linspace(0.0, 1.0, 9).reshape(3, 3)
    layer = checkpoint(lambda x: lax.sin(x @ weights))
    assert len(make_jaxpr(lambda x: layer(layer(layer(x))))(np.ones(3)).consts) == 1
    seen = []

    def f(x):
        [eqn] = [eqn for eqn in make_jaxpr(layer)(x).eqns if eqn.primitive is remat_p]
        seen.append(eqn.params["jaxpr"].consts)
        return layer(x)

    f(np.ones(3))
    assert seen == [()]
    weights[0, 0] = 5.0  # nobody holds it any more


def test_what_it_closes_over_may_be_overwritten_afterwards():
    weights, x = np.ones(3), np.zeros(3)
    f = checkpoint(lambda x: lax.reduce_sum(lax.sin(x) * weights))
    _, pull = vjp(f, x)
    _, f_lin = linearize(f, x)
    jaxpr = make_jaxpr(grad(f))(x)
    weights[:], x[:] = 5.0, 2.0
    assert pull(1.0)[0].tolist() == [1.0, 1.0, 1.0]
    assert f_lin(np.ones(3)) == 3.0
    assert eval_jaxpr(jaxpr, jaxpr.consts, np.zeros(3))[0].tolist() == [1.0, 1.0, 1.0]


def test_something_large_that_it_closes_over_cannot_be_overwritten_before():
    weights = np.ones(10_000)
    f = checkpoint(lambda x: lax.reduce_sum(lax.sin(x) * weights))

    def careless(x):
        y = f(x)
        weights[0] = 7.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        grad(careless)(np.zeros(10_000))


# Static arguments


def test_static_arguments_are_passed_as_they_are():
    seen = []

    def f(x, options, y, *, flag):
        seen.append((options, flag))
        return x * y if flag == "mul" and options == [1] else x

    g = checkpoint(f, static_argnums=1, static_argnames="flag")
    assert g(2.0, [1], 3.0, flag="mul") == 6.0
    assert grad(g, argnums=2)(2.0, [1], 3.0, flag="mul") == 2.0
    assert grad(checkpoint(f, static_argnums=(-2,), static_argnames=("flag",)))(2.0, [1], 3.0, flag="no") == 1.0
    assert seen == [([1], "mul"), ([1], "mul"), ([1], "no")]


def test_a_static_argument_decides_in_python():
    f = checkpoint(lambda x, train: lax.sin(x) if train else x, static_argnums=1)
    assert grad(f)(1.0, True) == np.cos(1.0)
    assert grad(f)(1.0, False) == 1.0


def test_static_arguments_that_do_not_exist_are_refused_in_words():
    def f(x):
        return x

    with pytest.raises(
        ValueError, match=r"checkpoint of f \(test_checkpoint.py:\d+\) got static_argnums=3, but the function has 1"
    ):
        checkpoint(f, static_argnums=3)
    with pytest.raises(
        ValueError, match=r"checkpoint of f .* got static_argnames='flag', which is no argument of the function"
    ):
        checkpoint(f, static_argnames="flag")
    with pytest.raises(TypeError, match=r"checkpoint of f .* got static_argnames=\(1,\). Give a name"):
        checkpoint(f, static_argnames=(1,))
    with pytest.raises(TypeError, match=r"got static_argnums='x'\. Give an int or a tuple of ints"):
        checkpoint(f, static_argnums="x")


# Refusals


def test_a_choice_by_a_traced_value_is_refused_with_a_hint():
    f = checkpoint(lambda x: x if x > 0 else -x)
    with pytest.raises(TracerBoolConversionError, match=r"under checkpoint of .*argument x.*static_argnums"):
        grad(f)(1.0)


def test_an_argument_that_is_no_array_is_refused_with_a_hint():
    f = checkpoint(lambda x, mode: x)
    with pytest.raises(TypeError, match=r"checkpoint of .*: mode is 'fast' of type str") as caught:
        f(1.0, "fast")
    assert "name it in static_argnums or static_argnames" in str(caught.value)


def test_what_is_no_function_is_refused_in_words():
    with pytest.raises(TypeError, match="checkpoint got 3 of type int"):
        checkpoint(3)
    with pytest.raises(TypeError, match="a generator or coroutine runs after"):
        checkpoint(lambda: (yield 1))


def test_what_is_no_policy_is_refused_in_words():
    with pytest.raises(TypeError, match=r"checkpoint of sin .*got 'dots' of type str as a policy. Give a function"):
        checkpoint(lax.sin, policy="dots")

    class Unhashable:
        __hash__ = None

        def __call__(self, *args, **params):
            return True

    with pytest.raises(TypeError, match=r"has no hash \(.*\). Give a function"):
        checkpoint(lax.sin, policy=Unhashable())


def test_a_policy_that_says_neither_yes_nor_no_is_refused_in_words():
    def policy(primitive, *avals, **params):
        return 3

    with pytest.raises(
        TypeError, match=r"the checkpoint policy policy \(test_checkpoint.py:\d+\) returned 3 for 'sin'.*True to save"
    ):
        grad(checkpoint(lax.sin, policy=policy))(1.0)
    assert grad(checkpoint(lax.sin, policy=lambda *_, **__: np.bool_(True)))(0.0) == 1.0


@pytest.mark.parametrize("combine", [lambda p: p, lambda p: save_from_both_policies(nothing_saveable, p)])
def test_a_policy_that_does_not_take_an_operation_is_refused_in_words(combine):
    expected = (
        r"the checkpoint policy <lambda> \(test_checkpoint.py:\d+\) does not take 'sin' at test_checkpoint.py:\d+ .*: "
        r".* takes 0 positional arguments but 2 were given. Let it take policy\(primitive, \*avals, \*\*params\)"
    )
    with pytest.raises(TypeError, match=expected):
        grad(checkpoint(lambda x: lax.sin(x), policy=combine(lambda: True)))(1.0)

    def policy(primitive, *avals, **params):
        return len(primitive)

    with pytest.raises(TypeError, match=r"^object of type 'Primitive' has no len"):
        grad(checkpoint(lax.sin, policy=combine(policy)))(1.0)


def test_a_result_that_is_no_array_is_refused_in_words():
    with pytest.raises(TypeError, match=r"checkpoint of .* returned 'x' of type str. Return arrays and scalars"):
        grad(checkpoint(lambda x: (x, "x")))(1.0)


# Memory


def residuals(fun, *args):
    """Return the arrays that the derivative of a function keeps."""
    return tree_leaves(vjp(fun, *args)[1])


def test_a_derivative_keeps_the_arguments_only():
    def chain(x):
        for _ in range(10):
            x = lax.sin(lax.exp(x))
        return x

    x = np.linspace(0.0, 0.5, 3)
    assert len(residuals(chain, x)) == 20
    [kept] = residuals(checkpoint(chain), x)
    assert kept.tolist() == x.tolist()
    assert len(residuals(lambda x: checkpoint(chain)(lax.cos(x)), x)) == 2


def test_a_derivative_keeps_no_tracer():
    _, f_lin = linearize(checkpoint(lambda x: lax.sin(x) * x), 2.0)
    assert not any(map(is_tracer, make_jaxpr(f_lin)(1.0).consts))


# Names


def test_a_name_is_given_to_each_leaf():
    jaxpr = make_jaxpr(lambda x: checkpoint_name({"a": x, "b": (x, None)}, "pair"))(1.0)
    assert [(eqn.primitive, eqn.params["name"]) for eqn in jaxpr.eqns] == [(name_p, "pair")] * 2


def test_a_name_that_is_no_string_is_refused_in_words():
    with pytest.raises(TypeError, match=r"checkpoint_name at .* got the name 3 of type int. Give a string"):
        checkpoint_name(1.0, 3)
    with pytest.raises(TypeError, match=r"checkpoint_name at .*: x\[0\] is 'a' of type str"):
        checkpoint_name(["a"], "name")


def test_a_checkpointed_function_is_staged_once_for_its_types(monkeypatch):
    stagings = []
    original = checkpoint_module._stage

    def counted(*args):
        stagings.append(args)
        return original(*args)

    monkeypatch.setattr(checkpoint_module, "_stage", counted)
    power = 2.0
    f = checkpoint(lambda x: lax.pow(x, power))
    assert [grad(f)(3.0), grad(f)(np.float64(4.0)), grad(f)(5.0)] == [6.0, 8.0, 10.0]
    assert len(stagings) == 2  # a Python scalar and a NumPy scalar
    power = 3.0
    assert grad(f)(2.0) == 12.0
    assert len(stagings) == 3


def test_static_arguments_of_a_checkpointed_function_have_programs_of_their_own():
    f = checkpoint(lambda x, n: lax.integer_pow(x, n), static_argnums=1)
    assert [grad(f)(2.0, 2), grad(f)(2.0, 3), grad(f)(2.0, 2)] == [4.0, 12.0, 4.0]


def test_its_trace_borrows_captured_arrays_and_leaves_them_uncopied_and_writable():
    table = np.arange(10_000.0)
    borrowed, kept = [stage(lambda x: [x * table], [typeof(1.0)], trace_type=t) for t in (BorrowingTrace, JaxprTrace)]
    assert np.shares_memory(borrowed.consts[0], table)
    assert table.flags.writeable
    assert not np.shares_memory(kept.consts[0], table)
