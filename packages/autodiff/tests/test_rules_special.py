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
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_special_functions_obey_the_laws_on_both_sides_of_zero(name, dtype, spaced, laws):
    laws(getattr(lax, name), spaced((2, 3), 0.4, 2.7, dtype))
    laws(getattr(lax, name), spaced((3,), -0.8, -0.3, dtype))


def test_neighbours_move_with_the_number():
    slopes = grad(lambda x, y: lax.nextafter(x, y), argnums=(0, 1))(1.0, 2.0)
    assert slopes == (1.0, 0.0)


def test_logistic_saturates_without_a_warning():
    assert grad(lax.logistic)(800.0) == 0.0
    assert grad(lax.logistic)(np.float32(-200.0)) == 0.0


def test_the_second_derivative_of_atan2_is_finite_beside_the_largest_number():
    x = np.float32(4.4e-20)  # 1 / x**2 overflows, its half does not
    np.testing.assert_allclose(grad(grad(lambda x: lax.atan2(x, np.float32(4.4e-20))))(x), -0.5 / 4.4e-20**2, rtol=1e-5)
