import pytest

from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.2)


@pytest.mark.parametrize(
    ("kind", "lengths"), [("FFT", (4,)), ("IFFT", (3, 4)), ("RFFT", (2, 3, 4)), ("RFFT", (4,)), ("IRFFT", (3, 7))]
)
def test_transforms_map_over_every_axis(kind, lengths, check_batching):
    check_batching(lambda x: lax.fft(x, kind, lengths), [(2, 3, 4)], ["float32", "float64"])
