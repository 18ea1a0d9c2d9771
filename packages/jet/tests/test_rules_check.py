import pytest

from calque_core import CheckError, check
from calque_jet import jet


def test_a_check_sees_the_values_not_their_coefficients():
    def square(x):
        check(x > 0, "x is {}", x)
        return x * x

    assert jet(square, (2.0,), ([-1.0, 0.0],))[0] == 4.0
    with pytest.raises(CheckError, match=r"x is -2\.0"):
        jet(square, (-2.0,), ([1.0, 0.0],))
