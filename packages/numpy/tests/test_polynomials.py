"""Polynomials are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex128"])
def test_polynomials_are_numpys(dtype, agree, numbers):
    p, q, x = numbers((4,), dtype), numbers((2,), dtype), numbers((2, 3), dtype)
    agree(lambda m, p, x: [m.polyval(p, x), m.polyval(p[:1], x), m.polyval(p, 2)], p, x, ulps=16)
    agree(lambda m, p, q: [m.polyadd(p, q), m.polysub(q, p), m.polymul(p, q)], p + 1, q + 1, ulps=16)
    agree(lambda m, p: [m.polyder(p), m.polyder(p, 2), m.polyint(p), m.polyint(p, 2, [1, 2])], p, ulps=16)
    agree(lambda m, x: [m.vander(x), m.vander(x, 2), m.vander(x, 6, True), m.vander(x, 0)], x[0], ulps=64)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64"])
def test_polynomials_of_roots_are_numpys(dtype, agree, numbers):
    x = numbers((4, 4), dtype)
    agree(lambda m, x: [m.poly(x[0]), m.poly(x[1, :1])], x, ulps=16)
    if dtype != "float16":
        agree(lambda m, x: m.poly(np.triu(x)), x, ulps=2**12, plain=False)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
def test_quotients_of_polynomials_are_numpys(dtype, agree):
    u, v = np.array([4, 8, 3, 2], dtype), np.array([2, 1], dtype)
    agree(lambda m, u, v: [*m.polydiv(u, v), *m.polydiv(v, u), *m.polydiv(u, v[:1])], u, v)
    agree(lambda m, u, v: [*m.polydiv(u, 2), *m.polydiv(u[0], v)], u, v)


def test_roots_are_numpys_in_complex_numbers():
    for p in ([1.0, -3.0, 2.0], [2, 0, 5, 1], [1.0, 2.0], [3.0], [1 + 1j, 2, 3j], [1.0, 2.0, 0.0, 0.0]):
        p = np.array(p)
        want = np.sort_complex(np.roots(p))
        for strip_zeros in (True, False):
            jaxpr = make_jaxpr(lambda p, s=strip_zeros: cnp.roots(p, strip_zeros=s))(p)
            (got,) = eval_jaxpr(jaxpr, jaxpr.consts, p)
            assert got.dtype == "complex128"
            np.testing.assert_allclose(np.sort_complex(got), want, rtol=1e-14)
        with disable_jit():
            np.testing.assert_allclose(np.sort_complex(cnp.roots(p)), want)


def test_known_zeros_around_the_coefficients_are_removed():
    p = np.array([0.0, 0.0, 1.0, -3.0, 2.0, 0.0])
    with disable_jit():
        np.testing.assert_array_equal(cnp.roots(p), np.roots(p))
        np.testing.assert_array_equal(cnp.poly(np.array([1j, -1j])), [1.0, 0.0, 1.0])


def test_wrong_arguments_are_refused():
    x = np.ones(3)
    with disable_jit():
        with pytest.raises(ValueError, match=r"polydiv.*a polynomial has no coefficients"):
            cnp.polydiv(x, x[:0])
        with pytest.raises(TypeError, match=r"poly of float64\[1,3\].*Give a vector of roots, or a square matrix"):
            cnp.poly(x[None])
        with pytest.raises(TypeError, match=r"roots.*the coefficients are float64\[1,3\]. Give a vector"):
            cnp.roots(x[None])
        with pytest.raises(ValueError, match=r"polyder.*m is -1. Give a number of zero or more"):
            cnp.polyder(x, -1)
        with pytest.raises(TypeError, match=r"polyint.*there are 3 constants. Give 1 or 2"):
            cnp.polyint(x, 2, x)
        with pytest.raises(TypeError, match=r"polyval.*the coefficients are float64\[1,3\]. Give a vector"):
            cnp.polyval(x[None], 1.0)
        with pytest.raises(TypeError, match=r"vander of float64\[1,3\].*Give a vector"):
            cnp.vander(x[None])


def test_unrolling_changes_no_value_of_a_polynomial():
    p = np.array([1.0, 2.0, 3.0])
    for unroll in (0, 1, 16):
        fun = lambda p, unroll=unroll: cnp.polyval(p, 2.0, unroll=unroll)
        program = make_jaxpr(fun)(p)
        assert fun(p) == eval_jaxpr(program, program.consts, p)[0] == 11.0
    with pytest.raises(
        ValueError, match=r"polyval at test_polynomials.*unroll is -1. Leave it out, or give zero or more"
    ):
        cnp.polyval(p, 2.0, unroll=-1)
    with pytest.raises(TypeError, match=r"polyval at test_polynomials.*unroll is 1.5. Give an integer"):
        cnp.polyval(p, 2.0, unroll=1.5)


increasing = np.polynomial.polynomial
STAND_INS = {
    "polyadd": lambda a, b: np.polyadd(a[::-1], b[::-1])[::-1],
    "polysub": lambda a, b: np.polysub(a[::-1], b[::-1])[::-1],
    "polymul": lambda a, b: np.polymul(a[::-1], b[::-1])[::-1],
    "polydiv": lambda a, b: [part[::-1] for part in np.polydiv(a[::-1], b[::-1])],
    "polyder": lambda a, b: np.polyder(a[::-1], b.size)[::-1],
    "polyint": lambda a, b: np.polyint(a[::-1], b.size)[::-1],
    "polyval": lambda a, b: np.polyval(b[::-1], a),
    "polyvander": lambda a, b: np.vander(a, b.size + 1, increasing=True),
    "polyfromroots": lambda a, b: np.poly(a)[::-1],
}
OF_A_SIZE = {
    "polyder": lambda a, b: increasing.polyder(a, b.size),
    "polyint": lambda a, b: increasing.polyint(a, b.size),
    "polyvander": lambda a, b: increasing.polyvander(a, b.size),
    "polyfromroots": lambda a, b: increasing.polyfromroots(a),
}


@pytest.mark.parametrize("name", STAND_INS)
def test_what_the_advice_for_coefficients_that_increase_names_gives_their_numbers(name):
    a, b = np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 4.0])
    jaxpr = make_jaxpr(STAND_INS[name])(a, b)
    want = OF_A_SIZE.get(name, getattr(increasing, name))(a, b)
    got = eval_jaxpr(jaxpr, jaxpr.consts, a, b)
    for got_part, want_part in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(got_part, want_part, atol=1e-14)


def test_numpys_series_with_coefficients_of_two_axes_have_numpys_shape_without_tensor():
    x, c = np.array([0.5, 2.0]), np.arange(6.0).reshape(3, 2)
    for series in (increasing.polyval, np.polynomial.chebyshev.chebval):
        jaxpr = make_jaxpr(lambda x, f=series: (f(x, c, tensor=False), f(x, c[..., None], tensor=False)))(x)
        got = eval_jaxpr(jaxpr, jaxpr.consts, x)
        np.testing.assert_array_equal(got[0], series(x, c, tensor=False))
        np.testing.assert_array_equal(got[1], series(x, c))
