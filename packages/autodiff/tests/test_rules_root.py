"""Derivatives of the primitive; what users call is in test_implicit.py."""

import numpy as np
import pytest

from calque_autodiff import check_grads, grad, jvp, linear_transpose, partial_eval_jaxpr
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr, stage, typeof
from calque_core.lax import custom_root_p

SCALAR = typeof(np.float64(1.0))

# The root of x ** 3 - a, which its solver finds by other means; `c` is of use to the solver alone.
ROOT = {
    "f": stage(lambda a, c, x: [x * x * x - a], [SCALAR] * 3),
    "solve": stage(lambda a, c, x: [lax.exp(lax.log(a) / 3.0), x + c], [SCALAR] * 3),
    "tangent_solve": stage(lambda a, c, x, y: [y / (3.0 * x * x)], [SCALAR] * 4),
    "num_consts": 2,
}


def cube_root(a, c=0.0, guess=1.0):
    return custom_root_p.bind(np.float64(1.0) * a, np.float64(1.0) * c, np.float64(1.0) * guess, **ROOT)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_derivatives_are_those_of_the_root():
    check_grads(lambda a: cube_root(a)[0], (2.0,), 4)


def test_derivatives_come_from_the_equation_and_not_from_the_solver():
    wrong = ROOT | {"f": stage(lambda a, c, x: [x * x * x - 10.0 * a], [SCALAR] * 3)}

    slope = lambda params: jvp(lambda a: custom_root_p.bind(a, 0.0, 1.0, **params)[0], (8.0,), (1.0,))[1]

    np.testing.assert_allclose(slope(wrong), 10.0 * slope(ROOT))


def test_guess_and_aux_and_what_the_equation_does_not_use_have_no_derivative():
    assert grad(lambda guess: cube_root(8.0, 0.0, guess)[0])(1.0) == 0.0
    assert grad(lambda c: cube_root(8.0, c)[0])(1.0) == 0.0
    assert grad(lambda a, c, guess: cube_root(a, c, guess)[1], argnums=(0, 1, 2))(8.0, 1.0, 1.0) == (0.0, 0.0, 0.0)
    jaxpr = make_jaxpr(lambda c: jvp(lambda c: cube_root(8.0, c), (c,), (1.0,)))(1.0)
    assert "custom_linear_solve" not in names(jaxpr)


def test_the_derivative_is_one_linear_solve():
    jaxpr = make_jaxpr(lambda a: jvp(lambda a: cube_root(a)[0], (a,), (1.0,)))(8.0)
    check_jaxpr(jaxpr)

    assert [name for name in names(jaxpr) if name.startswith("custom")] == ["custom_root", "custom_linear_solve"]


@pytest.mark.parametrize("known", [[True, False], [False, True]])
def test_partial_evaluation_records_the_whole_equation(known):
    jaxpr = make_jaxpr(lambda a, c: cube_root(a, c))(np.float64(8.0), np.float64(1.0))
    parts = partial_eval_jaxpr(jaxpr, known)
    check_jaxpr(parts.unknown)

    assert parts.known_outs == [False, False]
    assert "custom_root" in names(parts.unknown)
    args = [8.0, 1.0]
    residuals = eval_jaxpr(parts.known, (), *(x for x, k in zip(args, known) if k))
    outs = eval_jaxpr(parts.unknown, (), *residuals, *(x for x, k in zip(args, known) if not k))
    np.testing.assert_allclose(outs, [2.0, 2.0])


def test_a_root_is_not_transposed():
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'custom_root' not implemented") as caught:
        linear_transpose(lambda a: cube_root(a)[0], 8.0)(1.0)
    assert "it is not linear" in str(caught.value)
