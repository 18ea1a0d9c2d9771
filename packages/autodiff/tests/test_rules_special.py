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


def test_logistic_saturates_without_a_warning():
    assert grad(lax.logistic)(800.0) == 0.0
    assert grad(lax.logistic)(np.float32(-200.0)) == 0.0
