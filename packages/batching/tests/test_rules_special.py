import pytest

from calque_core import lax


@pytest.mark.parametrize(
    "fun", [lax.logistic, lax.erf_inv, lax.erf, lax.erfc, lax.lgamma, lax.digamma, lax.bessel_i0e, lax.bessel_i1e]
)
def test_special_functions_map_over_every_axis(fun, check_batching):
    for dtype in ("float16", "float32", "float64"):
        check_batching(fun, [(2, 4)], [dtype])
    check_batching(fun, [()], ["float64"])


def inside(x):
    return lax.add(lax.mul(lax.abs(lax.tanh(x)), 0.8), 0.1)


def test_incomplete_functions_map_over_every_axis(check_batching):
    for name in ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad"):
        check_batching(lambda a, x, name=name: getattr(lax, name)(inside(a), inside(x)), [(2,), (2,)], ["float64"] * 2)
    check_batching(lambda a, b, x: lax.betainc(inside(a), inside(b), inside(x)), [(2,)] * 3, ["float64"] * 3)
