import numpy as np
import pytest

from calque_batching import vmap
from calque_core import check_jaxpr, lax, make_jaxpr
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.lax import custom_linear_solve, custom_linear_solve_p, linear_transpose_p

pytestmark = pytest.mark.sampled(keep=0.1)

SHIFT = 3.0 * np.eye(2)


def iterate(matvec, b):
    """Solve until the residual is that of rounding; the elements of a batch take different numbers of steps."""

    def step(state):
        x, r = state
        return x + 0.3 * r, b - matvec(x + 0.3 * r)

    return lax.while_loop(lambda s: lax.reduce_max(lax.abs(s[1])) > 1e-15, step, (0.0 * b, b))[0]


def solved(a, b):
    return custom_linear_solve(lambda x: (a + SHIFT) @ x, b, iterate, iterate)


def symmetric(a, b):
    return custom_linear_solve(lambda x: (a + a.T + SHIFT) @ x, b, iterate, symmetric=True)


def of_trees(a, b):
    def matvec(x):
        return {"u": 2.0 * x["u"] + a @ x["v"], "v": 4.0 * x["v"]}

    def solve(_, b):
        v = b["v"] / 4.0
        return {"u": (b["u"] - a @ v) / 2.0, "v": v}

    x = custom_linear_solve(matvec, {"u": b, "v": b + 1.0}, solve)
    return x["u"], x["v"]


def with_aux(a, b):
    solve = lambda matvec, b: (b / 2.0, (a.sum(), b.sum(), 3))
    x, (first, second, count) = custom_linear_solve(lambda x: 2.0 * x, b, solve, has_aux=True)
    return x, first, second, count


def the_eqn(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is custom_linear_solve_p]
    return eqn


def types(avals):
    return [aval.str_short() for aval in avals]


@pytest.mark.parametrize("fun", [solved, symmetric, of_trees, with_aux])
def test_solutions_map_over_every_axis(fun, check_batching):
    check_batching(fun, [(2, 2), (2,)], ["float64", "float64"])


def test_solutions_map_in_single_precision(check_batching):
    check_batching(of_trees, [(2, 2), (2,)], ["float32", "float32"])


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (2, 1)])
def test_every_vector_of_every_program_is_mapped_in_front(in_axes):
    shapes = [[2, 2], [2]]
    for shape, axis in zip(shapes, in_axes):
        if axis is not None:
            shape.insert(axis, 5)

    eqn = the_eqn(vmap(solved, in_axes), *(np.zeros(shape) for shape in shapes))

    for name in ("matvec", "solve", "transpose_solve"):
        program = eqn.params[name]
        assert types(program.in_avals[-1:]) == types(program.out_avals) == ["f64[5,2]"]
        assert types(program.in_avals[:1]) == [f"f64[{','.join(map(str, shapes[0]))}]"]


def test_an_operator_that_is_not_mapped_is_prepared_once():
    def prepared(a, b):
        return custom_linear_solve(lambda x: a @ x, b, lambda _, b: b @ lax.exp(lax.tanh(a)))

    solve = the_eqn(vmap(prepared, (None, 0)), np.eye(2), np.ones((5, 2))).params["solve"]

    (tanh,) = [eqn for eqn in solve.eqns if eqn.primitive is lax.tanh_p]
    assert types(v.aval for v in tanh.outvars) == ["f64[2,2]"]


def test_aux_that_does_not_depend_on_the_batch_stays_unmapped():
    eqn = the_eqn(vmap(with_aux, (None, 0), (0, None, 0, None)), np.eye(2), np.ones((5, 2)))

    assert types(v.aval for v in eqn.outvars) == ["f64[5,2]", "f64[]", "f64[5]", "i64[]"]


def test_a_symmetric_operator_stays_its_own_transpose():
    params = the_eqn(vmap(symmetric), np.zeros((5, 2, 2)), np.ones((5, 2))).params

    assert params["vecmat"] is params["matvec"]


def test_the_transpose_solver_keeps_the_operator_that_is_not_transposed():
    params = the_eqn(vmap(solved), np.zeros((5, 2, 2)), np.ones((5, 2))).params

    inner = [eqn for jaxpr in nested_jaxprs(params["transpose_solve"]) for eqn in jaxpr.eqns]
    (eqn, *_) = [eqn for eqn in inner if eqn.primitive is linear_transpose_p]
    assert types(v.aval for v in eqn.outvars) == ["f64[5,2]"]


def test_a_named_axis_is_known_inside():
    def fun(b):
        return custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: b / 2.0 + 0.0 * lax.psum(b, "i"))

    np.testing.assert_array_equal(vmap(fun, axis_name="i")(np.arange(3.0)), np.arange(3.0) / 2.0)
    unmapped = lambda b: fun(1.0) + b
    np.testing.assert_array_equal(vmap(unmapped, axis_name="i")(np.arange(3.0)), np.arange(3.0) + 0.5)


def test_a_solution_that_does_not_depend_on_the_batch_is_mapped_too():
    def fun(a):
        return custom_linear_solve(lambda x: a * x, np.zeros(2), lambda *_: np.zeros(2))

    np.testing.assert_array_equal(vmap(fun)(np.ones(3)), np.zeros((3, 2)))
    assert types(v.aval for v in the_eqn(vmap(fun), np.ones(3)).outvars) == ["f64[3,2]"]
