"""Special functions at their edges, by identities, traced and refused; SciPy itself is beside them in the laws."""

import math

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, evaluation, make_jaxpr, tracing, typeof
from calque_core.extend import JaxprTrace
from calque_numpy.scipy import special

INF, NAN = math.inf, math.nan
# function -> pairs of arguments and result
EDGES = {
    "expit": [((-800.0,), 0.0), ((800.0,), 1.0), ((NAN,), NAN)],
    "logit": [((0.0,), -INF), ((1.0,), INF), ((-1.0,), NAN), ((0.5,), 0.0)],
    "xlogy": [((0.0, 0.0), 0.0), ((0.0, INF), 0.0), ((0.0, -1.0), 0.0), ((0.0, NAN), NAN), ((1.0, 0.0), -INF)],
    "xlog1py": [((0.0, -1.0), 0.0), ((0.0, -2.0), 0.0), ((0.0, NAN), NAN), ((1.0, -1.0), -INF)],
    "entr": [((0.0,), 0.0), ((-1.0,), -INF), ((INF,), -INF), ((NAN,), NAN)],
    "rel_entr": [((0.0, 0.0), 0.0), ((0.0, 2.0), 0.0), ((1.0, 0.0), INF), ((-1.0, 1.0), INF), ((NAN, 1.0), NAN)],
    "kl_div": [((0.0, 2.0), 2.0), ((0.0, -1.0), INF), ((1.0, 0.0), INF), ((1.0, NAN), NAN), ((1e-300, 1e300), 1e300)],
    "log_ndtr": [((-INF,), -INF), ((INF,), 0.0), ((NAN,), NAN), ((-1e200,), -INF)],
    "gamma": [((0.0,), INF), ((-0.0,), -INF), ((-3.0,), NAN), ((-INF,), NAN), ((INF,), INF), ((NAN,), NAN)],
    "gammasgn": [((0.0,), 1.0), ((-0.0,), -1.0), ((-3.0,), NAN), ((-0.5,), -1.0), ((-1.5,), 1.0), ((NAN,), NAN)],
    "loggamma": [((-0.5,), NAN), ((0.0,), INF), ((1.0,), 0.0), ((NAN,), NAN)],
    "factorial": [((-1.0,), 0.0), ((-0.5,), 0.0), ((NAN,), NAN)],
    "poch": [((2.5, 0.0), 1.0), ((0.0, 0.0), 1.0), ((0.0, 2.0), 0.0)],
    "erfcx": [((INF,), 0.0), ((-INF,), INF), ((NAN,), NAN), ((-30.0,), INF)],
    "dawsn": [((INF,), 0.0), ((-INF,), -0.0), ((NAN,), NAN), ((0.0,), 0.0), ((1e-300,), 1e-300)],
    "exp1": [((0.0,), INF), ((INF,), 0.0), ((-1.0,), NAN), ((NAN,), NAN)],
    "expi": [((0.0,), -INF), ((INF,), INF), ((-INF,), 0.0), ((NAN,), NAN)],
    "expn": [((0.0, 0.0), INF), ((1.0, 0.0), INF), ((3.0, 0.0), 0.5), ((2.0, INF), 0.0), ((-1.0, 1.0), NAN)],
    "spence": [((0.0,), math.pi**2 / 6), ((1.0,), 0.0), ((-1e-300,), NAN), ((INF,), NAN), ((NAN,), NAN)],
    "ndtri": [((0.0,), -INF), ((1.0,), INF), ((0.5,), 0.0), ((-0.1,), NAN), ((1.1,), NAN), ((NAN,), NAN)],
    "owens_t": [((0.0, INF), 0.25), ((INF, 1.0), 0.0), ((-INF, -INF), 0.0), ((1.0, 0.0), 0.0), ((NAN, 1.0), NAN)],
    "boxcox": [((0.0, 2.0), -0.5), ((0.0, 0.0), -INF), ((0.0, -1.0), -INF), ((INF, -2.0), 0.5), ((-1.0, 2.0), NAN)],
    "boxcox1p": [((-1.0, 2.0), -0.5), ((-1.0, 0.0), -INF), ((1e-300, 3.0), 1e-300), ((-2.0, 2.0), NAN)],
    "comb": [((5.0, 2.0), 10.0), ((2.0, 5.0), 0.0), ((-3.0, 2.0), 0.0), ((0.0, 0.0), 1.0), ((5.0, NAN), 0.0)],
    "hyp1f1": [((1.0, -1.0, 2.0), INF), ((-1.0, -2.0, 2.0), 2.0), ((1.0, 2.0, 0.0), 1.0), ((1.0, 2.0, -INF), 0.0)],
    "hyp2f1": [
        *[
            ((1.0, 2.0, -1.0, 0.3), INF),
            ((1.0, 2.0, -1.0, 0.0), 1.0),
            ((-1.0, 2.0, -2.0, 0.5), 1.5),
            ((0.0, 2.0, 3.0, NAN), 1.0),
        ],
        *[
            ((0.5, 1.0, 3.0, 2.0), INF),
            ((-2.0, 1.0, 4.0, 4.0), 0.6),
            ((2.0, 2.0, 3.0, 1.0), INF),
            ((1.0, 2.0, 3.0, NAN), NAN),
        ],
        *[
            ((-0.5, 1.0, 0.25, 1.0), -INF),
            ((1.0, 1.0, 2.0, 1.0), INF),
            ((0.5, 0.5, 1.0, -INF), 0.0),
            ((2.0, 1.0, 2.0, 0.5), 2.0),
        ],
        *[
            ((-1.0, 2.0, -1.0, 0.5), 4.0),
            ((2.0, 0.0, 2.0, 1.0), 1.0),
            ((-20000.0, 1.5, 2.0, 0.5), NAN),
            ((-1.0, 1.0, 2.0, INF), -INF),
        ],
    ],
    "sph_harm_y": [((1.0, 2.0, 0.3, 0.2), 0j), ((0.0, 0.0, 0.0, 0.0), math.sqrt(0.25 / math.pi) + 0j)],
    "wofz": [((0.0,), 1.0 + 0.0j), ((INF,), 0.0j)],
    "i0": [((INF,), INF), ((-INF,), INF), ((NAN,), NAN)],
    "i1": [((INF,), INF), ((-INF,), -INF), ((0.0,), 0.0)],
    "fresnel": [((INF,), (0.5, 0.5)), ((-INF,), (-0.5, -0.5)), ((0.0,), (0.0, 0.0)), ((NAN,), (NAN, NAN))],
    "sici": [((INF,), (math.pi / 2, 0.0)), ((0.0,), (0.0, -INF)), ((-INF,), (-math.pi / 2, NAN))],
}


@pytest.mark.parametrize("name", EDGES)
def test_values_at_edges_evaluated_and_traced(name):
    function = getattr(special, name)
    for args, want in EDGES[name]:
        args = [np.float64(x) for x in args]
        jaxpr = make_jaxpr(function)(*args)
        with np.errstate(all="ignore"):
            traced = eval_jaxpr(jaxpr, jaxpr.consts, *args)
            outs = function(*args), tuple(traced) if isinstance(want, tuple) else traced[0]
        for out in outs:
            np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("name", EDGES)
def test_later_calls_run_as_code_with_the_same_values_and_without_warnings(name):
    rows = np.array([arguments for arguments, _ in EDGES[name]]).T
    columns = [np.stack([row, row]) for row in rows]
    f = getattr(special, name)
    first, *_, last = [f(*columns) for _ in range(40)]
    np.testing.assert_array_equal(last, first)
    assert np.asarray(last).dtype == np.asarray(first).dtype


def test_a_trace_that_knows_functions_gets_a_special_function_as_a_whole():
    class Watching(JaxprTrace):
        def process_function(self, function, args, options):
            seen.append(function.__name__)
            return function(*args, **options)

    seen = []
    with tracing(Watching(evaluation)) as trace:
        special.logit(trace.new_arg(typeof(0.5).strip_weak_type()))
    assert seen == ["logit"]


def test_integers_become_float64_and_half_precision_is_kept():
    for dtype, want in (("int8", "float64"), ("bool", "float64"), ("float16", "float16"), ("float32", "float32")):
        x = np.ones(3, dtype)
        for out in (special.expit(x), special.xlogy(x, x), special.softmax(x), special.logsumexp(x), special.zeta(x)):
            assert out.dtype == want
    assert special.xlogy(np.ones((2, 1), np.float32), [1.0, 2.0]).shape == (2, 2)


def test_functions_of_complex_numbers_keep_their_precision():
    for dtype, want in (
        ("float16", "complex64"),
        ("float32", "complex64"),
        ("int8", "complex128"),
        ("bool", "complex128"),
    ):
        assert special.wofz(np.ones(2, dtype)).dtype == want
    z = np.array([0.5 + 0.3j, 2.0 - 1.0j], np.complex64)
    assert special.wofz(z).dtype == special.erfcx(z).dtype == np.complex64
    np.testing.assert_allclose(special.erfcx(z), special.wofz(1j * z), rtol=1e-6)
    np.testing.assert_allclose(special.wofz(-z), 2 * np.exp(-z * z) - special.wofz(z), rtol=1e-6)


def test_bessel_functions_obey_their_sums_and_recurrence():
    z = np.array([-3.0, 0.0, 1e-9, 0.5, 2.0, 17.0, 60.0, 1e4])
    j = special.bessel_jn(z, v=130)
    np.testing.assert_allclose((j[0] + 2 * j[2::2].sum(0))[:-1], 1.0, rtol=1e-13)  # DLMF 10.12.4
    n = np.arange(1, 130)[:, None]
    np.testing.assert_allclose(z * (j[:-2] + j[2:]), 2 * n * j[1:-1], atol=1e-12)  # DLMF 10.6.1
    assert special.bessel_jn(np.float32(1.0), v=0).dtype == np.float32
    np.testing.assert_array_equal(special.bessel_jn([INF, NAN], v=1), [[0.0, NAN]] * 2)


def test_squares_of_spherical_harmonics_of_one_degree_have_a_constant_sum():
    theta, phi = np.linspace(0.0, math.pi, 5), np.linspace(-3.0, 3.0, 5)
    for n in (0, 1, 5, 40):
        y = special.sph_harm_y(n, np.arange(-n, n + 1)[:, None], theta, phi)
        np.testing.assert_allclose((abs(y) ** 2).sum(0), (2 * n + 1) / (4 * math.pi), rtol=1e-12)  # DLMF 14.30.9


def test_sums_of_exponentials_do_not_overflow():
    x = np.array([[1000.0, 1000.0], [-INF, -INF]])
    np.testing.assert_allclose(special.logsumexp(x, axis=1), [1000.0 + math.log(2.0), -INF])
    assert special.logsumexp(np.array([1.0, 1e3]), where=np.array([True, False])) == 1.0
    size, sign = special.logsumexp(np.zeros(2), b=np.array([1.0, -3.0]), return_sign=True, keepdims=True)
    np.testing.assert_allclose((size, sign), [[math.log(2.0)], [-1.0]])
    np.testing.assert_array_equal(special.softmax(x[0]), [0.5, 0.5])
    np.testing.assert_array_equal(special.log_softmax(np.array([1000.0, 0.0])), [0.0, -1000.0])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: special.expit(1j), TypeError, "expit of ~complex128.* complex numbers are not supported"),
        (lambda: special.factorial(3, exact=True), ValueError, "exact=True needs integers of any length"),
        (lambda: special.comb(3, 2, exact=True), ValueError, "comb.*exact=True needs integers.*Use math.comb"),
        (lambda: special.bernoulli(-1), ValueError, "bernoulli.*n is -1. Give the last index"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "bessel_jn.*v is -1. Give the greatest order"),
        (lambda: special.sph_harm_y(1, 0, 0.5, 0.5, diff_n=1), ValueError, "diff_n is 1. Differentiate the function"),
        (lambda: special.hyp2f1(1.0, 1.0, 2.0, 1j), TypeError, "hyp2f1 of .*complex numbers are not supported"),
        (lambda: special.dawsn(1j), TypeError, "dawsn of ~complex128.* complex numbers are not supported"),
        (lambda: special.multigammaln(3.0, 0), ValueError, "multigammaln.*d is 0. Give the dimension"),
        (lambda: special.softmax(np.ones(3), axis=1), ValueError, "softmax.*axis"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("name", ["xlogy", "beta", "gammainc", "owens_t"])
def test_shapes_that_do_not_broadcast_are_a_shape_error(name):
    x, y = np.ones((2, 5)), np.ones((3, 5))
    for f in (getattr(special, name), make_jaxpr(getattr(special, name))):
        with pytest.raises(ShapeError, match=r"\(2, 5\) and \(3, 5\) .* do not broadcast"):
            f(x, y)


def test_an_error_names_the_function_that_the_user_calls():
    with pytest.raises(TypeError, match=r"^erf at test_scipy_special.py:\d+ .*: 'a' of type str is not an array"):
        special.erf("a")
    with pytest.raises(ValueError, match=r"^beta at test_scipy_special.py:\d+ .*: \[\[1\], \[2, 3\]\] is no array"):
        special.beta([[1], [2, 3]], 1.0)


def test_quotients_of_gamma_functions_have_their_limits_at_infinity():
    assert special.betaln(np.inf, 0.5) == -np.inf
    assert special.beta(np.inf, 0.5) == 0.0
    assert special.poch(np.inf, -2.5) == 0.0
    assert special.poch(np.inf, 2.5) == np.inf
    assert special.comb(np.inf, 2.5) == np.inf
