"""`custom_vmap`: what a rule for batches takes and returns; `sequential_vmap`: one element after the other."""

import functools

import numpy as np
import pytest

from calque_batching import custom_vmap, sequential_vmap, vmap
from calque_core import MissingRuleError, Primitive, UnexpectedTracerError, eval_jaxpr, lax, make_jaxpr

XS = np.linspace(0.1, 0.9, 3)

unmappable_p = Primitive("unmappable")  # the identity, without a batching rule
unmappable_p.def_impl(lambda x: x)
unmappable_p.def_abstract_eval(lambda x_aval: x_aval.strip_weak_type())


def recorded(seen, out_batched=True):
    """Return x + y, with the rule 7 x y, which records what it is given."""

    @custom_vmap
    def f(x, y):
        return x + y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append((axis_size, in_batched, np.shape(x), np.shape(y)))
        return 7.0 * x * y, out_batched

    return f


def test_a_call_without_a_batch_is_the_function():
    assert recorded([])(1.0, 2.0) == 3.0
    assert vmap(lambda x: x + recorded([])(1.0, 2.0))(XS).tolist() == (XS + 3.0).tolist()


def test_a_rule_gets_batches_in_front_and_the_flags_of_the_arguments():
    seen = []
    out = vmap(recorded(seen), in_axes=(1, None), out_axes=1)(np.ones((2, 3)), 2.0)
    assert seen == [(3, [True, False], (3, 2), ())]
    assert out.tolist() == [[14.0] * 3] * 2


def test_arguments_and_results_are_pytrees():
    f = custom_vmap(lambda p, *, y=None: {"out": (p["x"], p["n"])})

    @f.def_vmap
    def rule(axis_size, in_batched, p, y):
        assert in_batched == [{"x": True, "n": False}, None]
        return {"out": (p["x"], p["n"] + 1)}, {"out": (True, False)}

    g = custom_vmap(lambda p, y=None: {"out": (p["x"], p["n"])})
    g.def_vmap(rule)
    out = vmap(lambda x: g({"x": x, "n": 2}))(XS)["out"]
    assert (out[0].tolist(), out[1].tolist()) == (XS.tolist(), [3] * 3)
    with pytest.raises(TypeError, match="the keyword-only argument 'y' has no position"):
        vmap(lambda x: f({"x": x, "n": 2}, y=None))(XS)


def test_keywords_and_defaults_are_passed_by_position():
    f = custom_vmap(lambda x, scale=2.0: x * scale)
    f.def_vmap(lambda size, in_batched, x, scale: (x * scale + 1.0, in_batched[0]))
    np.testing.assert_allclose(vmap(lambda x: f(scale=3.0, x=x))(XS), 3.0 * XS + 1.0)
    np.testing.assert_allclose(vmap(f)(XS), 2.0 * XS + 1.0)


def test_static_arguments_are_no_arrays():
    f = custom_vmap(lambda x, kind: -x, static_argnames="kind")
    f.def_vmap(lambda size, in_batched, x, kind: (x * len(kind), in_batched == [True, False]))
    np.testing.assert_allclose(vmap(lambda x: f(x, "four"))(XS), 4.0 * XS)


def test_def_vmap_is_a_decorator_that_returns_the_rule():
    f = custom_vmap(lambda x: x)
    rule = lambda size, in_batched, x: (x, True)
    assert f.def_vmap(rule) is rule
    with pytest.raises(TypeError, match="def_vmap got 3"):
        f.def_vmap(3)


def test_a_method_may_have_a_rule():
    class Scale:
        factor = 3.0

        @functools.partial(custom_vmap, static_argnums=0)
        def apply(self, x):
            return self.factor * x

        @apply.def_vmap
        def apply_batch(size, in_batched, self, x):  # noqa: N805  the rule takes the arguments in order
            return 10.0 * self.factor * x, True

    np.testing.assert_allclose(vmap(Scale().apply)(XS), 30.0 * XS)


def test_an_outer_vmap_maps_the_operations_of_the_rule():
    seen = []
    out = vmap(vmap(recorded(seen), in_axes=(0, None)))(np.ones((2, 3)), np.array([1.0, 2.0]))
    assert out.tolist() == [[7.0] * 3, [14.0] * 3]
    assert [shapes for *_, shapes in seen] == [()]


def test_a_staged_call_keeps_the_rule_and_a_mapped_call_is_what_the_rule_records():
    staged = make_jaxpr(recorded([]))(1.0, 2.0)
    out = vmap(lambda x: eval_jaxpr(staged, staged.consts, x, 2.0)[0])(XS)
    np.testing.assert_allclose(out, 14.0 * XS)
    mapped = make_jaxpr(vmap(recorded([])))(XS, XS)
    assert [eqn.primitive.name for eqn in mapped.eqns] == ["mul", "mul"]


def test_a_rule_runs_once_for_a_loop_of_a_staged_function():
    seen = []
    f = recorded(seen)
    loop = lambda x: lax.scan(lambda carry, _: (f(carry, 2.0), None), x, None, length=5)[0]
    np.testing.assert_allclose(vmap(loop)(XS), 14.0**5 * XS)
    assert len(seen) == 1


def test_the_rule_may_use_the_name_of_the_axis_of_an_outer_vmap():
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda size, in_batched, x: (x - lax.pmean(x, "rows"), True))
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(vmap(vmap(f), axis_name="rows")(rows), rows - rows.mean(axis=0))


@pytest.mark.parametrize("function_closes", [True, False])
def test_a_function_or_rule_that_closes_over_an_element_is_refused(function_closes):
    def scaled(w):
        f = custom_vmap((lambda x: w * x) if function_closes else (lambda x: 2.0 * x))
        f.def_vmap(lambda size, in_batched, x: (w * x, True))
        return f(w)

    message = (
        r"<lambda> \(test_custom_vmap\.py:\d+\) at .* closes over an element of a batch, .* Pass the value as an arg"
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        vmap(scaled)(XS)


def test_a_function_may_close_over_a_value_that_is_not_mapped():
    def scaled(x, w):
        f = custom_vmap(lambda x: w * x)
        f.def_vmap(lambda size, in_batched, x: (10.0 * w * x, True))
        return f(x)

    np.testing.assert_allclose(vmap(scaled, in_axes=(0, None))(XS, 3.0), 30.0 * XS)
    jaxpr = make_jaxpr(vmap(scaled, in_axes=(0, None)))(XS, 3.0)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, XS, 3.0)[0], 30.0 * XS)


def test_a_result_that_the_rule_does_not_map_may_be_returned_unmapped():
    f = custom_vmap(lambda x: (x, 1.0))
    f.def_vmap(lambda size, in_batched, x: ((x, 1.0), (True, False)))
    assert vmap(f, out_axes=(0, None))(XS)[1] == 1.0
    with pytest.raises(ValueError, match=r"out_axes is None for the output\[0\]"):
        vmap(f, out_axes=(None, None))(XS)


# One element after the other


def test_sequential_vmap_maps_a_function_that_has_no_batching_rule():
    fun = lambda x, y: unmappable_p.bind(x * y)
    with pytest.raises(MissingRuleError, match="Batching rule for 'unmappable' not implemented"):
        vmap(fun)(XS, XS)
    np.testing.assert_allclose(vmap(sequential_vmap(fun))(XS, XS), XS * XS)
    np.testing.assert_allclose(vmap(sequential_vmap(fun), in_axes=(0, None))(XS, 2.0), 2.0 * XS)
    np.testing.assert_allclose(
        vmap(sequential_vmap(fun), in_axes=(None, 1))(2.0, np.ones((2, 3))), np.full((3, 2), 2.0)
    )


def test_sequential_vmap_is_a_loop_at_every_depth():
    f = sequential_vmap(lambda x: unmappable_p.bind(x) + 1.0)
    rows = np.arange(6.0).reshape(2, 3)
    assert vmap(vmap(f))(rows).tolist() == (rows + 1.0).tolist()
    loops = []
    jaxpr = make_jaxpr(vmap(vmap(f)))(rows)
    while eqns := [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.scan_p]:
        loops.append(eqns[0].params["length"])
        jaxpr = eqns[0].params["jaxpr"]
    assert sorted(loops) == [2, 3]


def test_sequential_vmap_takes_pytrees_and_batches_without_elements():
    f = sequential_vmap(lambda p: (p["x"] + p["y"], 1))
    xs = {"x": XS, "y": 2.0 * XS}
    out, one = vmap(f)(xs)
    np.testing.assert_allclose(out, 3.0 * XS)
    assert one.tolist() == [1, 1, 1]
    assert vmap(f)({"x": np.ones((0, 2)), "y": np.ones((0, 2))})[0].shape == (0, 2)
    assert f({"x": 1.0, "y": 2.0}) == (3.0, 1)
