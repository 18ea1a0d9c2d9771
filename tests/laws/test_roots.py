"""Roots of polynomials have the derivatives of the implicit function theorem, and none where they are double."""

import numpy as np

from calque_autodiff import grad
from calque_xla_backend import jit


def squares(p):
    """Return the sum of squared roots, which is (p[1] / p[0])**2 - 2 * p[2] / p[0] for a quadratic polynomial."""
    return np.sum(np.real(np.roots(p) ** 2))


def test_simple_roots_have_derivatives():
    for p in ([1.0, -3.0, 2.0], [2.0, 1.0, 3.0]):
        a, b, c = p
        want = [-2.0 * b * b / a**3 + 2.0 * c / a**2, 2.0 * b / a**2, -2.0 / a]
        for derive in (grad(squares), jit(grad(squares))):
            np.testing.assert_allclose(derive(np.array(p)), want, rtol=1e-12)


@np.errstate(divide="ignore", invalid="ignore")
def test_a_double_root_has_no_finite_derivative():
    """Equal eigenvalues have a finite one, which holds if their vectors differ; here it would be wrong."""
    assert np.isnan(grad(squares)(np.array([1.0, -2.0, 1.0]))).all()
