from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)], ids=str)
def test_logistic_obeys_the_laws(shape, dtype, spaced, laws):
    laws(lax.logistic, spaced(shape, dtype=dtype))


def test_logistic_obeys_the_laws_on_complex_numbers(spaced, laws):
    laws(lax.logistic, spaced((3,)) + 1j * spaced((3,), -0.9, 1.1, seed=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)], ids=str)
def test_erf_inv_obeys_the_laws(shape, dtype, spaced, laws):
    laws(lax.erf_inv, spaced(shape, -0.7, 0.75, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_special_functions_obey_the_laws_on_both_sides_of_zero(name, dtype, spaced, laws):
    laws(getattr(lax, name), spaced((2, 3), 0.4, 2.7, dtype))
    laws(getattr(lax, name), spaced((3,), -0.8, -0.3, dtype))


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((3,), (3,))], ids=str)
@pytest.mark.parametrize("name", ["zeta", "polygamma"])
def test_functions_of_an_order_obey_the_laws_in_the_other_operand(name, shapes, spaced, laws):
    order = np.full(shapes[0], 2.0)
    laws(lambda x: getattr(lax, name)(order, x), spaced(shapes[1], 0.6, 3.0))


@pytest.mark.parametrize("function", [lax.zeta, lax.polygamma])
def test_an_order_has_no_derivative(function):
    with pytest.raises(
        NotImplementedError, match=r"(zeta|polygamma) at .*: no derivative with respect to the .*stop_gradient"
    ):
        grad(lambda n: function(n, 1.5))(2.0)


def test_neighbours_move_with_the_number():
    slopes = grad(lambda x, y: lax.nextafter(x, y), argnums=(0, 1))(1.0, 2.0)
    assert slopes == (1.0, 0.0)


def test_logistic_saturates_without_a_warning():
    assert grad(lax.logistic)(800.0) == 0.0
    assert grad(lax.logistic)(np.float32(-200.0)) == 0.0
