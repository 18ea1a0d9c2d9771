import numpy as np
import pytest

from calque_core import Trace, current_trace, eval_jaxpr, hand_down, jaxprs_in_params, lax, make_jaxpr, tracing
from calque_harvest import call_and_reap, harvest, plant, reap, sow

XS = np.arange(1.0, 5.0)


def layer(x):
    return sow(x * 2.0, name="b")


def scanned(mode, reverse=False):
    def f(x):
        def step(c, a):
            c = sow(c * a + 1.0, name="c", mode=mode)
            return c, c * 2.0

        return lax.scan(step, x, XS, reverse=reverse)

    return f


def by_hand(x, reverse=False):
    carries = {}
    for i in reversed(range(4)) if reverse else range(4):
        x = carries[i] = x * XS[i] + 1.0
    return np.array([carries[i] for i in range(4)])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_stacks_the_values_of_its_steps(reverse):
    (last, ys), reaps = call_and_reap(scanned("append", reverse))(0.5)
    np.testing.assert_allclose(reaps["c"], by_hand(0.5, reverse))
    np.testing.assert_allclose(ys, 2.0 * reaps["c"])
    assert last == reaps["c"][0 if reverse else -1]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_keeps_the_last_value(reverse):
    (last, _), reaps = call_and_reap(scanned("clobber", reverse))(0.5)
    assert reaps == {"c": last}


def test_a_strict_name_in_a_scan_is_refused():
    words = "the name 'c' of mode 'strict' is sown at .* in the body of scan at .*mode='append' to stack"
    for run in (reap(scanned("strict")), lambda x: plant(scanned("strict"))({"c": 1.0}, x)):
        with pytest.raises(ValueError, match=words):
            run(0.5)


@pytest.mark.parametrize("reverse", [False, True])
def test_each_step_takes_its_row_of_a_plant(reverse):
    rows = np.array([3.0, 1.0, 4.0, 1.5])
    (last, ys), reaps = harvest(scanned("append", reverse))({"c": rows}, 0.5)
    assert reaps == {}
    np.testing.assert_array_equal(ys, 2.0 * rows)
    assert last == rows[0 if reverse else -1]


def test_each_step_takes_a_plant_of_the_last_value():
    last, ys = plant(scanned("clobber"))({"c": 3.0}, 0.5)
    assert (last, ys.tolist()) == (3.0, [6.0] * 4)


def nested(x):
    def outer(c, a):
        def inner(c, b):
            c = sow(c + a * b, name="c", mode="append")
            sow(lax.concatenate([lax.reshape(c, (1,)), lax.reshape(a, (1,))], 0), name="pair", mode="clobber")
            return sow(c, name="c", mode="append"), c

        c, ys = lax.scan(inner, c, XS[:2])
        return sow(c, name="c", mode="append"), ys

    return lax.scan(outer, sow(x, name="c", mode="append"), XS[:3])


def test_nested_loops_stack_row_after_row():
    (last, ys), reaps = call_and_reap(nested)(0.0)
    expected, c = [0.0], 0.0
    for a in (1.0, 2.0, 3.0):
        for b in (1.0, 2.0):
            c += a * b
            expected += [c, c]
        expected.append(c)
    assert reaps["c"].tolist() == expected
    assert reaps["pair"].tolist() == [c, 3.0]
    again = plant(nested)({"c": reaps["c"]}, 0.0)
    np.testing.assert_array_equal(again[1], ys)
    assert again[0] == last


def test_two_names_in_a_loop_keep_their_own_values():
    def f(x):
        def step(c, a):
            sow(a * 10.0, name="rows", mode="append")
            c = sow(c + a, name="last", mode="clobber")
            return sow(c, name="more", mode="append"), None

        return lax.scan(step, x, XS)[0]

    assert {name: value.tolist() for name, value in reap(f)(0.0).items()} == {
        "rows": [10.0, 20.0, 30.0, 40.0],
        "last": 10.0,
        "more": [1.0, 3.0, 6.0, 10.0],
    }
    assert harvest(f)({"last": 2.0}, 0.0)[1]["more"].tolist() == [2.0] * 4


def test_a_loop_without_steps_keeps_the_value_before_it():
    def f(x, xs):
        x = sow(x, name="last", mode="clobber")
        step = lambda c, a: (sow(sow(c + a, name="last", mode="clobber"), name="all", mode="append"), None)
        return lax.scan(step, x, xs)[0]

    reaps = reap(f)(7.0, XS[:0])
    assert (reaps["last"], reaps["all"].shape) == (7.0, (0,))
    assert reap(lambda x: lax.scan(lambda c, a: (sow(c, name="z", mode="clobber"), None), x, XS[:0])[0])(7.0) == {
        "z": 0
    }
    assert plant(f)({"last": 5.0, "all": np.ones(0)}, 7.0, XS[:0]) == 5.0


def looped(mode):
    def f(x):
        return lax.while_loop(lambda c: c < 100.0, lambda c: sow(c * 3.0, name="c", mode=mode), x)

    return f


def test_a_while_loop_keeps_the_last_value(called):
    for f in (looped("clobber"), lambda x: called(looped("clobber"), x)):
        assert call_and_reap(f)(2.0) == (162.0, {"c": 162.0})
        assert call_and_reap(f)(200.0) == (200.0, {"c": 0.0})
        assert plant(f)({"c": 500.0}, 2.0) == 500.0


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("append", "The number of steps is unknown, so they cannot be stacked. Use mode='clobber'"),
        ("strict", "Use mode='clobber', which keeps the last value"),
    ],
)
def test_a_while_loop_refuses_other_modes(mode, words):
    for run in (reap(looped(mode)), lambda x: plant(looped(mode))({"c": np.ones(1)}, x)):
        with pytest.raises(ValueError, match=f"of mode '{mode}' is sown.* in the body of while_loop at .*{words}"):
            run(2.0)


def test_a_name_in_a_condition_is_refused():
    f = lambda x: lax.while_loop(lambda c: sow(c, name="z") < 9.0, lambda c: c * 2.0, x)
    assert f(1.0) == 16.0
    with pytest.raises(ValueError, match=r"the condition of while_loop at .* sows 'z'.*Sow in the body"):
        reap(f)(1.0)


def test_a_branch_gives_the_values_of_the_case():
    f = lambda x: lax.cond(
        x > 0.0, lambda x: sow(x * 2.0, name="b"), lambda x: -sow(sow(x, name="c") * 3.0, name="b") + 1.0, x
    )
    g = lambda x: lax.cond(
        x > 0.0, lambda x: sow(sow(x * 2.0, name="b"), name="c"), lambda x: sow(sow(x, name="c") * 3.0, name="b"), x
    )
    words = r"sow different values under the name 'c': one sows float64\[\] \(strict\) at .*, another nothing"
    with pytest.raises(ValueError, match=words):
        reap(f)(1.0)
    assert reap(g)(1.0) == {"c": 2.0, "b": 2.0}
    assert reap(g)(-1.0) == {"c": -1.0, "b": -3.0}
    assert plant(g)({"b": 7.0}, -1.0) == 7.0


def test_branches_sow_one_type():
    f = lambda x: lax.cond(True, lambda x: sow(x, name="b"), lambda x: sow(x[:2], name="b").sum() + x, XS)
    with pytest.raises(ValueError, match=r"one sows float64\[2\] \(strict\) at .*, another float64\[4\] \(strict\) at"):
        reap(f)(XS)


def test_branches_with_constants_of_their_own():
    first, second = np.arange(4.0), np.arange(4.0, 8.0)
    f = lambda x, n: lax.switch(
        n,
        [lambda x: sow(x + first, name="b"), lambda x: sow(x * second, name="b") + first, lambda x: sow(x, name="b")],
        x,
    )
    for n, expected in enumerate((XS + first, XS * second, XS)):
        jaxpr = make_jaxpr(lambda x, n: f(x, n))(XS, n)
        g = lambda x, n, jaxpr=jaxpr: lax.jit_p.bind(x, n, jaxpr=jaxpr, name="g", compiler=None)[0]
        np.testing.assert_array_equal(reap(f)(XS, n)["b"], expected)
        np.testing.assert_array_equal(reap(g)(XS, n)["b"], expected)


def test_appended_plants_go_through_branches_and_loops():
    def f(x):
        def step(c, a):
            first = lambda c: sow(c * 2.0, name="c", mode="append")
            second = lambda c: -sow(c + a, name="c", mode="append")
            return lax.cond(a > 2.0, first, second, c), None

        return lax.scan(step, x, XS)[0]

    reaps = reap(f)(0.5)
    assert reaps["c"].tolist() == [1.5, 0.5, -1.0, -2.0]
    assert plant(f)({"c": reaps["c"] + 1.0}, 0.5) == -1.0


class Watch(Trace):
    """Notes the programs of the operations that it evaluates."""

    drops_custom_derivatives = True

    def __init__(self, parent):
        super().__init__(parent)
        self.programs = []

    def process_primitive(self, primitive, args, params):
        self.programs += [id(jaxpr) for jaxpr in jaxprs_in_params(params)]
        return hand_down(self.parent, primitive, args, params)


@pytest.mark.parametrize(
    "f",
    [scanned("append"), scanned("clobber"), looped("clobber"), lambda x: lax.cond(x > 0.0, layer, layer, x)],
    ids=["append", "clobber", "while", "cond"],
)
def test_the_programs_of_loops_and_branches_are_made_once(f):
    jaxpr = make_jaxpr(f)(0.5)
    run = reap(lambda x: eval_jaxpr(jaxpr, jaxpr.consts, x))
    with tracing(Watch(current_trace())) as trace:
        run(0.5)
        first, trace.programs = trace.programs, []
        run(0.75)
    assert len(first) > 0
    assert trace.programs == first


def test_the_program_of_a_step_has_no_name_left():
    assert "sow" not in str(make_jaxpr(reap(nested))(0.0))
