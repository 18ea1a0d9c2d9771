import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

NUMBERS = ("complex64", "complex128")


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
@pytest.mark.parametrize("dtype", [*NUMBERS, "float32", "int8"])
def test_parts_and_conjugates_map_over_every_axis(name, dtype, check_batching):
    for shape in [(), (4,), (2, 4)]:
        check_batching(getattr(lax, name), [shape], [dtype])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shapes", [[(), ()], [(2, 3), (2, 3)], [(2,), ()], [(), (2,)]], ids=str)
def test_construction_maps_over_every_axis(shapes, dtype, check_batching):
    check_batching(lax.complex, shapes, [dtype, dtype])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_functions_of_numbers_and_conjugates_map_over_every_axis(dtype, check_batching):
    check_batching(lambda x, y: lax.complex(lax.real(lax.mul(x, lax.conj(y))), lax.imag(y)), [(2, 3), ()], [dtype] * 2)
