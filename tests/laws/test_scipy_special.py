"""The special functions by SciPy's names: beside SciPy's values, compiled, and in place of SciPy's ufuncs."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import calque_numpy
from calque_autodiff import grad
from calque_batching import vmap
from calque_numpy.scipy import linalg, special
from calque_xla_backend import jit

scipys = pytest.importorskip("scipy.special", reason="scipy is not installed")

POSITIVE = np.logspace(-3, 1.5, 200)
REAL = np.linspace(-6.0, 6.0, 241)
PAIRS = tuple(x.ravel() for x in np.meshgrid(np.logspace(-3, 1.3, 30), np.logspace(-3, 1.3, 30)))
WIDE = np.concatenate([REAL, np.logspace(-30, 30, 61), -np.logspace(-30, 1, 41)])
PROBABILITIES = np.concatenate([np.logspace(-30, -1, 59), np.linspace(0.01, 0.99, 99)])
# name -> points, bound in ulp against SciPy, bound between the evaluators
POINTS = {
    "expit": ((REAL * 10,), 8, 8),
    "logit": ((np.linspace(0.001, 0.999, 300),), 8, 8),
    "ndtr": ((REAL,), 128, 16),
    "log_ndtr": ((np.concatenate([-np.logspace(0, 4, 200), np.linspace(-1, 2, 100)]),), 32, 16),
    "gamma": ((np.concatenate([-POSITIVE - 0.0123, POSITIVE]),), 64, 32),
    "gammasgn": ((REAL + 0.01,), 0, 0),
    "entr": ((POSITIVE,), 8, 8),
    "xlogy": (PAIRS, 8, 8),
    "xlog1py": (PAIRS, 8, 8),
    "rel_entr": (PAIRS, 8, 8),
    "i0": ((REAL * 6,), 64, 64),
    "erfcx": ((np.concatenate([REAL, np.logspace(-30, 30, 61)]),), 64, 8),
    "dawsn": ((WIDE,), 80, 8),  # SciPy's own error is 78 ulp
    "wofz": ((WIDE[np.abs(WIDE) < 6],), 80, 32),
    "fresnel": ((np.concatenate([REAL * 3, np.logspace(-9, 2, 61)]),), 64, 8),
    "exp1": ((np.concatenate([POSITIVE, np.logspace(-30, 1.8, 61)]),), 16, 8),
    "expi": ((np.concatenate([REAL + 0.01, np.logspace(-30, 1.5, 61)]),), 32, 16),
    "expn": ((np.floor(PAIRS[0] * 3), PAIRS[1]), 32, 16),
    "sici": ((np.linspace(0.01, 3.2, 200),), 64, 64),
    "spence": ((np.concatenate([POSITIVE, np.logspace(-30, 30, 61)]),), 16, 16),
    "ndtri": ((PROBABILITIES,), 8, 8),
    "owens_t": ((np.tile(REAL[::4], 3), np.repeat([0.3, -1.1, 7.0], 61)), 128, 16),
    "boxcox": ((np.repeat(np.logspace(-9, 9, 37), 5), np.tile([-1.5, 0.0, 1e-12, 0.5, 3.0], 37)), 64, 64),
    "boxcox1p": ((np.repeat(np.logspace(-9, 9, 37), 5), np.tile([-1.5, 0.0, 1e-12, 0.5, 3.0], 37)), 64, 64),
    "comb": ((np.floor(PAIRS[0] * 2), np.floor(PAIRS[1])), 16, 16),
    "i1": ((REAL * 6 + 0.01,), 64, 64),
}


def parts(out):
    """Return one array of real numbers: a pair is stacked, and so are the parts of complex numbers."""
    out = np.asarray(out)
    return np.stack([out.real, out.imag]) if out.dtype.kind == "c" else out


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTS)
def test_values_are_scipys_evaluated_and_compiled(name, dtype):
    points, bound, gap = POINTS[name]
    x, function = [p.astype(dtype) for p in points], getattr(special, name)
    want = parts(getattr(scipys, name)(*[p.astype(np.float64) for p in x]))
    evaluated, compiled = parts(function(*x)), parts(jit(function)(*x))
    assert evaluated.dtype == compiled.dtype == dtype
    is_used = (np.abs(want) > np.finfo(dtype).tiny) & (np.abs(want) < np.finfo(dtype).max)
    scale = np.spacing(np.abs(want[is_used].astype(dtype))).astype(float)
    assert (np.abs(evaluated.astype(float) - want)[is_used] / scale).max() <= bound
    assert (np.abs(compiled.astype(float) - evaluated.astype(float))[is_used] / scale).max() <= gap


def test_betaln_is_exact_where_the_gammas_cancel():
    for b in (1e2, 1e6, 1e10):
        np.testing.assert_allclose(special.betaln(1.0, b), -math.log(b), rtol=1e-14)
        np.testing.assert_allclose(special.betaln(b, 2.0), -math.log(b) - math.log1p(b), rtol=1e-14)
    a, b = PAIRS
    np.testing.assert_allclose(special.betaln(a, b), scipys.betaln(a, b), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(special.beta(a, b), scipys.beta(a, b), rtol=1e-12)


def test_rising_factorials_have_all_digits_where_the_gammas_cancel():
    z, m = np.array([1e8, 1e8, 1e20, 20.0, 1e6]), np.array([1.0, 2.0, 2.0, -3.0, 3.0])
    want = [1e8, 1e8 * (1e8 + 1), 1e40, 1 / (19 * 18 * 17), 1e6 * (1e6 + 1) * (1e6 + 2)]
    for function in (special.poch, jit(special.poch)):
        np.testing.assert_allclose(function(z, m), want, rtol=1e-13)
    assert special.poch(20.0, np.inf) == np.inf


@pytest.mark.parametrize("z", [0.5, 2.0, 9.0, -2.5])
def test_the_rising_factorial_has_a_derivative_where_it_has_no_factors(z):
    step = 1e-5
    want = (special.poch(z, step) - special.poch(z, -step)) / (2 * step)
    np.testing.assert_allclose(grad(special.poch, argnums=1)(z, 0.0), want, rtol=1e-7)


def test_derivatives_at_edges():
    inf = math.inf
    with np.errstate(all="ignore"):
        assert grad(special.xlogy, argnums=(0, 1))(0.0, 0.0) == (-inf, 0.0)
        assert grad(special.xlogy, argnums=(0, 1))(0.0, 2.0) == (math.log(2.0), 0.0)
        assert grad(special.kl_div, argnums=(0, 1))(0.0, 2.0) == (-inf, 1.0)
        assert grad(special.entr)(0.0) == inf
    assert [grad(special.expit)(x) for x in (-800.0, 800.0)] == [0.0, 0.0]
    np.testing.assert_allclose(grad(special.log_ndtr)(-1e3), 1000.000999998, rtol=1e-12)
    np.testing.assert_allclose(grad(grad(special.log_ndtr))(-1e3), -0.999999000006, rtol=1e-10)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_the_faddeeva_function_has_scipys_digits_in_the_upper_half_plane(part):
    random = np.random.default_rng(0)
    angle = np.exp(1j * random.uniform(0.0, np.pi, 2000))
    z = np.concatenate([10.0 ** random.uniform(-8, 6, 2000) * angle, REAL + 1j * np.logspace(-20, 0.5, 241)])
    got, want = special.wofz(z), scipys.wofz(z)
    np.testing.assert_allclose(getattr(got, part), getattr(want, part), rtol=3e-13)
    low = z[np.abs(z) < 5].conj()
    np.testing.assert_allclose(special.wofz(low), scipys.wofz(low), rtol=1e-13)
    np.testing.assert_allclose(special.erfcx(low), scipys.erfcx(low), rtol=1e-12)


SLOPES = {
    "erfcx": [-3.0, 0.0, 6.99, 7.01, 50.0],
    "dawsn": [0.0, 0.3, 6.99, 7.01, 50.0],
    "exp1": [0.5, 3.0],
    "expi": [-2.0, 0.3725, 5.0, 20.0],
    "spence": [0.1, 1.0, 1.2, 5.0],
    "ndtri": [0.1, 0.5],
}


def difference(f, x, h=1e-3):
    """Return the derivative by differences of fourth order."""
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", SLOPES)
def test_first_and_second_derivatives_are_differences(name):
    ours, theirs = getattr(special, name), getattr(scipys, name)
    for x in SLOPES[name]:
        np.testing.assert_allclose(grad(ours)(x), difference(theirs, x), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(grad(grad(ours))(x), difference(grad(ours), x), rtol=1e-7, atol=1e-12)


def test_derivatives_of_far_arguments_do_not_cancel():
    np.testing.assert_allclose(grad(special.erfcx)(1e6), -1e-12 / math.sqrt(math.pi), rtol=1e-11)
    np.testing.assert_allclose(grad(special.dawsn)(-1e6), -0.5e-12, rtol=1e-11)
    np.testing.assert_allclose(grad(special.boxcox, argnums=1)(2.0, 0.0), math.log(2.0) ** 2 / 2, rtol=1e-15)
    np.testing.assert_allclose(grad(grad(special.boxcox, 1), 1)(2.0, 0.0), math.log(2.0) ** 3 / 3, rtol=1e-15)
    np.testing.assert_allclose(grad(special.expn, argnums=1)(0, 0.5), -6.0 * math.exp(-0.5), rtol=1e-14)
    with pytest.raises(NotImplementedError, match=r"expn.*no derivative with respect to the order n"):
        grad(special.expn)(2.0, 0.5)


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_several_parameters_are_scipys(dtype):
    rtol = 1e-12 if dtype == "float64" else 1e-5
    x = np.linspace(-30.0, 30.0, 61).astype(dtype)
    orders = np.stack([scipys.jv(n, x.astype(float)) for n in range(8)])
    np.testing.assert_allclose(jit(lambda x: special.bessel_jn(x, v=7))(x), orders, atol=rtol)
    a, b = (p.ravel() for p in np.meshgrid([0.3, 1.0, 2.5], [2.6, 4.0, 7.3]))
    for far in (1.0, 10.0):
        args = [p.astype(dtype) for p in (np.tile(a, 61), np.tile(b, 61), np.repeat(x * far, 9))]
        want = scipys.hyp1f1(*(p.astype(float) for p in args))
        used = np.abs(want) < np.finfo(dtype).max
        np.testing.assert_allclose(jit(special.hyp1f1)(*args)[used], want[used], rtol=100 * rtol)
        args = [p[args[2] != 0.0] for p in args]
        args[2] = np.where(args[2] > 0.0, args[2] / 300.0, args[2])  # at most 1
        want = scipys.hyp2f1(args[0].astype(float), 1.5, *(p.astype(float) for p in args[1:]))
        np.testing.assert_allclose(
            jit(special.hyp2f1)(args[0], np.dtype(dtype).type(1.5), *args[1:]), want, rtol=100 * rtol
        )
    n, m = (p[..., None] for p in np.meshgrid(np.arange(7), np.arange(-7, 8)))
    theta, phi = np.linspace(-0.3, 3.0, 5).astype(dtype), np.linspace(-4.0, 4.0, 5).astype(dtype)
    out = special.sph_harm_y(n.astype(dtype), m.astype(dtype), theta, phi)
    assert out.dtype == ("complex64" if dtype == "float32" else "complex128")
    np.testing.assert_allclose(out, scipys.sph_harm_y(n, m, theta.astype(float), phi.astype(float)), atol=rtol)


def test_derivatives_of_functions_of_several_parameters():
    for n in (0, 1, 3):
        np.testing.assert_allclose(grad(lambda z, n=n: special.bessel_jn(z, v=3)[n])(2.0), scipys.jvp(n, 2.0))
        np.testing.assert_allclose(
            grad(grad(lambda z, n=n: special.bessel_jn(z, v=3)[n]))(2.0), scipys.jvp(n, 2.0, 2), rtol=1e-13
        )
    slope = grad(special.hyp1f1, argnums=2)(1.5, 2.5, -3.0)
    np.testing.assert_allclose(slope, difference(lambda x: scipys.hyp1f1(1.5, 2.5, x), -3.0), rtol=1e-9)
    for x in (-30.0, -0.5, 0.3, 0.95):
        ours, theirs = (lambda x, f=f: f(1.5, 0.7, 2.5, x) for f in (special.hyp2f1, scipys.hyp2f1))
        np.testing.assert_allclose(grad(ours, argnums=0)(x), difference(theirs, x), rtol=1e-6)
    for theta in (-0.4, 0.0, 0.8):
        ours, theirs = (lambda t, f=f: f(5, 2, t, 0.3).real for f in (special.sph_harm_y, scipys.sph_harm_y))
        np.testing.assert_allclose(grad(ours)(theta), difference(theirs, theta), rtol=1e-8, atol=1e-9)
    with pytest.raises(NotImplementedError, match=r"hyp1f1.*no derivative with respect to the parameter a, for the s"):
        grad(grad(special.hyp1f1))(1.5, 2.5, 1.0)
    with pytest.raises(NotImplementedError, match=r"hyp2f1.*no derivative with respect to the parameter c"):
        grad(special.hyp2f1, argnums=2)(1.5, 2.5, 1.0, 0.5)


UFUNCS = ["expit", "logit", "erf", "gammaln", "psi", "digamma", "gamma", "entr", "i0", "ndtr"]
UFUNCS += ["erfcx", "dawsn", "exp1", "expi", "spence", "ndtri"]


@pytest.mark.sampled(keep=0.15)
@pytest.mark.parametrize("name", ["fresnel", "sici", "hyp2f1", "boxcox", "boxcox1p", "expn", "owens_t", "wofz"])
def test_a_ufunc_of_several_operands_or_results_is_traced_by_its_name(name):
    theirs, ours, x = getattr(scipys, name), getattr(special, name), np.array([1.2, 2.7])
    args = (x,) * theirs.nin
    np.testing.assert_array_equal(jit(lambda *args: theirs(*args))(*args), jit(ours)(*args))


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_of_scipy_is_traced_by_its_name(name):
    theirs, ours = getattr(scipys, name), getattr(special, name)
    x = np.array([0.2, 0.7])
    assert grad(lambda x: theirs(x))(0.3) == grad(ours)(0.3)
    np.testing.assert_array_equal(jit(lambda x: theirs(x))(x), jit(ours)(x))
    np.testing.assert_array_equal(vmap(lambda x: theirs(x))(x), ours(x))


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax", "comb", "polygamma", "multigammaln"])
def test_a_function_of_scipy_that_is_no_ufunc_names_the_one_to_use(name):
    args = {"comb": lambda x: (x, 2.0), "polygamma": lambda x: (1, x), "multigammaln": lambda x: (x, 1)}
    call = lambda x: getattr(scipys, name)(*args.get(name, lambda x: (x,))(x))
    for transformed in (grad(call), jit(call)):
        with pytest.raises(
            TypeError, match=rf"makes NumPy's arrays of its arguments. Use calque\.scipy\.special\.{name}\."
        ):
            transformed(3.5)


def test_functions_of_scipy_without_a_counterpart_say_so():
    theirs = pytest.importorskip("scipy.linalg", reason="scipy is not installed")
    assert "solve" in linalg.__all__  # loaded: its names are known
    with pytest.raises(TypeError, match=r"scipy\.linalg\.solve makes .* Use calque\.scipy\.linalg\.solve\."):
        jit(lambda x: theirs.solve(np.eye(2) * x, np.ones(2)))(2.0)
    with pytest.raises(TypeError, match=r"scipy\.special\.perm makes .* Use calque\.scipy if"):
        grad(lambda x: scipys.perm(x, 2))(3.0)


def test_zeta_of_scipy_is_traced_although_it_is_no_ufunc():
    assert grad(lambda q: scipys.zeta(3.0, q))(1.5) == grad(lambda q: special.zeta(3.0, q))(1.5)
    assert jit(scipys.zeta)(2.0) == jit(special.zeta)(2.0)


def test_zeta_of_scipy_is_traced_by_a_process_that_has_used_no_function_of_ours():
    program = "import calque, scipy.special; print(calque.grad(lambda q: scipy.special.zeta(3.0, q))(1.5))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(run.stdout) == grad(lambda q: special.zeta(3.0, q))(1.5)


def test_the_incomplete_gamma_function_of_float32_does_not_overflow():
    assert special.gammainc(np.float32(7.9), np.float32(1e5)) == 1.0
    assert special.gammaincc(np.float32(7.9), np.float32(1e5)) == 0.0


DERIVATIVES_AT_0 = {  # of the power series, DLMF 10.25.2
    "numpy.i0": (calque_numpy.i0, [1.0, 0.0, 0.5, 0.0, 0.375]),
    "i0": (special.i0, [1.0, 0.0, 0.5, 0.0, 0.375]),
    "i1": (special.i1, [0.0, 0.5, 0.0, 0.375, 0.0]),
    "kaiser": (lambda beta: calque_numpy.kaiser(3, beta)[0], [1.0, 0.0, -0.5, 0.0, 1.125]),  # 1 / i0
}


@pytest.mark.parametrize("point", [0.0, -0.0, 1e-300, 1e-9])
@pytest.mark.parametrize("name", DERIVATIVES_AT_0)
def test_modified_bessel_functions_have_the_derivatives_of_their_series_at_0(name, point):
    f, want = DERIVATIVES_AT_0[name]
    got = []
    for _ in want:
        got.append(float(f(point)))
        f = grad(f)
    np.testing.assert_allclose(got, want, atol=1e-8)


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_derivatives_of_modified_bessel_functions_agree_with_differences(name):
    f, step = getattr(special, name), 1e-5
    for order in range(3):
        for point in (-3.0, -0.26, -0.24, 0.01, 0.2499, 0.2501, 7.0):
            slope = (f(point + step) - f(point - step)) / (2 * step)
            np.testing.assert_allclose(grad(f)(point), slope, rtol=1e-6, atol=1e-9, err_msg=f"{order} at {point}")
        f = grad(f)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_elements_that_are_all_infinite_share_the_derivative_of_logsumexp(count):
    for x in (np.full(count, -np.inf), np.full(count, np.inf)):
        np.testing.assert_array_equal(grad(special.logsumexp)(x), special.softmax(x))
        np.testing.assert_array_equal(special.softmax(x), np.full(count, 1.0 / count))
    assert special.logsumexp(np.zeros(0)) == -np.inf


EDGES = np.array([0.0, 0.3, 1.0, 2.5, np.inf, -1.0, np.nan])


@pytest.mark.parametrize(("name", "count"), [("gammainc", 2), ("gammaincc", 2), ("betainc", 3)])
def test_limits_of_incomplete_functions_are_scipys_evaluated_and_compiled(name, count):
    points = [axis.ravel() for axis in np.meshgrid(*[EDGES] * count)]
    ours, want = getattr(special, name), getattr(scipys, name)(*points)
    for function in (ours, jit(ours)):
        np.testing.assert_allclose(function(*points), want, rtol=1e-13)
