import numpy as np
import pytest

from calque_autodiff import vjp
from calque_core import lax, make_jaxpr

SIZES = [1, 2, 3, 8, 9]
pytestmark = pytest.mark.sampled(keep=0.3)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_transforms_obey_the_laws(kind, dtype, n, spaced, laws):
    size = n // 2 + 1 if kind == "IRFFT" else n
    if kind != "RFFT" or dtype != "complex128":
        laws(lambda x: lax.fft(x, kind, (n,)), spaced((2, size), dtype=dtype))


@pytest.mark.parametrize("lengths", [(2, 4), (2, 3), (3, 2, 4), (1, 2, 5)])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_transforms_over_several_axes_obey_the_laws(kind, lengths, spaced, laws):
    last = lengths[-1] // 2 + 1 if kind == "IRFFT" else lengths[-1]
    dtype = "float64" if kind == "RFFT" else "complex128"
    laws(lambda x: lax.fft(x, kind, lengths), spaced((*lengths[:-1], last), dtype=dtype))


@pytest.mark.parametrize(
    ("kind", "transposed"), [("FFT", "FFT"), ("IFFT", "IFFT"), ("RFFT", "IRFFT"), ("IRFFT", "RFFT")]
)
def test_a_transpose_is_one_transform(kind, transposed):
    x = np.ones(4) if kind == "RFFT" else np.ones(4 if kind != "IRFFT" else 3, complex)
    out, pullback = vjp(lambda x: lax.fft(x, kind, (4,)), x)
    kinds = [eqn.params["fft_type"].name for eqn in make_jaxpr(pullback)(out).eqns if eqn.primitive.name == "fft"]

    assert kinds == [transposed]
