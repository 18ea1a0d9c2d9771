from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, vjp
from calque_core import lax, make_jaxpr

NAMES = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
pytestmark = pytest.mark.sampled(keep=0.2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_reductions_obey_the_laws(name, axis, reverse, spaced, laws):
    laws(lambda x: getattr(lax, name)(x, axis, reverse=reverse), spaced((3, 4)))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products_obey_the_laws_in_other_dtypes(name, dtype, spaced, laws):
    laws(getattr(lax, name), spaced((3,), dtype=dtype))


def test_the_transpose_of_a_running_sum_runs_from_the_other_end():
    out, pullback = vjp(lax.cumsum, np.ones(3))
    (eqn,) = make_jaxpr(pullback)(out).eqns

    assert (eqn.primitive.name, eqn.params["reverse"]) == ("cumsum", True)


@pytest.mark.parametrize("x", [[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0]])
def test_the_slope_of_a_product_needs_no_division(x):
    others = [np.prod([*x[:i], *x[i + 1 :]]) for i in range(3)]

    np.testing.assert_array_equal(grad(lax.reduce_prod)(np.array(x)), others)
    np.testing.assert_array_equal(grad(lambda x: lax.cumprod(x)[-1])(np.array(x)), others)


@pytest.mark.parametrize("axes", [None, 0, 1, (0, 2), (1, 0)])
def test_products_obey_the_laws(axes, spaced, laws):
    laws(lambda x: lax.reduce_prod(x, axes), spaced((2, 3, 2)))


def test_a_running_log_of_sums_has_its_curvature_at_a_tie():
    curvature = grad(lambda x: grad(lambda x: lax.cumlogsumexp(x)[1])(x)[0])(np.zeros(2))

    np.testing.assert_allclose(curvature, [0.25, -0.25])
