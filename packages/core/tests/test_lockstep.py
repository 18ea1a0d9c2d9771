import numpy as np
import pytest

from calque_core import AbstractMesh, debug, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.jaxprs.named_axes import communicated_axes
from calque_core.ops.meshes.lockstep import positions_of

LINE, PLANE = AbstractMesh((4,), ("i",)), AbstractMesh((2, 2), ("x", "y"))
ROWS, X = P("i"), np.arange(4.0)


def divided(f, mesh=LINE, in_specs=ROWS, out_specs=ROWS):
    return shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def test_groups_are_in_the_order_of_the_axes_that_they_run_along():
    positions = positions_of({"x": 2, "y": 2, "z": 2})
    assert positions.groups(["z", "x"]) == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert positions.groups([]) == [[n] for n in range(8)]


def test_a_scan_with_a_collective_runs_in_lockstep():
    def f(x):
        step = lambda carry, t: (carry + lax.psum(carry * t, "i"), carry)
        return lax.scan(step, x, np.array([1.0, 2.0]))

    carry, ys = divided(f, out_specs=(P("i"), P(None, "i")))(X)

    np.testing.assert_array_equal(ys, [X, X + 6.0])
    np.testing.assert_array_equal(carry, X + 6.0 + 2 * (X + 6).sum())


def test_a_reverse_scan_keeps_the_places_of_its_results():
    f = lambda x: lax.scan(lambda c, t: (c, lax.psum(t, "i")), x, np.array([1.0, 2.0]), reverse=True)[1]

    np.testing.assert_array_equal(divided(f, out_specs=P())(X), [4.0, 8.0])


def test_a_loop_whose_condition_is_common_runs_in_lockstep():
    f = lambda x: lax.while_loop(lambda c: lax.psum(c, "i")[0] < 100.0, lambda c: c * 2.0, x)

    np.testing.assert_array_equal(divided(f)(X), X * 32)


def test_a_branch_that_each_position_chooses_runs_at_each_position_alone():
    f = lambda x: lax.cond(lax.axis_index("i") % 2 == 0, lambda x: x + lax.axis_index("i"), lambda x: -x, x)

    np.testing.assert_array_equal(divided(f)(X), [0.0, -1.0, 4.0, -3.0])


def test_a_loop_that_each_position_leaves_at_its_own_step():
    f = lambda x: lax.while_loop(lambda c: c[0] < 10.0, lambda c: c * 2.0 + 1.0, x)

    np.testing.assert_array_equal(divided(f)(X), [15.0, 15.0, 11.0, 15.0])


def test_groups_that_meet_along_one_axis_choose_along_the_other():
    def f(x):
        return lax.cond(lax.axis_index("x") == 0, lambda x: lax.psum(x, "y"), lambda x: x, x)

    np.testing.assert_array_equal(divided(f, PLANE, P(("x", "y")), P(("x", "y")))(X), [1.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("f", "verb"),
    [
        (lambda x: lax.cond(x[0] > 1.0, lambda x: lax.psum(x, "i"), lambda x: x, x), "cond"),
        (lambda x: lax.while_loop(lambda c: c[0] < 2.0, lambda c: lax.psum(c, "i") + 1.0, x), "while"),
    ],
)
def test_positions_that_would_wait_without_end_are_refused(f, verb):
    with pytest.raises(ValueError, match=rf"{verb} at test_lockstep.py:\d+.* differs among the positions along 'i'"):
        divided(f)(X)


def test_effects_happen_at_each_position_in_order(capsys):
    def f(x):
        debug.print("at {}", lax.axis_index("i"))
        return x

    divided(f)(X)

    assert capsys.readouterr().out.splitlines() == [f"at {i}" for i in range(4)]


def test_communicated_axes_leave_out_the_place_and_the_axes_bound_inside():
    inner = divided(lambda x: lax.psum(x, ("x", "y")) + lax.axis_index("y"), PLANE, P(), P())
    jaxpr = make_jaxpr(lambda x: inner(x) + lax.psum(x, "z") + lax.axis_index("w"), axis_env=[("z", 2), ("w", 2)])(1.0)
    assert communicated_axes([jaxpr]) == {"z"}
