import pytest

from calque_core import lax

FUNCTIONS = {
    "floor": lax.floor,
    "ceil": lax.ceil,
    "round": lax.round,
    "round to even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "is_finite": lambda x: lax.is_finite(lax.log1p(lax.abs(x))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rounding_maps_over_every_axis(name, check_batching):
    for dtype in ("float16", "float32", "float64"):
        check_batching(lambda x: FUNCTIONS[name](lax.mul(x, 10)), [(2, 4)], [dtype])
    check_batching(FUNCTIONS[name], [()], ["float64"])
