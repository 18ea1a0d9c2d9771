import pytest

from calque_autodiff import grad, jvp, linearize
from calque_core import CheckError, check, make_jaxpr
from calque_core.lax import check_p


def square(x):
    check(x > 0, "x is {}", x)
    return x * x


@pytest.mark.parametrize(
    "derivative",
    [grad(square), grad(grad(square)), lambda x: jvp(square, (x,), (1.0,)), lambda x: linearize(square, x)],
)
def test_a_derivative_checks_the_primal_values(derivative):
    with pytest.raises(CheckError, match=r"\(square\) failed: x is -1\.0"):
        derivative(-1.0)
    derivative(1.0)


def test_a_derivative_checks_once():
    assert sum(eqn.primitive is check_p for eqn in make_jaxpr(grad(grad(square)))(1.0).eqns) == 1
