"""Polynomials are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core.extend import entered


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex128"])
def test_polynomials_are_numpys(dtype, agree, numbers):
    p, q, x = numbers((4,), dtype), numbers((2,), dtype), numbers((2, 3), dtype)
    agree(lambda m, p, x: [m.polyval(p, x), m.polyval(p[:1], x), m.polyval(p, 2)], p, x, ulps=16)
    agree(lambda m, p, q: [m.polyadd(p, q), m.polysub(q, p), m.polymul(p, q)], p + 1, q + 1, ulps=16)
    agree(lambda m, p: [m.polyder(p), m.polyder(p, 2), m.polyint(p), m.polyint(p, 2, [1, 2])], p, ulps=16)
    agree(lambda m, x: [m.vander(x), m.vander(x, 2), m.vander(x, 6, True), m.vander(x, 0)], x[0], ulps=64)


def test_wrong_arguments_are_refused():
    x = np.ones(3)
    with entered():
        with pytest.raises(ValueError, match=r"polyder.*m is -1. Give a number of zero or more"):
            cnp.polyder(x, -1)
        with pytest.raises(TypeError, match=r"polyint.*there are 3 constants. Give 1 or 2"):
            cnp.polyint(x, 2, x)
        with pytest.raises(TypeError, match=r"polyval.*the coefficients are float64\[1,3\]. Give a vector"):
            cnp.polyval(x[None], 1.0)
        with pytest.raises(TypeError, match=r"vander of float64\[1,3\].*Give a vector"):
            cnp.vander(x[None])
