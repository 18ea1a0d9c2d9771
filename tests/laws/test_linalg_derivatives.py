"""What the laws do not say of these rules: refusals, the triangle that a gradient lies in, and the systems to solve."""

import numpy as np
import pytest

import calque_linalg as linalg
from calque_autodiff import grad, jvp, linear_transpose, vjp
from calque_core import MissingRuleError, lax, make_jaxpr

TALL = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])
DEFINITE = np.array([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("pivoting", [False, True])
def test_a_square_q_of_a_tall_matrix_has_no_derivative(pivoting):
    words = r"qr of float64\[3,2\] at test_linalg_derivatives\.py.*the last 1 columns of a square Q are not unique"
    with pytest.raises(NotImplementedError, match=words):
        jvp(lambda x: linalg.qr(x, pivoting=pivoting), (TALL,), (TALL,))
    jvp(lambda x: linalg.qr(x, pivoting=pivoting, full_matrices=False), (TALL,), (TALL,))


@pytest.mark.parametrize("fun", [linalg.geqrf, lambda x: linalg.householder_product(*linalg.geqrf(x))])
def test_reflections_say_which_function_has_a_derivative(fun):
    with pytest.raises(MissingRuleError) as caught:
        jvp(fun, (TALL,), (TALL,))
    assert "differentiate lax.linalg.qr" in str(caught.value)


def test_a_gradient_lies_in_the_triangle_that_is_read():
    total = lambda x, symmetrize: lax.reduce_sum(linalg.cholesky(x, symmetrize_input=symmetrize))
    of_triangle, of_both = (grad(lambda x, s=s: total(x, s))(DEFINITE) for s in (False, True))
    np.testing.assert_array_equal(of_triangle, np.tril(of_triangle))
    np.testing.assert_allclose(of_both, (of_triangle + of_triangle.T) / 2)
    other = grad(lambda a: lax.reduce_sum(linalg.triangular_solve(a, np.ones(2), left_side=True, unit_diagonal=True)))
    np.testing.assert_array_equal(other(DEFINITE), np.triu(other(DEFINITE), 1))


def test_a_pullback_of_a_solution_is_one_system_with_the_transpose():
    _, pullback = vjp(linalg.solve, DEFINITE, np.ones((2, 1)))
    eqns = make_jaxpr(pullback)(np.ones((2, 1))).eqns
    assert [e.params["transpose_a"] for e in eqns if e.primitive.name == "solve"] == [True]


def test_permutations_have_no_derivative():
    tangents = jvp(linalg.lu, (DEFINITE,), (DEFINITE,))[1]
    np.testing.assert_allclose(tangents[0], [[4.0, 1.0], [0.0, 2.75]])
    assert [t.dtype.name for t in tangents[1:]] == ["void", "void"]


@pytest.mark.parametrize("solve", [linalg.solve, linalg.triangular_solve])
def test_a_system_is_not_linear_in_its_matrix(solve):
    with pytest.raises(NotImplementedError, match="cannot be transposed in operands in which it is not linear"):
        linear_transpose(lambda a: solve(a, np.ones((2, 2))), DEFINITE)(np.ones((2, 2)))


@pytest.mark.parametrize("differentiate", [lambda f, x: grad(f)(x), lambda f, x: jvp(f, (x,), (x,))])
def test_the_derivative_of_slogdet_of_a_singular_matrix_names_slogdet(differentiate):
    x = np.array([[1.0, 2.0], [2.0, 4.0]])
    logarithm = lambda x: linalg.slogdet(x)[1]
    words = (
        r"the derivative of slogdet of float64\[2,2\] at test_linalg_derivatives\.py:\d+ .*: the matrix is singular, "
        r"so its logarithm is -inf and has no derivative\. Use numpy\.linalg\.det, or add"
    )
    with pytest.raises(np.linalg.LinAlgError, match=words):
        differentiate(logarithm, x)
    differentiate(linalg.det, x)
    differentiate(lambda x: logarithm(x + 1e-10 * np.eye(2)), x)


def test_each_call_of_a_gradient_of_one_of_several_results_gives_the_same_numbers():
    f = lambda x: lax.reduce_sum(linalg.eigh(lax.reshape(x, (2, 2)), lower=True)[1] ** 2)
    x, step = np.linspace(0.5, 1.5, 4), 1e-6
    expected = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(4)]
    for _ in range(5):
        np.testing.assert_allclose(grad(f)(x), expected, atol=1e-8)
        _, pullback = vjp(f, x)
        np.testing.assert_allclose(pullback(1.0)[0], expected, atol=1e-8)
        np.testing.assert_array_equal(pullback(2.0)[0], 2.0 * pullback(1.0)[0])
