import numpy as np
import pytest

from calque_autodiff import (
    check_grads,
    custom_linear_solve,
    grad,
    jvp,
    linear_transpose,
    linearize,
    partial_eval_jaxpr,
    vjp,
)
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import custom_linear_solve_p, fori_loop, scan, while_loop

pytestmark = pytest.mark.sampled(keep=0.1)

SHIFT = 2.0 * np.eye(3)


def lower_solve(matrix, b):
    """Solve by substitution: the matrix is lower triangular."""
    rows = []
    for i in range(b.shape[0]):
        found = sum((matrix[i, j] * x for j, x in enumerate(rows)), 0.0)
        rows.append((b[i] - found) / matrix[i, i])
    return lax.concatenate([lax.reshape(x, (1,)) for x in rows], 0)


def lower(a):
    return a * np.tril(np.ones((3, 3))) + SHIFT


def triangular(a, b):
    matrix = lower(a)

    def solve(_, b):
        return lower_solve(matrix, b)

    def transpose_solve(_, ct):
        return lax.rev(lower_solve(lax.rev(matrix.T, (0, 1)), lax.rev(ct, (0,))), (0,))

    return custom_linear_solve(lambda x: matrix @ x, b, solve, transpose_solve)


def triangular_without_transpose(a, b):
    return custom_linear_solve(lambda x: lower(a) @ x, b, lambda _, b: lower_solve(lower(a), b))


def richardson(matvec, b):
    """Solve iteratively; nothing here can be transposed, nor must be differentiated."""

    def step(state):
        x, r = state
        return x + 0.35 * r, b - matvec(x + 0.35 * r)

    return while_loop(lambda s: (s[1] @ s[1]) > 1e-28 * (b @ b), step, (0.0 * b, b))[0]


def iterative(a, b):
    matrix = a + SHIFT
    return custom_linear_solve(lambda x: matrix @ x, b, richardson, richardson)


def symmetric(a, b):
    matrix = a + a.T + SHIFT
    return custom_linear_solve(lambda x: matrix @ x, b, richardson, symmetric=True)


def of_trees(a, b):
    def matvec(x):
        return {"u": 2.0 * x["u"] + a @ x["v"], "v": 3.0 * x["v"]}

    def solve(_, b):
        v = b["v"] / 3.0
        return {"u": (b["u"] - a @ v) / 2.0, "v": v}

    def transpose_solve(_, ct):
        u = ct["u"] / 2.0
        return {"u": u, "v": (ct["v"] - u @ a) / 3.0}

    return custom_linear_solve(matvec, {"u": b, "v": lax.sin(b)}, solve, transpose_solve)


PROGRAMS = {
    "by substitution": triangular,
    "by substitution, transposed": triangular_without_transpose,
    "by iteration": iterative,
    "symmetric": symmetric,
    "of trees": of_trees,
    "in a loop": lambda a, b: fori_loop(0, 3, lambda _, x: triangular(a, x), b),
    "in a scan": lambda a, b: scan(lambda x, y: (triangular(a, x + y), x), b, np.eye(3))[1],
    "in a branch": lambda a, b: lax.cond(b[0] < 5.0, lambda: iterative(a, b), lambda: b),
    "in a solver": lambda a, b: custom_linear_solve(
        lambda x: lower(a) @ x, iterative(a, b), lambda _, b: triangular(a, b), symmetric=False
    ),
    "in an operator": lambda a, b: custom_linear_solve(
        lambda x: triangular(a, x) * 2.0, b, lambda _, b: 0.5 * (lower(a) @ b), lambda _, b: 0.5 * (b @ lower(a))
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_law(program, laws, spaced):
    laws(program, spaced((3, 3), -0.3, 0.3), spaced((3,)))


@pytest.mark.parametrize("program", [triangular, triangular_without_transpose, symmetric])
def test_the_solution_solves_the_equation(program, spaced):
    a, b = spaced((3, 3), -0.3, 0.3), spaced((3,))
    matrix = a + a.T + SHIFT if program is symmetric else lower(a)

    np.testing.assert_allclose(program(a, b), np.linalg.solve(matrix, b))


def test_derivatives_of_the_third_order(spaced):
    check_grads(triangular, (spaced((3, 3), -0.3, 0.3), spaced((3,))), 3)


def test_derivatives_along_one_argument_solve_nothing_else(spaced):
    a, b = spaced((3, 3), -0.3, 0.3), spaced((3,))
    jaxpr = make_jaxpr(lambda b, b_dot: jvp(lambda b: iterative(a, b), (b,), (b_dot,))[1])(b, b)

    outer = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert outer.count("custom_linear_solve") == 2
    assert "dot_general" not in outer  # the operator has no tangent, and is not applied


def test_the_linear_program_is_one_equation(spaced):
    _, f_lin = linearize(lambda b: iterative(spaced((3, 3), -0.3, 0.3), b), spaced((3,)))
    jaxpr = make_jaxpr(f_lin)(spaced((3,)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["custom_linear_solve"]


def test_what_nothing_depends_on_has_no_tangent():
    def fun(x):
        return custom_linear_solve(lambda v: 2.0 * v, 3.0, lambda _, b: b / 2.0), x

    jaxpr = make_jaxpr(lambda x: jvp(fun, (x,), (1.0,)))(1.0)

    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("custom_linear_solve") == 1


def test_a_guess_that_only_the_solver_uses_has_no_derivative():
    def fun(guess):
        return custom_linear_solve(lambda v: 2.0 * v, 3.0, lambda _, b: b / 2.0 + 0.0 * guess)

    assert grad(fun)(5.0) == 0.0
    jaxpr = make_jaxpr(lambda x: jvp(fun, (x,), (1.0,))[1])(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("custom_linear_solve") == 1


def test_aux_has_no_derivative(laws):
    def fun(a, b):
        solve = lambda matvec, b: (b / a, {"sum": b + a, "count": 3})
        x, aux = custom_linear_solve(lambda x: a * x, b, solve, solve, has_aux=True)
        return x, aux["sum"], aux["count"]

    (x, total, count), (x_dot, total_dot, _) = jvp(fun, (2.0, 3.0), (0.0, 1.0))
    assert (x, total, count, x_dot, total_dot) == (1.5, 5.0, 3, 0.5, 0.0)
    assert grad(lambda a, b: fun(a, b)[1], argnums=(0, 1))(2.0, 3.0) == (0.0, 0.0)
    laws(lambda a, b: fun(a, b)[0], 2.0, 3.0)


def test_a_transposed_solve_transposes_back(spaced):
    a, b = spaced((3, 3), -0.3, 0.3), spaced((3,))
    once = linear_transpose(lambda b: triangular(a, b), b)
    twice = linear_transpose(lambda ct: once(ct)[0], b)
    params = [make_jaxpr(f)(b).eqns[-1].params for f in (lambda b: triangular(a, b), once, twice)]

    np.testing.assert_allclose(once(b)[0], np.linalg.solve(lower(a).T, b))
    np.testing.assert_array_equal(twice(b)[0], triangular(a, b))
    assert params[1]["vecmat"] is not None
    assert params[2]["vecmat"] is params[1]["matvec"]


def test_only_the_unknown_parts_of_a_vector_get_cotangents():
    def fun(u):
        return custom_linear_solve(lambda x: [2.0 * x[0], 4.0 * x[1]], [u, 0.0], lambda _, b: [b[0] / 2.0, b[1] / 4.0])

    assert linear_transpose(fun, 1.0)([1.0, 1.0]) == (0.5,)


def test_partial_evaluation_records_the_whole_equation(spaced):
    a, b = spaced((3, 3), -0.3, 0.3), spaced((3,))
    jaxpr = make_jaxpr(triangular)(a, b)
    for known in ([True, False], [False, True]):
        parts = partial_eval_jaxpr(jaxpr, known)
        check_jaxpr(parts.unknown)
        args = [a, b]
        residuals = eval_jaxpr(parts.known, parts.known.consts, *(x for x, k in zip(args, known) if k))
        rest = [x for x, k in zip(args, known) if not k]
        assert custom_linear_solve_p in [eqn.primitive for eqn in parts.unknown.eqns]
        (out,) = eval_jaxpr(parts.unknown, parts.unknown.consts, *residuals, *rest)
        np.testing.assert_allclose(out, triangular(a, b))


# What is refused


def test_an_iteration_without_a_transpose_solver_is_differentiated_forwards_only(spaced):
    a, b = spaced((3, 3), -0.3, 0.3), spaced((3,))
    fun = lambda b: custom_linear_solve(lambda x: (a + SHIFT) @ x, b, richardson)

    np.testing.assert_allclose(jvp(fun, (b,), (b,))[1], np.linalg.solve(a + SHIFT, b))
    with pytest.raises(
        NotImplementedError,
        match=r"linear solve at test_rules_linear_solve.py.* cannot be differentiated in reverse mode: it has no "
        r"transpose_solve, and the operations of its "
        r"solver cannot be transposed: .*while.* Give custom_linear_solve a transpose_solve, or symmetric=True",
    ):
        vjp(fun, b)[1](b)


def test_a_solve_is_not_transposed_in_its_operator():
    with pytest.raises(NotImplementedError, match=r"'custom_linear_solve'.* cannot be transposed in .* not linear"):
        linear_transpose(lambda a: custom_linear_solve(lambda x: a * x, 1.0, lambda _, b: b / a), 2.0)(1.0)


def test_a_solve_is_not_transposed_in_its_aux():
    def fun(b):
        return custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: (b / 2.0, b * b), has_aux=True)[1]

    with pytest.raises(NotImplementedError, match=r"cannot be transposed in an auxiliary result, .* Transpose a"):
        linear_transpose(fun, 1.0)(1.0)
