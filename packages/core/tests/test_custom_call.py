"""Functions with rules of their own, as users write them: the arguments of a call, and rules for batches on lists."""

import numpy as np
import pytest

from calque_core import eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.custom.custom_call import one_spelling
from calque_core.engine import CustomFunction, flat_batch, returned_pair


class batched_function(CustomFunction):
    """A function with a rule for batches, `rule`, as the package of batching defines one."""

    verb = "batched_function"

    def rules(self, call):
        return call.rules((self.rule,), batch=flat_batch(call, self.rule))


def function_with(rule, fun=lambda x, y: x * y, **statics):
    f = batched_function(fun, **statics)
    f.rule = rule
    return f


def batch_rule_of(f, *args):
    """Return the rule, on lists, in the only equation of a call."""
    (eqn,) = make_jaxpr(f)(*args).eqns
    assert eqn.primitive is lax.custom_vmap_call_p
    return eqn.params["rules"].batch


def test_the_static_arguments_go_by_one_of_the_two_names():
    assert one_spelling("argnums", (), 1) == 1
    assert one_spelling("argnames", "n", ()) == "n"


def test_a_function_with_a_rule_for_batches_evaluates_and_stages_as_itself():
    f = function_with(None)
    assert f(2.0, 3.0) == 6.0
    jaxpr = make_jaxpr(f)(2.0, 3.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 2.0, 3.0) == [6.0]


def test_a_rule_takes_the_arguments_of_the_function_and_a_flag_for_each_array():
    seen = []

    def rule(size, in_batched, p, y):
        seen.append((size, in_batched, sorted(p)))
        return p["a"] * p["b"] * y, True

    f = function_with(rule, lambda p, y: p["a"] * p["b"] * y)
    batch = batch_rule_of(f, {"a": 1.0, "b": 2.0}, 3.0)
    outs, out_mapped = batch(2, [True, False, False], [np.ones(2), np.float64(2.0), np.float64(3.0)])
    assert ([x.tolist() for x in outs], out_mapped) == ([[6.0, 6.0]], [True])
    assert seen == [(2, [{"a": True, "b": False}, False], ["a", "b"])]


def test_a_rule_takes_static_arguments_at_their_positions():
    f = function_with(lambda size, in_batched, x, n: (x**n, in_batched[0]), lambda x, n: x**n, static_argnums=1)
    batch = batch_rule_of(lambda x: f(x, 3), 2.0)
    assert batch(2, [True], [np.array([1.0, 2.0])])[0][0].tolist() == [1.0, 8.0]


def test_one_flag_may_stand_for_a_container_of_results():
    f = function_with(lambda size, in_batched, x, y: ((x, y), True), lambda x, y: (x, y))
    assert batch_rule_of(f, 1.0, 1.0)(2, [True, True], [np.ones(2), np.ones(2)])[1] == [True, True]


def test_a_rule_that_runs_before_its_function_is_compared_with_the_types_of_the_function():
    traced = []

    def fun(x, y):
        traced.append([(typeof(z).shape, typeof(z).weak_type) for z in (x, y)])
        return x * y

    f = function_with(lambda size, in_batched, x, y: (np.ones((2, 3), "float32"), True), fun)
    call, leaves = f.signature.call((np.ones((2, 3)), 2.0), {})
    with pytest.raises(TypeError, match=r"returned outputs of types \(float32\[3\]\), but .* \(float64\[3\]\)"):
        f.rules(call).batch(2, [True, False], leaves)
    assert traced == [[((3,), False), ((), True)]]


def test_a_value_that_is_no_pair_is_refused():
    assert returned_pair("the rule", [1, 2], "whether") == [1, 2]
    for value in (np.ones(3), (1, 2, 3), None):
        with pytest.raises(TypeError, match=r"the rule returned .*\. Return a pair: the output, and whether\."):
            returned_pair("the rule", value, "whether")
