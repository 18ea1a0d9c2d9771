"""Scans over batches.  The bug classes named in the tests are those of other implementations of this rule."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import scan, scan_p


def running(c, xs, reverse=False):
    """Return the last total and the running totals of products."""
    return scan(lambda total, x: (total + 2 * x, total * x), c, xs, reverse=reverse)


def scans(fun, *args):
    """Return the parameters of the scans that `fun` stages."""
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]


# Against the stack of single scans


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex64"])
def test_carries_and_inputs_map_over_every_axis(dtype, reverse, check_batching):
    check_batching(lambda c, xs: running(c, xs, reverse), [(), (4,)], [dtype, dtype])


@pytest.mark.parametrize("length", [0, 1, 3])
def test_lengths_from_zero_on_map_over_every_axis(length, check_batching):
    check_batching(lambda c, xs: running(c, xs), [(2,), (length, 2)], ["float64", "float64"])


def test_closed_over_values_map_over_every_axis(check_batching):
    def fun(w, c, xs):
        return scan(lambda c, x: (lax.tanh(lax.dot(w, c) + x), lax.reduce_sum(c)), c, xs)

    check_batching(fun, [(2, 2), (2,), (3, 2)], ["float64"] * 3)


def test_a_scan_without_inputs_maps(check_batching):
    check_batching(lambda c, w: scan(lambda c, _: (c * w, c), c, None, length=3), [(), ()], ["float64", "float64"])


def test_trees_and_several_carries_map(check_batching):
    def fun(a, b, xs):
        def step(carry, x):
            return {"a": carry["b"], "b": carry["a"] + x["x"]}, (carry["a"], x["x"] * 2)

        carry, (first, second) = scan(step, {"a": a, "b": b}, {"x": xs})
        return carry["a"], carry["b"], first, second

    check_batching(fun, [(), (), (3,)], ["float64", "float64", "float64"])


def test_a_scan_inside_a_scan_maps(check_batching):
    def fun(c, xs):
        def outer(c, row):
            total, partial = scan(lambda t, x: (t * x + 1.0, t), c, row)
            return total, lax.reduce_sum(partial)

        return scan(outer, c, xs)

    check_batching(fun, [(), (2, 3)], ["float64", "float64"])


def test_a_branch_inside_a_scan_maps(check_batching):
    def fun(c, xs):
        return scan(lambda c, x: (lax.cond(x > 0, lambda: c + x, lambda: -c), c), c, xs)

    check_batching(fun, [(), (4,)], ["float64", "float64"])


def test_a_fori_loop_with_known_bounds_maps(check_batching):
    check_batching(lambda x: [lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, x)], [(2,)], ["float64"])


# Which values become mapped


def test_the_scanned_axis_stays_in_front_and_the_batch_axis_behind_it_is_not_moved():
    mapped = vmap(running, (None, 2), (0, 2))

    jaxpr = make_jaxpr(mapped)(np.ones(2), np.ones((4, 2, 3)))

    [eqn] = [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]
    assert eqn.invars[-1] is jaxpr.invars[-1]
    assert [v.aval.shape for v in eqn.params["jaxpr"].invars] == [(3, 2), (2, 3)]
    assert [aval.shape for aval in jaxpr.out_avals] == [(3, 2), (4, 2, 3)]


def test_a_carry_that_no_mapped_value_reaches_stays_unmapped():
    def fun(xs):
        return scan(lambda c, x: ((c[0] + 1, c[1] + x), c[0]), (0, 0.0), xs)

    mapped = vmap(fun, out_axes=((None, 0), None))
    (count, total), counts = mapped(np.ones((3, 4)))

    assert (count, total.tolist(), counts.tolist()) == (4, [4.0] * 3, [0, 1, 2, 3])
    [eqn] = scans(mapped, np.ones((3, 4)))
    assert [v.aval.shape for v in eqn.outvars] == [(), (3,), (4,)]


def test_carries_become_mapped_one_after_the_other():
    def fun(x):
        return scan(lambda c, _: ((c[1], c[2], x, c[3]), c[0]), (0.0, 0.0, 0.0, 7.0), None, length=4)

    (a, b, c, d), first = vmap(fun, out_axes=((0, 0, 0, None), 0))(np.array([1.0, 2.0]))

    assert [v.tolist() for v in (a, b, c)] == [[1.0, 2.0]] * 3
    assert d == 7.0
    assert first.tolist() == [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0]]


def test_constants_and_inputs_stay_unmapped():
    w, xs = np.ones((2, 2)), np.ones((3, 2))

    [eqn] = scans(vmap(lambda c: scan(lambda c, x: (lax.dot(w, c) + x, x), c, xs)[0]), np.ones((5, 2)))

    assert [v.aval.shape for v in eqn.invars] == [(2, 2), (5, 2), (3, 2)]
    assert [v.aval.shape for v in eqn.outvars] == [(5, 2), (3, 2)]


def test_a_scan_of_unmapped_values_is_left_alone():
    [eqn] = scans(vmap(lambda x: x + running(0.0, np.ones(3))[0]), np.ones(2))

    assert [v.aval.shape for v in eqn.outvars] == [(), (3,)]


@pytest.mark.parametrize(("reverse", "unroll"), [(False, 1), (True, 3)])
def test_length_direction_and_unrolling_are_kept(reverse, unroll):
    def fun(xs):
        return scan(lambda c, x: (c + x, c), 0.0, xs, reverse=reverse, unroll=unroll)

    [eqn] = scans(vmap(fun), np.ones((2, 5)))

    assert {name: eqn.params[name] for name in ("length", "reverse", "unroll", "num_carry")} == {
        "length": 5,
        "reverse": reverse,
        "unroll": unroll,
        "num_carry": 1,
    }


def test_the_batched_step_is_made_once():
    jaxpr = make_jaxpr(running)(0.0, np.ones(3))
    call = vmap(lambda xs: eval_jaxpr(jaxpr, jaxpr.consts, 0.0, xs))

    first, second = (scans(call, np.ones((2, 3)))[0].params["jaxpr"] for _ in range(2))

    assert first is second


# Bug classes


def test_vmaps_over_both_axes_of_equal_size_agree_with_loops():
    """https://github.com/jax-ml/jax/issues/36958: the batch axis was taken for the scanned one."""
    w, xs = np.arange(9.0).reshape(3, 3) / 9, np.arange(27.0).reshape(3, 3, 3) / 27

    def fun(c, xs):
        return scan(lambda c, x: (lax.dot(w, c) + x, c * x), c, xs)

    for in_axes in [(None, 0), (None, 1), (None, 2), (1, 2), (0, 1)]:
        c = w if in_axes[0] is not None else w[0]
        last, ys = vmap(fun, in_axes)(c, xs)
        for i in range(3):
            c_i = c if in_axes[0] is None else np.take(c, i, in_axes[0])
            want_last, want_ys = fun(c_i, np.take(xs, i, in_axes[1]))
            np.testing.assert_allclose(last[i], want_last, rtol=1e-14)
            np.testing.assert_allclose(ys[i], want_ys, rtol=1e-14)


def test_nested_vmaps_over_different_operands_agree_with_loops():
    """https://github.com/jax-ml/jax/issues/2960, of scan: axes of one size are not taken for one another."""
    cs, xs = np.arange(3.0), np.arange(9.0).reshape(3, 3)

    last, ys = vmap(vmap(running, (None, 0)), (0, None))(cs, xs)

    for i, c in enumerate(cs):
        for j, row in enumerate(xs):
            want_last, want_ys = running(c, row)
            assert last[i, j] == want_last
            assert ys[i, j].tolist() == want_ys.tolist()


def test_a_branch_with_an_unmapped_result_inside_a_scan():
    """https://github.com/jax-ml/jax/issues/1263 and 2264: branches whose results are not all mapped."""

    def fun(p, x):
        return scan(lambda c, _: (lax.cond(p, lambda: c, lambda: x), c), 1.0, None, length=2)

    last, ys = vmap(fun, (None, 0))(False, np.array([5.0, 6.0]))
    assert (last.tolist(), ys.tolist()) == ([5.0, 6.0], [[1.0, 5.0], [1.0, 6.0]])
    last, ys = vmap(fun, (0, None))(np.array([True, False]), 5.0)
    assert (last.tolist(), ys.tolist()) == ([1.0, 5.0], [[1.0, 1.0], [1.0, 5.0]])


# Named axes


def test_a_scan_that_names_the_axis_is_batched_without_mapped_operands():
    def fun(x):
        return scan(lambda c, _: (c + lax.axis_index("i"), c), np.int32(0), None, length=3)[0] + x

    assert vmap(fun, axis_name="i")(np.zeros(3, np.int32)).tolist() == [0, 3, 6]


def test_elements_see_one_another_in_each_step():
    def fun(x):
        return scan(lambda c, _: (c + lax.psum(c, "i"), c), x, None, length=2)

    last, ys = vmap(fun, axis_name="i")(np.array([1.0, 2.0]))

    assert last.tolist() == [1.0 + 3.0 + 9.0, 2.0 + 3.0 + 9.0]
    assert ys.tolist() == [[1.0, 4.0], [2.0, 5.0]]
