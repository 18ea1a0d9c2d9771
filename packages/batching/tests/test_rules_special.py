import pytest

from calque_core import lax


@pytest.mark.parametrize("fun", [lax.logistic, lax.erf_inv, lax.erf, lax.erfc])
def test_special_functions_map_over_every_axis(fun, check_batching):
    for dtype in ("float16", "float32", "float64"):
        check_batching(fun, [(2, 4)], [dtype])
    check_batching(fun, [()], ["float64"])
