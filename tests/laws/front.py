"""The table's third part: NumPy's functions as programs call them, each checked by all laws.

Families have the order of calque_numpy's modules; a row may hold several functions of one family.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from program import FLOATS, Program, always, numbers

import calque_numpy as numpy
from calque_numpy import nn, segments
from calque_numpy.scipy import linalg as slinalg
from calque_numpy.scipy import special

VECTOR, MATRIX = numbers((5,)), numbers((3, 4))
POSITIVE = numbers((5,), 0.5, 2.0)
SQUARE = numbers((3, 3))
DOUBLE = ("float64",)  # NumPy's quantiles of float32 at an array of probabilities subtract in 32 bits, ours in 64
POSITIVES = numbers((3, 4), 0.5, 2.0)
EVEN = np.arange(12).reshape(3, 4) % 2 == 0
MASK = np.arange(12).reshape(3, 4) % 5 < 3
POINTS = np.array([0.0, 1.0, 1.5, 4.0])
SEGMENTS = np.array([1, 0, 1])
SEGMENT_REDUCTIONS = [getattr(segments, name) for name in segments.__all__]


def apart(x):
    """Return a diagonal matrix that moves eigenvalues apart: equal ones have no second derivative."""
    return np.diag(4 * np.arange(len(x), dtype=x.dtype))


def with_nan(rng, dtype):
    return np.where(rng.permutation(12).reshape(3, 4) < 3, dtype.type(np.nan), MATRIX(rng, dtype))


def row(name, fun, *makers, dtypes=FLOATS, ulps=64.0):
    return Program(f"numpy {name}", fun, makers, dtypes, ulps, by_array=True)


def spectral_function(values, vectors):
    """Return v f(w) v^T, which does not depend on the signs of the vectors."""
    return (vectors * np.sqrt(1.0 + values**2)) @ vectors.T


def fits(y, w):
    """Return weighted fits, and the covariances of coefficients, whose scale is the sum of squared errors."""
    points = np.linspace(0.0, 1.0, 5).astype(y.dtype)
    return (np.polyfit(points, y, 2), *np.polyfit(points, y, 1, w=w, cov=True))


def inverse_and_determinants(x):
    a = x + 5.0 * np.eye(3)
    return np.linalg.inv(a), np.linalg.det(x), *np.linalg.slogdet(a)


def matrices_of_vectors(x):
    return (
        slinalg.toeplitz(x, x[:2]), slinalg.circulant(x), slinalg.hankel(x), slinalg.companion(x), slinalg.fiedler(x),
        slinalg.fiedler_companion(x), slinalg.leslie(x, x[1:]), slinalg.convolution_matrix(x, 3, "same"),
    )  # fmt: skip


FRONT: list[Program] = [
    # elementwise
    row("copysign", lambda x, y: (np.copysign(x, y), np.signbit(x), np.copysign(x, -1.0)), VECTOR, VECTOR),
    row("modf frexp ldexp", lambda x: (*np.modf(x * 1.5), *np.frexp(x), np.ldexp(x, 5)), VECTOR),
    row("logaddexp2", np.logaddexp2, VECTOR, VECTOR),
    row("sinc", lambda x: (np.sinc(x), np.sinc(x / 40)), VECTOR),
    row("i0", np.i0, VECTOR),
    row(
        "methods of ufuncs",
        lambda x: (np.hypot.reduce(x, 1, initial=1.5), np.logaddexp.accumulate(x), np.subtract.outer(x[0], x[1])),
        MATRIX,
    ),
    row("reduceat", lambda x: (np.multiply.reduceat(x, [0, 2, 1], 1), np.fmax.reduceat(x, [0, 1])), MATRIX),
    row("gcd lcm", lambda n, m: (np.gcd(n, m), np.lcm(n, m)), *[always("int32", (4,))] * 2),
    # segments
    row("segments", lambda x: [f(x, SEGMENTS, 2) for f in SEGMENT_REDUCTIONS], MATRIX),
    # linear algebra
    row("eigh", lambda x: spectral_function(*np.linalg.eigh(x)), SQUARE, ulps=256.0),
    row("eigvalsh of the upper triangle", lambda x: np.linalg.eigvalsh(x, "U"), SQUARE, ulps=256.0),
    row(
        "cholesky and eigvalsh of the symmetric part",
        lambda x: (
            numpy.linalg.cholesky(x + 5.0 * np.eye(3), symmetrize_input=True),
            numpy.linalg.eigvalsh(x, symmetrize_input=True),
        ),
        SQUARE,
        ulps=256.0,
    ),
    row("svd", lambda x: spectral_function(*np.linalg.svd(x, False)[1::-1]), MATRIX, ulps=256.0),
    row("svd of a symmetric matrix", lambda x: np.linalg.svd(x, False, False, True), SQUARE, ulps=256.0),
    row("pinv lstsq", lambda x, y: (np.linalg.pinv(x), *np.linalg.lstsq(x.T, y)), MATRIX, numbers((4,)), ulps=1024.0),
    row("norm", lambda x: [np.linalg.norm(x, ord) for ord in (2, -2, "nuc")], MATRIX, ulps=256.0),
    row(
        "cross vecdot",
        lambda x, y: (np.cross(x, x[::-1]), np.linalg.cross(x, y), np.linalg.vecdot(x, y)),
        SQUARE,
        numbers((3,)),
    ),
    row("solve", lambda a, b: np.linalg.solve(a + 5.0 * np.eye(3), b), SQUARE, numbers((2, 3, 1))),
    row("inv det slogdet", inverse_and_determinants, SQUARE, ulps=256.0),
    row("qr cholesky", lambda x: (*np.linalg.qr(x.T), np.linalg.cholesky(x @ x.T + np.eye(3))), MATRIX, ulps=256.0),
    row("polar sqrtm", lambda x: (*slinalg.polar(x), slinalg.sqrtm(x + 5.0 * np.eye(3))), SQUARE, ulps=512.0),
    row(
        "qr_multiply expm_frechet",
        lambda x: (*slinalg.qr_multiply(x, x), slinalg.expm_frechet(x, x)),
        SQUARE,
        ulps=512.0,
    ),
    row(
        "solve_sylvester eigh_tridiagonal",
        lambda a, q: (slinalg.solve_sylvester(a + 5.0 * np.eye(3), a, q), slinalg.eigh_tridiagonal(q[0], q[1, :2])[0]),
        SQUARE,
        SQUARE,
        ulps=512.0,
    ),
    row("matrices of vectors", matrices_of_vectors, POSITIVE),
    row("matrix_power multi_dot", lambda x: (np.linalg.matrix_power(x, 3), np.linalg.multi_dot([x, x, x[0]])), SQUARE),
    # reductions that skip NaN
    row("nan reductions", lambda x: (np.nansum(x, 0), np.nanmean(x), np.nanvar(x, 1), np.nanprod(x, 1)), with_nan),
    row("nan extremes", lambda x: (np.nanmax(x, 0), np.nanmin(x), np.nanargmax(x, 1), np.nancumsum(x, 0)), with_nan),
    row("masked moments", lambda x: (np.mean(x, 0, where=MASK), np.var(x, where=MASK, ddof=1)), MATRIX),
    row("masked nan moments", lambda x: (np.nanmean(x, where=MASK), np.nanstd(x, where=MASK, ddof=1)), with_nan),
    # medians and quantiles
    row("median", lambda x: (np.median(x, 0), np.median(x), np.nanmedian(x, 1)), MATRIX),
    row(
        "quantile",
        lambda x: (np.quantile(x, [0.1, 0.6], 0), np.percentile(x, 30, method="hazen")),
        MATRIX,
        dtypes=DOUBLE,
    ),
    row("nanquantile", lambda x: np.nanquantile(x, [0.2, 0.5], 0), with_nan, dtypes=DOUBLE),
    row(
        "weighted quantile",
        lambda x: np.quantile(x, [0.2, 0.7], 0, weights=np.array([2.0, 3.0, 1.5]), method="inverted_cdf"),
        MATRIX,
    ),
    # padding and windows
    row("pad reflected", lambda x: (np.pad(x, 2, mode="reflect", reflect_type="odd"), np.pad(x, 1, "wrap")), MATRIX),
    row(
        "pad by values",
        lambda x: (np.pad(x, (1, 2), "linear_ramp", end_values=x[0, 0]), np.pad(x, 1, "mean", stat_length=2)),
        MATRIX,
    ),
    row(
        "repeat and roll by traced numbers",
        lambda x, n: (numpy.repeat(x, n, 0, total_repeat_length=5), numpy.roll(x, n[:2], (0, 1))),
        MATRIX,
        lambda rng, dtype: np.array([1, 0, 3]),
    ),
    row("windows", lambda x: sliding_window_view(x, (2, 3)), MATRIX),
    # places, counts, elements at positions
    row("searchsorted", lambda a, v: (np.searchsorted(np.sort(a), v), np.digitize(v, np.sort(a))), VECTOR, MATRIX),
    row(
        "interp",
        lambda x, f: (np.interp(x, POINTS, f, 0.5), np.interp(x, POINTS, f, period=3.0)),
        VECTOR,
        numbers((4,)),
    ),
    row("histogram", lambda x, w: np.histogram(x, np.array([-1, 0.1, 1]), weights=w), VECTOR, VECTOR),
    row("histogramdd", lambda x, w: np.histogramdd(x, 2, weights=w), numbers((5, 2)), VECTOR),
    row("take", lambda x: (np.take(x, [2, 0, 2], 1), np.take_along_axis(x, np.argsort(x, 1), 1)), MATRIX),
    row(
        "take_along_axis and put_along_axis under a mode",
        lambda x, i: (
            numpy.take_along_axis(x, i, 1, "fill", 1.5),
            numpy.take_along_axis(x, i, 1, "clip"),
            numpy.put_along_axis(x, i, x[:, :1], 1, mode="drop"),
        ),
        MATRIX,
        lambda rng, dtype: np.array([[3, 9], [-1, 0], [2, -9]]),
    ),
    row(
        "where compress extract of a size",
        lambda x: (
            *numpy.where(x > 0.5, size=4, fill_value=-1),
            numpy.compress(x[0] > 0.5, x, 1, size=3, fill_value=2),
            numpy.extract(x > 0.5, x, size=5),
        ),
        MATRIX,
    ),
    row(
        "sets of a size",
        lambda x, n, m: [x[0] * f(n, m, size=4) for f in (numpy.intersect1d, numpy.setdiff1d, numpy.setxor1d)],
        MATRIX,
        lambda rng, dtype: np.array([5, 3, 3, 1]),
        lambda rng, dtype: np.array([3, 7, 5]),
    ),
    row(
        "eye tri by a traced diagonal",
        lambda x, k: (numpy.eye(3, 4, k) * x, numpy.tri(3, 4, k) * x),
        MATRIX,
        lambda rng, dtype: np.array(1),
    ),
    row("insert block", lambda x, y: (np.insert(x, [1, 3], y[:, :2], 1), np.block([[x, y], [y, x]])), MATRIX, MATRIX),
    row(
        "put place put_along_axis",
        lambda x, y: (
            numpy.put(x, [5, 2], y),
            numpy.place(x, EVEN, y[0]),
            numpy.put_along_axis(x, np.argsort(x, 1)[:, :1], y[:, 1:2], 1),
        ),
        MATRIX,
        MATRIX,
    ),
    row("choose", lambda x, y: np.choose(np.array([[0, 1, 1, 0]]), [x, y]), MATRIX, MATRIX),
    # convolutions, covariances, windows, polynomials
    row(
        "convolve",
        lambda x, y: (np.convolve(x, y), np.convolve(y, x, "same"), np.correlate(x, y)),
        VECTOR,
        numbers((3,)),
    ),
    row("cov", lambda x, w: (np.cov(x), np.cov(x, aweights=w), np.corrcoef(x)), MATRIX, numbers((4,), 0.5, 2.0)),
    row(
        "polynomials",
        lambda p, x: (np.polyval(p, x), np.polymul(p, x), np.polyder(p), np.polyint(p, 2)),
        VECTOR,
        VECTOR,
    ),
    row("poly", lambda x: (np.poly(x), np.poly(np.outer(x, x) + apart(x))), VECTOR, ulps=512.0),
    row("polydiv", lambda x: np.polydiv(x, x[:2] + 3.0), VECTOR, dtypes=DOUBLE),  # NumPy's remainder keeps rounding
    row("roots", lambda x: np.real(np.roots(np.hstack([2.0, x, 5.0])) ** 3).sum(), numbers((3,)), ulps=512.0),
    row("polyfit", fits, VECTOR, POSITIVE, ulps=4096.0),
    row("vander", lambda x: (np.vander(x, 3), np.vander(x, increasing=True)), VECTOR),
    # functions that take functions, further products
    row("piecewise", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: -v, 7, lambda v: v * v]), VECTOR),
    row("apply_along_axis", lambda x: np.apply_along_axis(lambda r: np.cumsum(r)[1:], 0, x), MATRIX),
    row(
        "vectorize frompyfunc",
        lambda x: (
            numpy.vectorize(lambda a, b: np.sin(a) * b)(x, x[0]),
            numpy.vectorize(np.cumprod, signature="(n)->(n)")(x),
            numpy.frompyfunc(lambda a, b: a * 0.5 + b, 2, 1).accumulate(x, 1),
        ),
        MATRIX,
    ),
    row("matvec vecdot", lambda x, v: (np.matvec(x, v), np.vecdot(x, v)), MATRIX, numbers((4,))),
    row("geomspace", lambda x: np.geomspace(x, 9.0, 4), numbers((3,), 1.0, 3.0), dtypes=DOUBLE),
    # special functions by scipy's names
    row("expit logit", lambda x: (special.expit(x), special.logit(special.expit(x))), VECTOR),
    row("erf erfc erfinv", lambda x: (special.erf(x), special.erfc(x), special.erfinv(x / 3)), VECTOR),
    row("ndtr log_ndtr", lambda x: (special.ndtr(x), special.log_ndtr(x), special.log_ndtr(x * 30)), VECTOR),
    row("xlogy xlog1py", lambda x, y: (special.xlogy(x, y), special.xlog1py(y, x / 3)), VECTOR, POSITIVE),
    row("entropies", lambda x, y: (special.entr(x), special.rel_entr(x, y), special.kl_div(y, x)), *[POSITIVE] * 2),
    row("logsumexp", lambda x, b: (special.logsumexp(x, 0, b), special.logsumexp(x)), MATRIX, numbers((4,), 0.5, 2.0)),
    row("softmax log_softmax", lambda x: (special.softmax(x, 1), special.log_softmax(x, 0)), MATRIX),
    row("gamma", lambda x: (special.gamma(x), special.gamma(-x - 0.2), special.gammasgn(x)), numbers((5,), 0.5, 0.7)),
    row("gammaln factorial", lambda x: (special.gammaln(x), special.factorial(x), special.loggamma(x)), POSITIVE),
    row("multigammaln poch", lambda x, y: (special.multigammaln(x + 2, 3), special.poch(x, y)), *[POSITIVE] * 2),
    row("beta betaln", lambda x, y: (special.beta(x, y), special.betaln(x, 20 * y)), *[POSITIVE] * 2, ulps=256.0),
    row("digamma zeta", lambda x: (special.digamma(x), special.polygamma(1, x), special.zeta(2.5, x)), POSITIVE),
    row("i0 i1", lambda x: (special.i0(x), special.i0e(x), special.i1(x), special.i1e(x)), VECTOR),
    row("erfcx dawsn", lambda x: (special.erfcx(x), special.dawsn(x), special.dawsn(x * 9)), VECTOR),
    row("wofz", lambda x, y: (special.wofz(x + 1j * y), special.erfcx(y - 1j * x)), *[POSITIVE] * 2),
    row("fresnel sici", lambda x: (*special.fresnel(x), *special.sici(x)), POSITIVE),
    row("exp1 expi expn", lambda x: (special.exp1(x), special.expi(x), special.expn(2, x)), POSITIVE),
    row("spence ndtri", lambda x: (special.spence(x), special.ndtri(x / 3)), POSITIVE),
    row("owens_t comb", lambda x, y: (special.owens_t(x, y), special.comb(x + 4, y)), *[POSITIVE] * 2),
    row("boxcox", lambda x, y: (special.boxcox(x, y), special.boxcox1p(x, y)), *[POSITIVE] * 2),
    row("hyp2f1", lambda x: special.hyp2f1(1.5, 0.5, 2.5, 1.0 - x), POSITIVE),
    row("bessel_jn hyp1f1", lambda x: (special.bessel_jn(x, v=3), special.hyp1f1(1.5, 2.5, x)), POSITIVE, ulps=256.0),
    row("sph_harm_y", lambda x, y: special.sph_harm_y(3, 2, x, y).real, *[POSITIVE] * 2),
    # running sums and differences
    row("prod", lambda x: (np.prod(x, 1), np.prod(x)), MATRIX),
    row("cumsum cumprod", lambda x: (np.cumsum(x, 1), np.cumprod(x, 0), np.cumulative_sum(x[0])), MATRIX),
    row("differences", lambda x, y: (np.diff(x, 2), np.ediff1d(x, y), np.trapezoid(x, x * x)), VECTOR, VECTOR),
    row("gradient", lambda x: (*np.gradient(x, 0.5, edge_order=2), np.gradient(x, POINTS, axis=1)), MATRIX),
    row("unwrap", lambda x: (np.unwrap(x * 4), np.unwrap(x, period=1.5)), VECTOR),
    # neural networks
    row("nn piecewise", lambda x: (nn.relu(x), nn.relu6(x * 5), nn.leaky_relu(x), nn.hard_silu(x * 4)), VECTOR),
    row("nn sparse", lambda x: (nn.sparse_plus(x * 2), nn.hard_tanh(x * 3), nn.hard_sigmoid(x)), VECTOR),
    row("nn smooth", lambda x: (nn.silu(x), nn.mish(x), nn.gelu(x), nn.gelu(x, False), nn.squareplus(x)), VECTOR),
    row("nn exponential", lambda x: (nn.elu(x), nn.celu(x, 2.0), nn.selu(x), nn.softplus(x), nn.soft_sign(x)), VECTOR),
    row("nn log1mexp", nn.log1mexp, POSITIVE),
    row("nn softmax", lambda x: (nn.softmax(x), nn.log_softmax(x, 0), nn.softmax(x, where=EVEN)), MATRIX),
    row("nn logsumexp", lambda x, y: (nn.logsumexp(x, 1), nn.logsumexp(x, b=y, where=EVEN)), MATRIX, POSITIVES),
    row("nn standardize", lambda x: (nn.standardize(x), nn.standardize(x, 0, algorithm="stable")), MATRIX),
    row("nn glu", nn.glu, MATRIX),
    row(
        "nn attention",
        lambda q, k: nn.dot_product_attention(
            q, k, k * 2, is_causal=True, local_window_size=2, query_seq_lengths=[3, 2]
        ),
        numbers((2, 3, 2, 2)),
        numbers((2, 4, 1, 2)),
    ),
]
