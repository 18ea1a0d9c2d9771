import re

import numpy as np
import pytest

from calque_core import (
    ShapedArray,
    check_jaxpr,
    config,
    dce_jaxpr,
    eval_jaxpr,
    interpret,
    jaxpr_equal,
    lax,
    make_jaxpr,
    stage,
)
from calque_core.lax import custom_linear_solve, custom_linear_solve_p, linear_transpose_p

HERE = "test_ops_linear_solve.py"
WEIGHTS = np.array([2.0, 4.0, 5.0])


def divide(matvec, b):
    """Solve where the operator scales each element."""
    return b / matvec(lax.ones_like(b))


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def scaled(a, b, **how):
    return custom_linear_solve(lambda x: a * x, b, divide, **how)


def staged_eqn(run, *args):
    """Return the linear solve that `run` stages."""
    jaxpr = make_jaxpr(run)(*args)
    check_jaxpr(jaxpr)
    (found,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is custom_linear_solve_p]
    return found


# What it computes


def test_the_solution_is_that_of_the_solver_evaluated_and_staged():
    jaxpr = make_jaxpr(scaled)(WEIGHTS, np.ones(3))
    check_jaxpr(jaxpr)

    for x in (scaled(WEIGHTS, np.ones(3)), *eval_jaxpr(jaxpr, jaxpr.consts, WEIGHTS, np.ones(3))):
        assert x.tolist() == [0.5, 0.25, 0.2]


def test_vectors_are_trees():
    def solve(matvec, b):
        v = b["v"] / 2.0
        return {"u": b["u"] - v, "v": v}

    def run(u, v):
        return custom_linear_solve(lambda x: {"u": x["u"] + x["v"], "v": x["v"] * 2.0}, {"u": u, "v": v}, solve)

    jaxpr = make_jaxpr(run)(3.0, 4.0)

    assert run(3.0, 4.0) == {"u": 1.0, "v": 2.0}
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0, 4.0) == [1.0, 2.0]


def test_in_evaluation_the_solver_looks_at_values():
    def jacobi(matvec, b):
        x, steps = 0.0, 0
        while abs(b - matvec(x)) > 1e-12:
            x, steps = x + 0.4 * (b - matvec(x)), steps + 1
        return x, steps

    x, steps = custom_linear_solve(lambda x: 2.0 * x, 3.0, jacobi, has_aux=True)

    assert x == pytest.approx(1.5)
    assert type(x) is np.float64
    assert steps > 5
    with pytest.raises(TypeError, match=r"bool\(\) was asked of a traced value .*under custom_linear_solve of jacobi"):
        make_jaxpr(lambda b: custom_linear_solve(lambda x: 2.0 * x, b, jacobi, has_aux=True))(3.0)


def test_a_solver_may_apply_the_operator_to_other_arrays_than_vectors():
    def inverse(matvec, b):
        return np.linalg.solve(matvec(np.eye(2)), b)

    matrix = np.array([[2.0, 1.0], [0.0, 4.0]])

    assert custom_linear_solve(lambda x: matrix @ x, np.array([4.0, 4.0]), inverse).tolist() == [1.5, 1.0]


@pytest.mark.parametrize("is_staged", [False, True])
def test_aux_is_returned_beside_the_solution(is_staged):
    def solve(matvec, b):
        return divide(matvec, b), {"sum": b.sum(), "count": 3, "weights": WEIGHTS, "none": None}

    run = lambda b: custom_linear_solve(lambda x: WEIGHTS * x, b, solve, solve, has_aux=True)
    if is_staged:
        jaxpr, tree = make_jaxpr(run, return_shape=True)(np.ones(3))
        assert jaxpr.out_avals[1].str_short() == "i64[]"
        x, count, total, weights = eval_jaxpr(jaxpr, jaxpr.consts, np.ones(3))
        assert tree[1].keys() == {"sum", "count", "weights", "none"}
    else:
        x, aux = run(np.ones(3))
        count, total, weights = aux["count"], aux["sum"], aux["weights"]
        assert aux["none"] is None

    assert x.tolist() == [0.5, 0.25, 0.2]
    assert (count, total) == (3, 3.0)
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_with_x64_off_the_solution_has_32_bits():
    with config.enable_x64(False):
        assert scaled(WEIGHTS, np.ones(3)).dtype == np.float32
        assert scaled(2.0, 1.0).dtype == np.float32
        assert make_jaxpr(scaled)(WEIGHTS, np.ones(3)).out_avals[0].str_short() == "f32[3]"


# The equation


def test_the_programs_share_what_they_close_over():
    def run(a, b, guess):
        def solve(matvec, b):
            return divide(matvec, b) + 0.0 * guess

        return custom_linear_solve(lambda x: a * x, b, solve, solve)

    eqn = staged_eqn(run, WEIGHTS, np.ones(3), np.zeros(3))

    assert eqn.params["num_consts"] == 2
    for name in ("matvec", "solve", "transpose_solve"):
        assert len(eqn.params[name].invars) == 3
        assert not eqn.params[name].consts


def test_without_a_transpose_solver_there_is_none():
    params = staged_eqn(scaled, WEIGHTS, np.ones(3)).params

    assert params["vecmat"] is None
    assert params["transpose_solve"] is None


def test_a_symmetric_operator_is_its_own_transpose():
    params = staged_eqn(lambda a, b: scaled(a, b, symmetric=True), WEIGHTS, np.ones(3)).params

    assert params["vecmat"] is params["matvec"]
    assert params["transpose_solve"] is params["solve"]


def test_a_solver_given_for_the_transpose_of_a_symmetric_operator_gets_the_operator():
    def other(vecmat, ct):
        return ct / vecmat(2.0 * lax.ones_like(ct)) * 2.0

    params = staged_eqn(lambda a, b: scaled(a, b, transpose_solve=other, symmetric=True), WEIGHTS, np.ones(3)).params

    assert params["vecmat"] is params["matvec"]
    jaxpr = params["transpose_solve"]
    assert linear_transpose_p not in [eqn.primitive for eqn in jaxpr.eqns]
    assert eval_jaxpr(jaxpr, (), WEIGHTS, np.ones(3))[0].tolist() == [0.5, 0.25, 0.2]


def test_the_transposed_operator_is_left_for_others_to_work_out():
    params = staged_eqn(lambda a, b: scaled(a, b, transpose_solve=divide), WEIGHTS, np.ones(3)).params

    (eqn,) = [e for e in params["transpose_solve"].eqns if e.primitive is linear_transpose_p]
    assert jaxpr_equal(eqn.params["jaxpr"], params["matvec"])
    assert eqn.params["num_res"] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_transposed_operator_takes_python_scalars(dtype):
    transpose_solve = lambda vecmat, ct: ct / vecmat(1.0)
    run = lambda a, b: custom_linear_solve(lambda x: a * x, b, transpose_solve, transpose_solve)

    assert staged_eqn(run, dtype(2.0), dtype(3.0)).params["transpose_solve"].out_avals[0].dtype == dtype


def test_aux_of_the_transpose_solver_is_dropped():
    solve = lambda matvec, b: (divide(matvec, b), b.sum())

    params = staged_eqn(
        lambda a, b: custom_linear_solve(lambda x: a * x, b, solve, solve, False, True), WEIGHTS, WEIGHTS
    )

    assert [len(params.params[name].outvars) for name in ("solve", "transpose_solve")] == [2, 1]


def test_absent_programs_are_not_printed():
    text = str(make_jaxpr(scaled)(2.0, 3.0))

    assert "matvec=" in text
    assert "None" not in text


# Dead code


def with_aux(a, b, unused):
    """Return a solution, and two results of which the second needs a value of its own."""

    def solve(matvec, b):
        return divide(matvec, b), (b.sum(), lax.sin(unused))

    x, (total, other) = custom_linear_solve(lambda x: a * x, b, solve, solve, has_aux=True)
    return x, total, other


@pytest.mark.parametrize(
    ("used", "num_results", "num_consts"),
    [([True] * 3, 3, 2), ([True, True, False], 2, 1), ([True, False, False], 1, 1), ([False, False, True], 2, 2)],
)
def test_unused_aux_is_dropped_and_what_only_it_needs(used, num_results, num_consts):
    args = WEIGHTS, np.ones(3), 1.0
    jaxpr = make_jaxpr(with_aux)(*args)

    smaller, used_inputs = dce_jaxpr(jaxpr, used)

    check_jaxpr(smaller)
    (eqn,) = [eqn for eqn in smaller.eqns if eqn.primitive is custom_linear_solve_p]
    assert (len(eqn.outvars), eqn.params["num_consts"]) == (num_results, num_consts)
    kept = [x for x, is_used in zip(args, used_inputs) if is_used]
    wanted = [x for x, is_used in zip(with_aux(*args), used) if is_used]
    for x, want in zip(eval_jaxpr(smaller, smaller.consts, *kept), wanted, strict=True):
        np.testing.assert_array_equal(x, want)


def test_a_solve_that_nobody_uses_is_dropped():
    jaxpr = make_jaxpr(lambda a, b: (scaled(a, b), a))(2.0, 3.0)

    assert dce_jaxpr(jaxpr, [False, True])[0].eqns == ()


def test_an_interpreter_goes_into_the_solver():
    jaxpr = make_jaxpr(lambda b: custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: lax.div(b, 2.0)))(3.0)

    assert interpret(jaxpr, {lax.div_p: lambda x, y: x - y}, 3.0) == [1.0]


# What is refused


@pytest.mark.parametrize("b", [1, np.arange(3)])
def test_integers_are_refused(b):
    with pytest.raises(
        TypeError, match=rf"^custom_linear_solve at {HERE}.*: b is int64\[3?\], not of a floating dtype"
    ):
        scaled(2.0, b)


WRONG = {
    "a shape": (
        lambda *args: np.ones(2),
        r"returned float64\[2\] for b, which is float64\[3\]\. Return the shapes and dtypes",
    ),
    "a dtype": (lambda *args: np.ones(3, "float32"), r"returned float32\[3\] for b, which is float64\[3\]"),
    "a structure": (lambda *args: [np.ones(3)], r"returned the structure .*, but b has the structure"),
}


@pytest.mark.parametrize("is_staged", [False, True])
@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG)
def test_a_solver_that_leaves_the_space_is_refused(wrong, message, is_staged):
    run = lambda b: custom_linear_solve(lambda x: x, b, wrong)
    with pytest.raises(TypeError, match=rf"^custom_linear_solve at {HERE}.*: solve {at(wrong)} {message}"):
        make_jaxpr(run)(np.ones(3)) if is_staged else run(np.ones(3))


@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG)
def test_an_operator_or_a_transpose_solver_that_leaves_the_space_is_refused_when_traced(wrong, message):
    with pytest.raises(TypeError, match=rf"^custom_linear_solve at {HERE}.*: matvec {at(wrong)} {message}"):
        make_jaxpr(lambda b: custom_linear_solve(wrong, b, lambda _, b: b))(np.ones(3))
    with pytest.raises(TypeError, match=rf"^custom_linear_solve at {HERE}.*: transpose_solve {at(wrong)} {message}"):
        make_jaxpr(lambda b: custom_linear_solve(lambda x: x, b, lambda _, b: b, wrong))(np.ones(3))


def test_a_vector_of_another_structure_for_the_transposed_operator_is_refused():
    def transpose_solve(vecmat, ct):
        return vecmat([ct])

    with pytest.raises(
        TypeError, match=r"^vecmat got the structure .*, but b has the structure .*Give it a vector like"
    ):
        make_jaxpr(lambda b: custom_linear_solve(lambda x: x, b, divide, transpose_solve))(1.0)


def test_aux_that_is_no_array_is_refused():
    solve = lambda matvec, b: (b, {"note": "converged"})
    with pytest.raises(
        TypeError, match=r": the result\[1\]\['note'\] is 'converged' of type str, which is not an array"
    ):
        custom_linear_solve(lambda x: x, 1.0, solve, has_aux=True)
    with pytest.raises(TypeError, match=r"returned 'converged' of type str\. Return arrays and scalars\."):
        make_jaxpr(lambda b: custom_linear_solve(lambda x: x, b, solve, has_aux=True))(1.0)


@pytest.mark.parametrize("position", [0, 2, 3])
def test_what_is_not_a_function_is_refused(position):
    args = [divide, 1.0, divide, divide]
    args[position] = 3
    with pytest.raises(TypeError, match=r"^custom_linear_solve got 3 of type int.*Give a function\."):
        custom_linear_solve(*args)


def test_programs_for_other_operands_are_refused_when_bound():
    params = staged_eqn(scaled, 2.0, 3.0).params
    scalar, vector = ShapedArray((), "float64"), ShapedArray((2,), "float64")
    with pytest.raises(
        TypeError,
        match=r"^matvec of custom_linear_solve got operands of types \(float64\[\], float64\[2\]\), but its program",
    ):
        stage(lambda a, b: custom_linear_solve_p.bind(a, b, **params), [scalar, vector])
    shrunk = stage(lambda a, b: [lax.reduce_sum(b)], [scalar, vector])
    wrong = {"matvec": shrunk, "solve": shrunk, "vecmat": None, "transpose_solve": None, "num_consts": 1}
    with pytest.raises(TypeError, match=r"returned \(float64\[\]\) for a vector of types \(float64\[2\]\)\. Return"):
        stage(lambda a, b: custom_linear_solve_p.bind(a, b, **wrong), [scalar, vector])


MISFITS = {
    "a pair": lambda x: (x, x),
    "a dict": lambda x: {"x": x},
    "nothing": lambda x: None,
    "another shape": lambda x: np.stack([x, x]),
}


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("solve", [lambda f, b: b, lambda f, b: [f(b), b][1]], ids=["ignores", "calls"])
def test_a_matvec_that_leaves_the_space_is_refused_in_evaluation_too(name, solve):
    words = r"^custom_linear_solve at .*: matvec <lambda> .* returned .*b(, which is| has the structure)"
    with pytest.raises(TypeError, match=words):
        custom_linear_solve(MISFITS[name], np.ones(2), solve)


def test_evaluation_calls_a_matvec_once_that_its_solver_does_not_call():
    calls = []
    custom_linear_solve(lambda x: calls.append(x) or 2.0 * x, 1.0, lambda f, b: b / 2.0)
    assert len(calls) == 1
    custom_linear_solve(lambda x: calls.append(x) or 2.0 * x, 1.0, lambda f, b: b / f(1.0))
    assert len(calls) == 2
