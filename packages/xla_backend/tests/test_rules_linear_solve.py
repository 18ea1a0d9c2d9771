"""Lowering of linear equations against their evaluation."""

import numpy as np

import calque_xla_backend as backend
from calque_core import lax, make_jaxpr
from calque_core.lax import custom_linear_solve
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module


def iterate(matvec, b):
    """Solve by halving the residual, until nothing of it is left."""

    def step(state):
        x, r = state
        return x + 0.25 * r, b - matvec(x + 0.25 * r)

    return lax.while_loop(lambda s: lax.reduce_max(lax.abs(s[1])) > 0, step, (0.0 * b, b))[0]


def solved(a, b):
    return custom_linear_solve(lambda x: (a + 1.0) * x, b, iterate, iterate)


def test_solutions_compile_to_what_they_evaluate_to(regime, dtypes_of, check_compiled):
    cases = [(np.ones(3, dtype), np.arange(3).astype(dtype)) for dtype in dtypes_of("f")]
    check_compiled(solved, cases)


def test_aux_comes_out_too(check_compiled):
    def program(a, b):
        solve = lambda matvec, b: (b / a, {"sum": b + a, "count": 3, "flags": b > 1.0})
        return custom_linear_solve(lambda x: a * x, b, solve, has_aux=True)

    check_compiled(program, [(np.float64(2.0), np.arange(3.0)), (np.float32(4.0), np.ones((), "float32"))])


def test_solvers_close_over_large_arrays_and_values_around_them(check_compiled):
    table = np.arange(1.0, 401.0)

    def program(a, b):
        scale = a * table
        return custom_linear_solve(lambda x: scale * x, b, lambda _, b: b / scale, symmetric=True)

    check_compiled(program, [(np.full(400, 2.0), np.ones(400))], ulps=1)


def test_only_the_solver_is_compiled():
    def fun(b):
        transpose_solve = lambda vecmat, ct: lax.sin(vecmat(ct))
        return custom_linear_solve(lambda x: lax.cos(2.0) * x, b, lambda _, b: lax.tanh(b), transpose_solve)

    text = lower_jaxpr_to_module(make_jaxpr(fun)(1.0)).as_text()

    assert "stablehlo.tanh" in text
    assert "sine" not in text


def test_device_arrays_are_solved_for_on_the_device():
    out = solved(backend.device_put(np.ones(2)), np.ones(2))

    assert type(out) is backend.Array
    assert np.asarray(out).tolist() == [0.5, 0.5]


def test_a_solve_in_a_loop_of_a_compiled_program():
    program = jit(lambda a, b: lax.fori_loop(0, 3, lambda _, x: solved(a, x), b))

    np.testing.assert_array_equal(np.asarray(program(np.ones(2), np.full(2, 8.0))), [1.0, 1.0])
