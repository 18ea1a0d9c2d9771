"""Loops over batches.  The bug classes named in the tests are those of other implementations of this rule."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import Effect, Primitive, ShapeDtypeStruct, check_jaxpr, eval_jaxpr, lax, make_jaxpr, pure_callback
from calque_core.lax import fori_loop, while_loop, while_p

pytestmark = pytest.mark.sampled(keep=0.1)


def doubled(n, x):
    """Double `x` n times."""
    return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (np.int64(0), x))


def gcd(a, b):
    return while_loop(lambda s: s[1] != 0, lambda s: (s[1], lax.rem(s[0], s[1])), (a, b))[0]


def collatz(n):
    def body(s):
        n, steps = s
        return lax.cond(lax.rem(n, 2) == 0, lambda: lax.div(n, 2), lambda: 3 * n + 1), steps + 1

    return while_loop(lambda s: s[0] > 1, body, (n, 0))[1]


def loops(fun, *args):
    """Return the loops that `fun` stages."""
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return [eqn for eqn in jaxpr.eqns if eqn.primitive is while_p]


# Against the stack of single loops


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
def test_elements_take_as_many_steps_as_each_needs(dtype, check_batching):
    check_batching(doubled, [(), ()], ["int64", dtype])
    check_batching(doubled, [(), (2, 3)], ["int64", dtype])


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_carries_of_every_dtype_map(dtype, check_batching):
    def fun(n, x):
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[2], s[1]), (0, x, ~x if dtype == "bool" else -x))

    check_batching(fun, [(), (2,)], ["int32", dtype])


def test_an_unmapped_number_of_steps_maps(check_batching):
    check_batching(lambda x: doubled(3, x), [(2,)], ["float64"])


def test_constants_of_the_condition_and_of_the_body_map(check_batching):
    def fun(limit, factor, x):
        return while_loop(lambda s: lax.reduce_sum(s[0]) < limit, lambda s: (s[0] + 1.0, lax.dot(factor, s[1])), (x, x))

    check_batching(fun, [(), (2, 2), (2,)], ["float64", "float64", "float64"])


def test_a_loop_inside_a_loop_maps(check_batching):
    def fun(n, m):
        def outer(s):
            i, total = s
            return i + 1, total + fori_loop(0, m + i, lambda j, t: t + j, 0)

        return while_loop(lambda s: s[0] < n, outer, (np.int64(0), np.int64(0)))

    check_batching(fun, [(), ()], ["int64", "int64"])


def test_a_loop_inside_a_scan_maps(check_batching):
    def fun(c, ns):
        return lax.scan(lambda c, n: (doubled(n, c)[1] + 1.0, c), c, ns)

    check_batching(fun, [(), (3,)], ["float64", "int64"])


def test_a_scan_inside_a_loop_maps(check_batching):
    def fun(n, xs):
        def body(s):
            i, c = s
            return i + 1, lax.scan(lambda c, x: (c * 0.5 + x, None), c, xs)[0]

        return while_loop(lambda s: s[0] < n, body, (0, 0.0))

    check_batching(fun, [(), (3,)], ["int32", "float64"])


def test_a_fori_loop_with_traced_bounds_maps(check_batching):
    check_batching(
        lambda start, stop, x: [fori_loop(start, stop, lambda i, c: c * 2 + i, x)], [(), (), ()], ["int64"] * 3
    )


def test_branches_inside_a_loop_map():
    ns = np.array([1, 2, 3, 6, 7, 27])

    assert vmap(collatz)(ns).tolist() == [0, 1, 7, 8, 16, 111]


# An element that is done


def test_a_finished_element_keeps_its_values():
    done_at, x = vmap(doubled)(np.array([0, 1, 5, 2]), np.array([1.0, 1.0, 1.0, 3.0]))

    assert done_at.tolist() == [0, 1, 5, 2]
    assert x.tolist() == [1.0, 2.0, 32.0, 12.0]


def test_an_element_that_is_done_does_not_start_again():
    """Its condition may hold again after a further step: those are none of its own."""

    def fun(x):
        return while_loop(lambda x: lax.rem(x, 5) != 0, lambda x: x + 1, x)

    assert vmap(fun)(np.array([0, 1, 4, 7, 10])).tolist() == [0, 5, 5, 10, 10]


@pytest.mark.parametrize("staged", [False, True])
def test_the_body_meets_no_state_that_it_was_not_written_for(staged):
    """Elements that are done, or never start, would divide integers by zero, which evaluation refuses."""
    a, b = np.array([12, 18, 7, 5]), np.array([8, 0, 21, 5])
    fun = vmap(gcd)
    if staged:
        jaxpr = make_jaxpr(fun)(a, b)
        check_jaxpr(jaxpr)
        fun = lambda a, b: eval_jaxpr(jaxpr, jaxpr.consts, a, b)[0]

    assert fun(a, b).tolist() == [4, 18, 7, 5]


def test_a_divisor_that_belongs_to_an_element_which_never_starts_is_not_used():
    def fun(n, d):
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + lax.div(12, d)), (0, 0))[1]

    jaxpr = make_jaxpr(vmap(fun))(np.array([0, 2, 1]), np.array([0, 3, 4]))
    out = eval_jaxpr(jaxpr, jaxpr.consts, np.array([0, 2, 1]), np.array([0, 3, 4]))

    assert out[0].tolist() == [0, 8, 3]


def test_a_counter_for_all_that_runs_past_the_end_of_an_element_warns_of_nothing():
    fun = vmap(lambda n: fori_loop(0, n, lambda i, c: c + 1.0 / (n - i), 0.0))

    assert fun(np.array([0, 1, 2])).tolist() == [0.0, 1.0, 1.5]


def primitives_of_step(fun, *args):
    """Return the names of the primitives in the body of the one loop that `fun` stages."""
    [eqn] = loops(fun, *args)
    return [e.primitive.name for e in eqn.params["body_jaxpr"].eqns]


def test_a_step_of_arithmetic_guards_its_operands():
    names = primitives_of_step(vmap(gcd), np.array([12, 7]), np.array([8, 21]))

    assert names == ["guard", "guard", "rem", "select_n", "select_n", "ne", "and"]


@pytest.mark.parametrize("inner", ["a loop", "a call", "an effect"])
def test_a_step_that_may_not_end_or_may_raise_starts_from_a_state_of_its_own(inner):
    """A loop may not end from a state that its condition excludes, and Python code may raise there, compiled or not."""
    step = {
        "a loop": lambda x: while_loop(lambda y: y < 1.0, lambda y: y * 2.0, x),
        "a call": lambda x: pure_callback(
            lambda y: y * 2.0, ShapeDtypeStruct((), x.dtype), x, vmap_method="expand_dims"
        ),
        "an effect": lambda x: noted([], frozenset([Effect("print", exact=False)])).bind(x * 2.0),
    }[inner]

    names = primitives_of_step(vmap(lambda x: while_loop(lambda x: x < 9.0, lambda x: step(x) + 1.0, x)), np.ones(2))

    assert "guard" not in names
    assert names[0] == "select_n"


def test_no_element_that_starts_leaves_the_values_as_they_were():
    count, x = vmap(doubled)(np.zeros(3, int), np.arange(3.0))

    assert (count.tolist(), x.tolist()) == ([0, 0, 0], [0.0, 1.0, 2.0])


def test_each_step_asks_the_condition_once():
    conditions = []
    asked_p = Primitive("asked")
    asked_p.def_impl(lambda x, y: conditions.append(np.shape(x)) or np.less(x, y))
    asked_p.def_abstract_eval(lambda x, y: lax.lt_p.abstract(x, y)[0])
    asked_p.def_rule("batch", lambda args, dims: (asked_p.bind(*args), 0))

    out = vmap(lambda x: while_loop(lambda x: asked_p.bind(x, np.int64(3)), lambda x: x + 1, x))(np.array([0, 2]))

    assert out.tolist() == [3, 3]
    assert conditions == [(2,)] * 4  # before the first step, and after each of three


# Which values become mapped


def test_an_unmapped_condition_leaves_a_plain_loop():
    [eqn] = loops(vmap(lambda x: doubled(3, x), out_axes=(None, 0)), np.ones(2))

    assert [v.aval.shape for v in eqn.outvars] == [(), (2,)]
    assert [v.aval.str_short() for v in eqn.params["cond_jaxpr"].outvars] == ["bool[]"]
    assert [e.primitive.name for e in eqn.params["body_jaxpr"].eqns] == ["add", "mul"]


def test_a_counter_that_no_mapped_value_reaches_is_one_for_all():
    """https://github.com/jax-ml/jax/pull/7781 and issues/3164: more of the carry was batched than need be."""
    [eqn] = loops(vmap(lambda n, x: fori_loop(0, n, lambda i, c: c * i, x)), np.array([1, 2]), np.ones(2))

    product = next(e for e in eqn.params["body_jaxpr"].eqns if e.primitive is lax.mul_p)
    counter = next(e for e in eqn.params["body_jaxpr"].eqns if e.primitive is lax.add_p)
    assert counter.outvars[0].aval.shape == ()
    assert product.outvars[0].aval.shape == (2,)


def test_constants_and_carries_that_stay_the_same_stay_unmapped():
    """The same of values that no step changes, though elements take different numbers of steps."""
    w = np.ones((2, 2))

    def fun(n, x):
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, lax.dot(w, s[1]), s[2]), (0, x, np.ones(4)))

    mapped = vmap(fun, (0, None), (0, 0, None))
    [eqn] = loops(mapped, np.array([1, 3]), np.ones(2))

    assert w.shape in [v.aval.shape for v in eqn.invars]
    assert (4,) in [v.aval.shape for v in eqn.invars]
    assert (2, 4) not in [v.aval.shape for v in eqn.invars]
    assert mapped(np.array([1, 3]), np.ones(2))[2].tolist() == [1.0] * 4


def test_a_loop_of_unmapped_values_is_left_alone():
    [eqn] = loops(vmap(lambda x: x + doubled(3, 1.0)[1]), np.ones(2))

    assert [v.aval.shape for v in eqn.outvars] == [(), ()]


def test_a_carry_becomes_mapped_by_the_body():
    def fun(x):
        return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[2], x), (0, 0.0, 0.0))

    mapped = vmap(fun, out_axes=(None, 0, 0))

    assert mapped(np.array([1.0, 2.0]))[1].tolist() == [1.0, 2.0]
    assert [v.aval.shape for v in loops(mapped, np.ones(2))[0].outvars] == [(), (2,), (2,)]


# Nested batches


def test_the_condition_may_be_mapped_by_one_axis_and_the_carry_by_the_other():
    """https://github.com/jax-ml/jax/issues/2960 and 3204: silent where the sizes are equal."""
    ns, xs = np.array([0, 1, 3]), np.array([1.0, 2.0, 3.0])
    expected = xs * 2.0 ** ns[:, None]

    assert vmap(vmap(doubled, (None, 0)), (0, None))(ns, xs)[1].tolist() == expected.tolist()
    assert vmap(vmap(doubled, (0, None)), (None, 0))(ns, xs)[1].tolist() == expected.T.tolist()


def test_the_condition_may_be_mapped_by_both_axes():
    a, b = np.array([12, 18, 7]), np.array([8, 0, 21])

    assert vmap(vmap(gcd, (None, 0)), (0, None))(a, b).tolist() == np.gcd.outer(a, b).tolist()
    assert vmap(vmap(gcd))(np.stack([a, b]), np.stack([b, a])).tolist() == np.gcd([a, b], [b, a]).tolist()


def test_three_batches_agree_with_loops():
    ns, xs = np.array([[0, 2], [1, 3]]), np.arange(4.0).reshape(2, 2)

    out = vmap(vmap(vmap(lambda n, x: doubled(n, x)[1], (None, 0)), (0, None)))(ns, xs)

    assert out.tolist() == [[[x * 2.0**n for x in xs[i]] for n in ns[i]] for i in range(2)]


# Effects and named axes


def noted(runs, effects=frozenset(["note"])):
    """Return a primitive that notes the shapes it runs on and gives its operand."""
    primitive = Primitive("noted", effects=effects)
    primitive.def_impl(lambda x: runs.append(np.shape(x)) or x)
    primitive.def_abstract_eval(lambda x_aval: x_aval)
    primitive.def_rule("batch", lambda args, dims: (primitive.bind(*args), dims[0]))
    return primitive


def test_an_effect_happens_once_in_each_step_of_the_batch():
    """https://github.com/jax-ml/jax/issues/20628: it happened again in the condition."""
    body_runs, condition_runs = [], []
    in_body, in_condition = noted(body_runs), noted(condition_runs)

    def fun(x):
        return while_loop(
            lambda s: in_condition.bind(s[0]) < 3, lambda s: (s[0] + 1, in_body.bind(s[1]) * 2), (np.int64(0), x)
        )

    vmap(fun, out_axes=(None, 0))(np.ones(2))

    assert body_runs == [(2,)] * 3
    assert condition_runs == [()] * 4


@pytest.mark.parametrize("place", ["condition", "body"])
def test_an_effect_is_refused_under_a_mapped_condition(place):
    note_p = noted([])

    def fun(n):
        seen = note_p.bind if place == "condition" else lambda i: i
        done = note_p.bind if place == "body" else lambda i: i
        return while_loop(lambda i: seen(i) < n, lambda i: done(i) + 1, np.int64(0))

    expected = (
        r"while_loop at test_rules_while_loop.py:\d+ .* got a condition that differs from element to element under "
        r"vmap, but it has the effect note. Finished elements would cause it again. Move the effect out of"
    )
    with pytest.raises(TypeError, match=expected):
        vmap(fun)(np.array([1, 2]))


def test_a_loop_that_names_the_axis_is_batched_without_mapped_operands():
    def fun(x):
        return x + while_loop(lambda s: s < 2, lambda s: s + 1 + lax.axis_index("i"), np.int32(0))

    assert vmap(fun, axis_name="i")(np.zeros(3, np.int32)).tolist() == [2, 2, 3]


def test_other_elements_see_the_last_values_of_a_finished_element():
    def fun(n):
        def body(s):
            i, x, _ = s
            return i + 1, x * 2, lax.psum(x, "i")

        return while_loop(lambda s: s[0] < n, body, (0, n * 0 + 1, 0))

    steps, x, seen = vmap(fun, axis_name="i")(np.array([0, 1, 3]))

    assert steps.tolist() == [0, 1, 3]
    assert x.tolist() == [1, 2, 8]
    assert seen.tolist() == [0, 3, 1 + 2 + 4]


# One element after the other


def halvings(x, **how):
    return while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] / 2.0, s[1] + 1), (x, np.int64(0)), **how)


@pytest.mark.parametrize("max_steps", [None, 9])
@pytest.mark.parametrize("xs", [[], [0.5], [3.0, 0.5, 100.0]])
def test_map_gives_the_results_of_single_loops(xs, max_steps):
    xs = np.array(xs)
    values, counts = vmap(lambda x: halvings(x, batched="map", max_steps=max_steps))(xs)
    assert counts.tolist() == [halvings(x)[1] for x in xs]
    np.testing.assert_array_equal(values, [halvings(x)[0] for x in xs])


def test_map_takes_the_steps_of_each_element_alone_and_in_order():
    seen = []
    noted_p = Primitive("noted", effects=frozenset(["print"]))
    noted_p.def_impl(lambda x: seen.append(float(x)) or x - 1.0)
    noted_p.def_abstract_eval(lambda x_aval: x_aval)

    vmap(lambda x: while_loop(lambda v: v > 0.0, noted_p.bind, x, batched="map"))(np.array([2.0, 0.0, 1.0]))

    assert seen == [2.0, 1.0, 1.0]


def test_map_is_one_loop_if_the_condition_is_the_same_for_all_elements():
    f = lambda n, x: while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0), (0, x), batched="map")[1]
    (eqn,) = loops(vmap(f, (None, 0)), 3, np.ones(4))
    assert (eqn.params["batched"], eqn.outvars[1].aval.shape) == ("map", (4,))


def test_map_refuses_a_loop_that_names_the_axis():
    f = lambda x: while_loop(lambda v: v < 9.0, lambda v: v + lax.psum(v, "i"), x, batched="map")
    message = (
        r"while_loop at .* got batched='map' .*, but the loop names the axis 'i' of the vmap\. An element that runs"
    )
    with pytest.raises(ValueError, match=message):
        vmap(f, axis_name="i")(np.ones(3))
