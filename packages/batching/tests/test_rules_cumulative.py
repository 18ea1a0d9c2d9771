import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.2)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_reductions_map_over_every_axis(name, axis, reverse, check_batching):
    check_batching(lambda x: getattr(lax, name)(x, axis, reverse=reverse), [(2, 3)], ["float64"])


@pytest.mark.parametrize("name", ["reduce_prod", "reduce_xor"])
def test_products_and_exclusive_ors_map_over_every_axis(name, check_batching):
    check_batching(lambda x: getattr(lax, name)(x, (0, 2)), [(2, 3, 2)], ["int32"])
