"""Functions with rules of their own under vmap: the function, and every rule, for whole batches."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_batching.batch_trace import AxisData
from calque_batching.rules.calls.custom import CustomBatch
from calque_core import (
    CustomRules,
    ShapedArray,
    UndefinedPrimal,
    Zero,
    check_jaxpr,
    current_trace,
    eval_jaxpr,
    lax,
    make_jaxpr,
    trace_state_clean,
    typeof,
)
from calque_core.lax import custom_jvp_call_p

XS = np.linspace(0.1, 0.9, 3)


def call(fun, *args, name="f", functions=(), **rules):
    """Call `fun` as a function with rules on lists, as the package of derivatives does with its users' rules."""
    custom_rules = CustomRules(name=name, key=(id(fun), *map(id, rules.values())), functions=(fun, *functions), **rules)
    flat = lambda *xs: [fun(*xs)]
    return current_trace().process_custom_derivative(custom_jvp_call_p, flat, args, {"rules": custom_rules})[0]


def steep(x, y):
    """Return x sin y; the rule gives 2 x_dot sin y + 3 y_dot x."""

    def jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        terms = [] if type(x_dot) is Zero else [2.0 * x_dot * lax.sin(y)]
        terms += [] if type(y_dot) is Zero else [3.0 * y_dot * x]
        return [x * lax.sin(y)], [sum(terms[1:], terms[0]) if terms else Zero(typeof(x))]

    def fwd(primals, nonzeros):
        x, y = primals
        return [x * lax.sin(y)], [x, y], lambda res, cts: [2.0 * cts[0] * lax.sin(res[1]), 3.0 * cts[0] * res[0]]

    return call(lambda x, y: x * lax.sin(y), x, y, jvp=jvp, fwd=fwd)


def rules_of_batch(f, in_axes, *args):
    """Return the rules in the only equation of vmap(f), which are rules for whole batches."""
    jaxpr = make_jaxpr(vmap(f, in_axes))(*args)
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is custom_jvp_call_p
    return eqn.params["rules"]


# The function


def test_a_function_with_rules_maps_over_every_axis(check_batching):
    check_batching(steep, [(2,), (2,)], ["float64", "float64"])
    check_batching(steep, [(2, 4), ()], ["float64", "float64"])


def test_a_recorded_call_maps_over_every_axis(check_batching):
    def recorded(x, y):
        jaxpr = make_jaxpr(steep)(x, y)
        return eval_jaxpr(jaxpr, jaxpr.consts, x, y)[0]

    check_batching(recorded, [(2,), (2,)], ["float64", "float64"])


def test_a_function_may_close_over_elements_of_the_batch(check_batching):
    def f(x, a):
        return call(lambda y: y * a, x, jvp=lambda primals, tangents: ([primals[0] * a], [tangents[0] * a]))

    check_batching(f, [(2,), (2,)], ["float64", "float64"])


def test_a_function_may_name_the_axis():
    f = lambda x: call(lambda y: y - lax.pmean(y, "i"), x, jvp=lambda p, t: (p, t))
    staged = make_jaxpr(vmap(f, axis_name="i"))(XS)
    for out in (vmap(f, axis_name="i")(XS), *eval_jaxpr(staged, staged.consts, XS)):
        np.testing.assert_allclose(out, XS - XS.mean(), atol=1e-15)


# Rules of derivatives


def test_a_jvp_rule_takes_whole_batches_and_gives_them_with_the_axis_in_front():
    rules = rules_of_batch(steep, (1, None), np.ones((2, 3)), 0.5)
    x, x_dot = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    (out,), (out_dot,) = rules.jvp([x, 0.5], [x_dot, 0.1])
    np.testing.assert_allclose(out, (x * np.sin(0.5)).T)
    np.testing.assert_allclose(out_dot, (2.0 * x_dot * np.sin(0.5) + 0.3 * x).T)


def test_a_tangent_that_is_zero_is_zero_for_each_element():
    rules = rules_of_batch(steep, (0, 0), XS, XS)
    (out,), (out_dot,) = rules.jvp([XS, XS], [Zero(typeof(XS)), np.ones(3)])
    np.testing.assert_allclose(out, XS * np.sin(XS))
    np.testing.assert_allclose(out_dot, 3.0 * XS)
    _, (out_dot,) = rules.jvp([XS, XS], [Zero(typeof(XS)), Zero(typeof(XS))])
    assert (type(out_dot), out_dot.aval) == (Zero, typeof(XS))


def test_a_vjp_rule_keeps_whole_batches_and_sums_the_cotangent_of_what_all_elements_share():
    rules = rules_of_batch(steep, (0, None), XS, 0.5)
    (out,), residuals, bwd = rules.fwd([XS, 0.5], [True, True])
    x_bar, y_bar = bwd(residuals, [np.ones(3)])
    np.testing.assert_allclose(out, XS * np.sin(0.5))
    np.testing.assert_allclose(x_bar, 2.0 * np.sin(0.5) * np.ones(3))
    np.testing.assert_allclose(y_bar, 3.0 * XS.sum())


def test_cotangents_go_where_the_axis_of_the_argument_is():
    rules = rules_of_batch(steep, (1, 0), np.ones((2, 3)), np.ones((3, 2)))
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    _, residuals, bwd = rules.fwd([x, y], [True, True])
    x_bar, y_bar = bwd(residuals, [np.ones((3, 2))])
    np.testing.assert_allclose(x_bar, 2.0 * np.sin(y).T)
    np.testing.assert_allclose(y_bar, 3.0 * x.T)


def test_cotangents_that_are_zero_stay_none():
    def fwd(primals, nonzeros):
        return [primals[0]], [], lambda residuals, cts: [None, Zero(ShapedArray((), "float64"))]

    rules = rules_of_batch(lambda x, y: call(lambda x, y: x, x, y, fwd=fwd), (0, 0), XS, XS)
    _, residuals, bwd = rules.fwd([XS, XS], [True, True])
    assert bwd(residuals, [np.ones(3)]) == [None, None]


def test_a_transpose_rule_takes_one_element_of_what_is_linear():
    seen = []

    def transpose(operands, cts):
        seen.append([x.aval for x in operands if type(x) is UndefinedPrimal])
        return [5.0 * cts[0] * operands[1], None]

    f = lambda x, k: call(lambda x, k: k * x, x, k, jvp=lambda p, t: (p, t), transpose=transpose)
    rules = rules_of_batch(f, (0, 0), XS, XS)
    x_bar, k_bar = rules.transpose([UndefinedPrimal(typeof(XS)), XS], [np.ones(3)])
    np.testing.assert_allclose(x_bar, 5.0 * XS)
    assert k_bar is None
    assert seen == [[ShapedArray((), "float64")]]


def test_rules_of_a_batch_of_batches_are_batched_twice():
    rules = rules_of_batch(vmap(steep, (0, None)), (0, 0), np.ones((2, 3)), np.ones(2))
    x, y = np.arange(6.0).reshape(2, 3), np.array([0.5, 0.7])
    _, (out_dot,) = rules.jvp([x, y], [np.ones((2, 3)), Zero(typeof(y))])
    np.testing.assert_allclose(out_dot, 2.0 * np.sin(y)[:, None] * np.ones((2, 3)))


def test_rules_of_batches_have_a_key_of_their_own():
    rules = CustomRules("f", key="k", functions=())
    keys = {CustomBatch(AxisData(None, n), dims).rules(rules).key for n, dims in ((3, [0]), (3, [1]), (4, [0]))}
    assert len(keys) == 3
    absent = CustomBatch(AxisData(None, 3), [0]).rules(rules)
    assert (absent.jvp, absent.fwd, absent.transpose, absent.batch) == (None, None, None, None)


# Rules of batching


def with_batch_rule(seen, out_batched=True):
    """Return the function x y, with the rule that a batch of it is 7 x y."""

    def batch(size, is_mapped, args):
        seen.append((size, is_mapped, [np.shape(x) for x in args]))
        x, y = args
        return [7.0 * x * y], [out_batched]

    return lambda x, y: call(lambda x, y: x * y, x, y, batch=batch)


def test_a_batching_rule_takes_arguments_with_the_axis_in_front_and_knows_which_have_one():
    seen = []
    out = vmap(with_batch_rule(seen), (1, None))(np.ones((2, 3)), 2.0)
    assert seen == [(3, [True, False], [(3, 2), ()])]
    assert out.tolist() == [[14.0, 14.0]] * 3


def test_a_batching_rule_is_kept_by_a_recorded_call():
    seen = []
    jaxpr = make_jaxpr(with_batch_rule(seen))(1.0, 2.0)
    out = vmap(lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x, 2.0)[0])(XS)
    np.testing.assert_allclose(out, 14.0 * XS)


def test_a_batching_rule_is_used_where_the_batch_is_recorded():
    jaxpr = make_jaxpr(vmap(with_batch_rule([])))(XS, XS)
    check_jaxpr(jaxpr)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, XS, XS)[0], 7.0 * XS**2)


def test_a_batching_rule_is_used_where_something_is_mapped_and_not_elsewhere():
    seen = []
    f = with_batch_rule(seen)
    assert vmap(lambda x: x + f(2.0, 3.0))(XS).tolist() == (XS + 6.0).tolist()
    assert vmap(lambda x: x + f(2.0, 3.0), axis_name="i")(XS).tolist() == (XS + 6.0).tolist()
    assert f(2.0, 3.0) == 6.0
    assert seen == []


def test_a_result_that_is_the_same_for_all_elements_is_repeated():
    f = lambda x: call(lambda x: x, x, batch=lambda size, is_mapped, args: ([4.0], [False]))
    assert vmap(f)(XS).tolist() == [4.0] * 3


def test_an_outer_batch_maps_the_rule_of_the_inner_one():
    seen = []
    out = vmap(vmap(with_batch_rule(seen), (0, None)), (0, 0))(np.ones((2, 3)), np.array([1.0, 2.0]))
    assert out.tolist() == [[7.0] * 3, [14.0] * 3]
    assert seen == [(3, [True, False], [(3,), ()])]


def test_an_error_in_a_rule_leaves_the_thread_as_it_was():
    def batch(size, is_mapped, args):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        vmap(lambda x: call(lambda x: x, x, batch=batch))(XS)
    assert trace_state_clean()


def test_a_function_that_meets_nothing_of_the_axis_is_the_same_for_all_elements():
    f = vmap(lambda x, y: (x, steep(y, 1.0)), (0, None), out_axes=(0, None))
    jaxpr = make_jaxpr(f)(XS, 2.0)
    (eqn,) = jaxpr.eqns
    assert eqn.outvars[0].aval.shape == ()
    assert eval_jaxpr(jaxpr, jaxpr.consts, XS, 2.0)[1] == 2.0 * np.sin(1.0)


def test_a_function_that_closes_over_elements_only_meets_the_axis():
    def inner(a):
        return call(lambda y: y * a, 2.0, jvp=lambda p, t: ([p[0] * a], [t[0] * a]))

    def nested(a):
        return call(lambda y: y + inner(a), a, jvp=lambda p, t: ([p[0] + inner(a)], [t[0]]))

    for f, factor in ((inner, 2.0), (nested, 3.0)):
        jaxpr = make_jaxpr(vmap(f))(XS)
        np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, XS)[0], factor * XS)
