"""Every ufunc in the table has NumPy's values and dtypes: for all dtypes and scalars, at zeros, infinities and NaN."""

import numpy as np
import pytest

from calque_core import config, eval_jaxpr, stage, typeof
from calque_core.arrays import numpy_arithmetic, numpy_ufuncs
from calque_core.arrays.numpy_names import ufunc_names

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = "?bhilBHILefdFD"
LEFT = {"b": [True, False, True], "i": [-7, 3, 1], "u": [7, 3, 1], "f": [-1.5, 0.0, 2.25], "c": [1 + 2j, -1j, 1]}
RIGHT = {"b": [True, True, True], "i": [2, -3, 5], "u": [2, 3, 5], "f": [2.0, -0.5, 0.75], "c": [2j, 1 - 1j, 3]}
OWN = [*{getattr(np, name): None for name in ufunc_names()}]
UNARY = [ufunc for ufunc in OWN if ufunc.nin == 1]
BINARY = [ufunc for ufunc in OWN if ufunc.nin == 2 and ufunc is not np.matmul]


def traced(fun, *args):
    def flat(*xs):
        out = fun(*xs)
        return list(out) if isinstance(out, tuple) else [out]

    jaxpr = stage(flat, [typeof(x) for x in args])
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def array(values, char):
    dtype = np.dtype(char)
    return np.array(values[dtype.kind], dtype)


def expected(ufunc, *args):
    """Return the list of NumPy's results, or None where NumPy has none."""
    with np.errstate(all="ignore"):
        try:
            out = ufunc(*args)
        except TypeError:
            return None
    return list(out) if isinstance(out, tuple) else [out]


def check(ufunc, *args, fun=None, ulps=8):
    want = expected(ufunc, *args)
    if want is None:
        with pytest.raises(TypeError):
            traced(ufunc, *args)
        return
    with np.errstate(all="ignore"):
        got = traced(ufunc, *args) if fun is None else traced(fun, args[0])
    for mine, numpys in zip(got, want, strict=True):
        assert mine.dtype == numpys.dtype, (ufunc, args)
        assert np.shape(mine) == np.shape(numpys)
        eps = np.finfo(numpys.dtype).eps if numpys.dtype.kind in "fc" else 0
        np.testing.assert_allclose(mine, numpys, rtol=ulps * eps, atol=0)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda u: u.__name__)
def test_a_unary_ufunc_is_numpys_for_every_dtype(ufunc):
    is_older = np.lib.NumpyVersion(np.__version__) < "2.1.0" and ufunc in (np.ceil, np.floor, np.trunc)
    for char in DTYPES:
        if is_older and np.dtype(char).kind in "biu":
            continue  # NumPy 2.0 makes floats of them, we keep the dtype as later releases do
        x = array(RIGHT if ufunc is np.reciprocal else LEFT, char)  # an integer zero has no reciprocal
        check(ufunc, x)
        check(ufunc, x[:0])
        check(ufunc, x[2:].reshape(()))


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_a_binary_ufunc_is_numpys_for_every_pair_of_dtypes(ufunc):
    for left in DTYPES:
        for right in DTYPES:
            x, y = array(LEFT, left), array(RIGHT, right)
            has_no_inverse = ufunc is np.power and np.result_type(x, y).kind == "i"
            check(ufunc, x, abs(y) if has_no_inverse else y)


SPECIAL = [-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0, 1e-310, 1e300, np.inf, np.nan]


@pytest.mark.parametrize("ufunc", [u for u in OWN if u is not np.matmul], ids=lambda u: u.__name__)
def test_a_ufunc_is_numpys_at_zeros_infinities_and_nan(ufunc):
    x, y = (np.array(v) for v in zip(*[(a, b) for a in SPECIAL for b in SPECIAL], strict=True))
    check(ufunc, *(x, y)[: ufunc.nin], ulps=16)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
@pytest.mark.parametrize("scalar", [2, 0.75, True, np.float32(2), np.int8(3)], ids=repr)
def test_a_scalar_is_promoted_as_numpy_does(ufunc, scalar):
    for char in "bilfd":
        x = np.abs(array(RIGHT, char))
        with np.errstate(all="ignore"):
            try:
                want = ufunc(x, scalar)
            except TypeError:
                continue
            got = traced(lambda a, s=scalar: ufunc(a, s), x)
        for mine, numpys in zip(got, want if isinstance(want, tuple) else [want], strict=True):
            assert mine.dtype == numpys.dtype
            np.testing.assert_allclose(mine, numpys, rtol=8e-3 if numpys.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("ufunc", OWN, ids=lambda u: u.__name__)
def test_a_ufunc_keeps_to_32_bits_when_told_to(ufunc):
    x = np.array([[1.0, 2.0], [3.0, 1.0]], np.float32)
    for dtype in (np.float32, np.int32):
        args = [x.astype(dtype)] * ufunc.nin
        if expected(ufunc, *args) is not None:
            with config.enable_x64(False), np.errstate(all="ignore"):
                assert all(out.dtype.itemsize <= 4 for out in traced(ufunc, *args))


PARTS = [-np.inf, -2.5, -0.0, 0.0, 0.5, 1e300, np.inf, np.nan]


@pytest.mark.parametrize("ufunc", [np.isnan, np.isfinite, np.isinf, np.conjugate, np.rint], ids=lambda u: u.__name__)
def test_a_ufunc_is_numpys_where_a_part_is_infinite_or_nan(ufunc):
    check(ufunc, of_parts())


def of_parts():
    z = np.empty((len(PARTS), len(PARTS)), complex)
    z.real, z.imag = np.meshgrid(PARTS, PARTS)
    return z


ORDER = [np.maximum, np.minimum, np.fmax, np.fmin, np.less, np.less_equal, np.greater, np.greater_equal]


@pytest.mark.parametrize("ufunc", ORDER, ids=lambda u: u.__name__)
def test_the_order_of_complex_numbers_is_numpys_at_zeros_infinities_and_nan(ufunc):
    x, y = np.meshgrid(of_parts(), of_parts())
    check(ufunc, x, y)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin], ids=lambda u: u.__name__)
def test_the_chosen_of_two_complex_nans_is_numpys(ufunc):
    x, y = np.meshgrid(of_parts(), of_parts())
    got, want = traced(ufunc, x, y)[0], ufunc(x, y)
    np.testing.assert_array_equal(got.real, want.real)
    np.testing.assert_array_equal(got.imag, want.imag)


def test_extremes_do_not_overflow_and_do_not_warn():
    big = np.array([1e200, -1e200, 0.0])
    np.testing.assert_allclose(traced(np.hypot, big, big)[0], np.hypot(big, big))
    np.testing.assert_array_equal(traced(np.logaddexp, big, -big)[0], [1e200, 1e200, np.log(2)])


def test_logaddexp_of_equal_infinities_does_not_warn():
    x = np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(traced(np.logaddexp, x, x)[0], x)


def test_logaddexp_keeps_the_last_bits_of_small_results():
    np.testing.assert_allclose(traced(np.logaddexp, np.zeros(1), np.array([-40.0]))[0], np.exp(-40.0), rtol=1e-15)


def test_the_functions_serve_numpy_arrays_as_well():
    x, y = np.array([-7.0, 7.0]), np.array([2.0, -2.0])
    np.testing.assert_array_equal(numpy_arithmetic.floor_divide(x, y), x // y)
    np.testing.assert_array_equal(numpy_arithmetic.remainder(x, y), x % y)
    np.testing.assert_allclose(numpy_ufuncs.hypot(x, y), np.hypot(x, y))


@pytest.mark.parametrize(
    ("ufunc", "char", "words"),
    [
        (np.positive, "?", "positive of bool[3] at"),
        (np.negative, "?", "neg of bool[3] at"),
        (np.subtract, "?", "sub of bool[3]"),
        (np.sign, "?", "sign of bool[3] at"),
        (np.fabs, "D", "fabs of complex128[3] at"),
        (np.deg2rad, "D", "deg2rad of complex128[3] at"),
        (np.bitwise_and, "d", "and of float64[3]"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_a_dtype_that_a_ufunc_is_not_defined_for_is_named(ufunc, char, words):
    with pytest.raises(TypeError) as caught:
        traced(ufunc, *[array(LEFT, char)] * ufunc.nin)
    assert str(caught.value).startswith(words)
    assert str(caught.value).endswith("Convert the operand first.")


@pytest.mark.parametrize("ufunc", [np.log2, np.log10], ids=lambda u: u.__name__)
def test_a_logarithm_of_zero_and_infinities_has_numpys_parts(ufunc):
    z = np.array([0j, complex(np.inf, 1), complex(-np.inf, 0), 2 - 3j])
    with np.errstate(divide="ignore"):
        want = ufunc(z)
        (got,) = traced(ufunc, z)
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(want, part), rtol=1e-15)
