"""Fits of polynomials are NumPy's, to the condition of the equations."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import make_jaxpr
from calque_core.config import disable_jit

ULPS = 4096


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_fits_are_numpys(dtype, agree, numbers):
    x, y, w = np.array([0.0, 1.0, 2.5, 4.0, 5.0]), numbers((5, 2), dtype), np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    agree(lambda m, x, y: [m.polyfit(x, y[:, 0], 2), m.polyfit(x, y, 1), m.polyfit(x, y, 0)], x, y, ulps=ULPS)
    agree(lambda m, x, y, w: [m.polyfit(x, y, 1, None, False, w), m.polyfit(x, y[:, 1], 1, w=w)], x, y, w, ulps=ULPS)
    agree(lambda m, x, y, w: [*m.polyfit(x, y[:, 0], 2, w=w, cov=True)], x, y, w, ulps=2 * ULPS)
    agree(lambda m, x, y: [*m.polyfit(x, y, 1, cov=True), *m.polyfit(x, y, 1, cov="unscaled")], x, y, ulps=ULPS)
    agree(lambda m, x, y: m.polyfit(x, y, 2, full=True)[:4], x, y, ulps=ULPS)


def test_the_limit_of_singular_values_is_numpys():
    x = np.linspace(0.0, 1.0, 6)
    with disable_jit():
        assert cnp.polyfit(x, x, 1, full=True)[4] == np.polyfit(x, x, 1, full=True)[4]
        assert cnp.polyfit(x, x, 3, 0.5, True)[2] == 1


def test_wrong_arguments_are_refused():
    x = np.ones(4)
    with disable_jit():
        with pytest.raises(ValueError, match=r"polyfit.*deg is -1. Give a degree of zero or more"):
            cnp.polyfit(x, x, -1)
        with pytest.raises(TypeError, match=r"polyfit of float64\[4\] and float64\[3\].*the shapes do not fit"):
            cnp.polyfit(x, x[:3], 1)
        with pytest.raises(TypeError, match=r"weights float64\[2\].*the shapes do not fit"):
            cnp.polyfit(x, x, 1, w=x[:2])
        with pytest.raises(TypeError, match=r"polyfit of float64\[0\].*there are no points"):
            cnp.polyfit(x[:0], x[:0], 1)
    with pytest.raises(ValueError, match=r"4 points do not give the covariances of 4 coefficients"):
        make_jaxpr(lambda x: cnp.polyfit(x, x, 3, cov=True))(np.arange(4.0))
