"""The symmetric product is its formula, evaluated and traced."""

import numpy as np
import pytest

from calque_core import ShapeError, config, eval_jaxpr, lax, make_jaxpr
from calque_linalg import symmetric_product

A = np.arange(12.0).reshape(2, 3, 2)
C = np.arange(18.0).reshape(2, 3, 3)


def test_it_is_a_product_with_the_transpose_and_a_multiple_of_the_other_matrix():
    want = 2 * A @ A.mT + 0.5 * C
    np.testing.assert_allclose(symmetric_product(A, C, alpha=2.0, beta=0.5), want)
    jaxpr = make_jaxpr(lambda a, c: symmetric_product(a, c, alpha=2.0, beta=0.5))(A, C)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, A, C)[0], want)
    assert symmetric_product(A.astype(np.float32), C.astype(np.float32)).dtype == np.float32


def test_products_inside_are_not_rounded_by_the_setting_for_products():
    with config.default_matmul_precision("default"):
        jaxpr = make_jaxpr(symmetric_product)(A, C)
    products = [eqn.params["precision"] for eqn in jaxpr.eqns if eqn.primitive is lax.dot_general_p]
    assert products == [(lax.Precision.HIGHEST, lax.Precision.HIGHEST)]


def test_the_result_is_symmetric_if_asked_for():
    out = symmetric_product(A, C, beta=1.0, symmetrize_output=True)
    np.testing.assert_array_equal(out, out.mT)
    np.testing.assert_array_equal(np.tril(out), np.tril(A @ A.mT + C))


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"symmetric_product of .* square, of the size 3, the number of rows"):
        symmetric_product(A, C[:, :2, :2])
