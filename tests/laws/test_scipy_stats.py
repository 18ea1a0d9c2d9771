"""The distributions by SciPy's names: beside SciPy's values, compiled, differentiated, in batches."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_batching import vmap
from calque_numpy.scipy import stats
from calque_xla_backend import jit

scipys = pytest.importorskip("scipy.stats", reason="scipy is not installed")

PROBABILITIES = np.array([1e-3, 0.07, 0.26, 0.5, 0.77, 0.97, 1 - 1e-3])
# distribution -> parameters
PARAMETERS = {
    "norm": [()], "cauchy": [()], "logistic": [()], "laplace": [()], "gumbel_r": [()], "gumbel_l": [()],
    "gennorm": [(1.3,), (4.0,)],
    "t": [(0.7,), (3.5,), (1e5,)],
    "expon": [()],
    "gamma": [(0.6,), (2.5,), (400.0,)],
    "chi2": [(1.0,), (800.0,)],
    "pareto": [(0.5,), (3.0,)],
    "uniform": [()],
    "beta": [(0.5, 0.7), (2.0, 400.0), (30.0, 400.0)],
    "truncnorm": [(-1.0, 2.0), (3.0, 9.0), (-4.0, -2.5), (-np.inf, 1.0)],
    "vonmises": [(0.5,), (1000.0,)],
    "wrapcauchy": [(0.4,), (0.8,)],
    "bernoulli": [(0.3,)],
    "binom": [(20.0, 0.3), (1000.0, 0.5)],
    "betabinom": [(20.0, 0.5, 3.0), (100.0, 20.0, 30.0)],
    "geom": [(0.3,)],
    "nbinom": [(0.5, 0.3), (500.0, 0.5)],
    "poisson": [(0.5,), (20.0,), (500.0,)],
}  # fmt: skip
CASES = [(name, parameters) for name, rows in PARAMETERS.items() for parameters in rows]
each_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda x: x if isinstance(x, str) else None)


def is_discrete(name):
    return "pmf" in dir(getattr(stats, name))


def points(name, parameters):
    """Return points of the support, others outside of it, the ends of the range, and no number."""
    inside = getattr(scipys, name)(*parameters).ppf(PROBABILITIES)
    outside = [-1.0, 0.5, 1.0] if is_discrete(name) else [-80.0, -1.5, 1.5, 80.0]
    return np.concatenate([inside, outside, [-np.inf, np.inf, np.nan]])


def arguments(name, parameters, dtype=np.float64):
    """Return a function's arguments by the function's name."""
    place = (2.0,) if is_discrete(name) else (0.25, 1.5)
    x = points(name, parameters) * (1.0 if is_discrete(name) else place[1]) + place[0]
    q = np.concatenate([PROBABILITIES, [0.0, 1.0, 1.5, np.nan]])
    first = {"ppf": [q], "isf": [q], "entropy": []}
    return {
        kind: [np.asarray(a, dtype) for a in (*first.get(kind, [x]), *parameters, *place)]
        for kind in dir(getattr(stats, name))
    }


def results(name, calls):
    return {kind: getattr(getattr(stats, name), kind)(*args) for kind, args in calls.items()}


# The ulps of the dtype that a result may be off: parameters of 1000, and SciPy itself, lose so many.
FACTORS = {"float32": 1e4, "float64": 1e5}
INCOMPLETE = {"gamma", "chi2", "gennorm", "beta"}  # the logarithm of their probability is -inf where that underflows


def assert_near(got, want, dtype, kind):
    """Check that numbers are near; logarithms of numbers near 1 absolutely, and others where they are normal."""
    info, factor = np.finfo(dtype), FACTORS[dtype]
    got, want = np.asarray(got, float), np.asarray(want, float)
    is_asked = ~np.isfinite(want) | (want == 0.0) | ((np.abs(want) >= info.tiny) & (np.abs(want) <= info.max))
    absolute = factor * info.eps if kind.startswith("log") else info.tiny
    np.testing.assert_allclose(got[is_asked], want[is_asked], rtol=factor * info.eps, atol=absolute, err_msg=kind)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("dtype", FACTORS)
@each_case
@np.errstate(all="ignore")
def test_values_are_scipys_evaluated_and_compiled(name, parameters, dtype):
    calls = arguments(name, parameters, dtype)
    evaluated, compiled = results(name, calls), jit(lambda calls: results(name, calls))(calls)
    for kind, args in calls.items():
        want = np.asarray(getattr(getattr(scipys, name), kind)(*[x.astype(float) for x in args]))
        is_scipys = ~np.isinf(args[0]) | (kind == "entropy")  # where SciPy's densities may be NaN
        if name in INCOMPLETE and kind.startswith("log"):
            is_scipys &= ~(want < np.log(np.finfo(dtype).tiny))
        assert evaluated[kind].dtype == compiled[kind].dtype == dtype
        assert_near(evaluated[kind][is_scipys], want[is_scipys], dtype, kind)
        assert_near(compiled[kind], evaluated[kind], dtype, kind)


# Derivatives

NO_SLOPE = {("beta", kind, i) for kind in ("cdf", "sf", "logcdf", "logsf") for i in (1, 2)}  # of betainc in a and b
WHOLE = {"binom": (0, 1), "betabinom": (0, 1)}  # counts have no derivative


def inner_arguments(name, kind, parameters):
    """Return the arguments at points inside of the support, and those that have a derivative."""
    q = PROBABILITIES[[1, 2, 4, 5]]  # not at the kink in the middle
    if kind == "entropy":
        return parameters, range(len(parameters))
    x = q if kind in ("ppf", "isf") else getattr(scipys, name)(*parameters).ppf(q)
    if is_discrete(name):
        fixed = WHOLE.get(name, () if kind == "ppf" else (0,))
        return (x, *parameters), [i for i in range(1 + len(parameters)) if i not in fixed]
    args = (x if kind in ("ppf", "isf") else x * 1.5 + 0.25, *parameters, 0.25, 1.5)
    return args, [i for i in range(len(args)) if (name, kind, i) not in NO_SLOPE and np.isfinite(args[i]).all()]


def difference(f, x):
    """Return the derivative by differences of fourth order."""
    h = 1e-4 * np.maximum(np.abs(x), 1e-2)
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.sampled(keep=0.25)
@each_case
@np.errstate(all="ignore")
def test_derivatives_are_differences_and_their_sums_gradients(name, parameters):
    for kind in dir(getattr(stats, name)):
        args, places = inner_arguments(name, kind, parameters)
        for i in places:
            at = lambda x: getattr(getattr(stats, name), kind)(*args[:i], x, *args[i + 1 :])  # noqa: B023
            slope = jvp(at, (args[i],), (np.ones_like(args[i]),))[1]
            np.testing.assert_allclose(slope, difference(at, args[i]), rtol=2e-6, atol=1e-7, err_msg=f"{kind} {i}")
            total = grad(lambda x: np.sum(at(x)))(args[i])  # noqa: B023
            np.testing.assert_allclose(np.sum(total), np.sum(slope), rtol=1e-9, atol=1e-12)


def test_no_derivative_is_infinite_or_no_number_outside_of_the_support_and_at_its_ends():
    for name in ("expon", "uniform", "pareto", "truncnorm", "gamma", "beta"):
        f = getattr(stats, name).logpdf
        parameters = PARAMETERS[name][-2 if name == "truncnorm" else 0]
        for x in (-1.5, -100.0):
            slopes = grad(f, argnums=tuple(range(1 + len(parameters))))(x, *parameters)
            assert np.all(np.equal(slopes, 0.0)), name


# Batches, arguments, errors


@pytest.mark.sampled(keep=0.25)
@each_case
@np.errstate(all="ignore")
def test_batches_are_stacked_results(name, parameters):
    for kind, args in arguments(name, parameters).items():
        f = getattr(getattr(stats, name), kind)
        whole = f(*args)
        axes = (0 if args[0].ndim else None, *[None] * (len(args) - 1))
        if args[0].ndim:
            np.testing.assert_array_equal(vmap(f, axes)(*args), whole)
        lengths = [np.broadcast_to(a, np.shape(args[0])) for a in args]
        if args[0].ndim:
            np.testing.assert_allclose(vmap(f)(*lengths), whole, rtol=1e-14)


def test_arguments_have_scipys_names_and_defaults():
    for name in PARAMETERS:
        for kind in dir(getattr(stats, name)):
            ours, theirs = (inspect.signature(getattr(getattr(m, name), kind)) for m in (stats, scipys))
            first = [] if kind == "entropy" else list(theirs.parameters)[:1]
            given = (getattr(scipys, name).shapes or "").replace(" ", "")
            last = ["loc"] if is_discrete(name) else ["loc", "scale"]
            assert list(ours.parameters) == [*first, *filter(None, given.split(",")), *last], (name, kind)
    assert stats.gamma.logpdf(2.0, scale=2.0, a=1.0) == stats.gamma.logpdf(2.0, 1.0, 0.0, 2.0)


def test_a_wrong_argument_a_missing_function_and_complex_numbers_are_named():
    with pytest.raises(TypeError, match=r"gamma\.pdf: missing a required argument: 'a'\. Give x, a, loc, scale\."):
        stats.gamma.pdf(1.0)
    with pytest.raises(TypeError, match=r"norm\.pdf: .*'mean'\. Give x, loc, scale\."):
        stats.norm.pdf(1.0, mean=0.0)
    with pytest.raises(AttributeError, match=r"t has no function 'cdf'\. Its functions are logpdf, pdf\."):
        stats.t.cdf
    with pytest.raises(TypeError, match=r"norm\.logpdf of .*complex numbers are not supported\. Give real numbers\."):
        stats.norm.logpdf(1j)


@np.errstate(all="ignore")
def test_parameters_outside_of_their_range_give_no_number():
    bad = {"gamma": (-1.0,), "beta": (1.0, 0.0), "truncnorm": (2.0, 1.0), "wrapcauchy": (1.5,), "binom": (2.5, 0.5)}
    for name, parameters in bad.items():
        for kind in dir(getattr(stats, name)):
            assert np.isnan(getattr(getattr(stats, name), kind)(1.0, *parameters))
    assert np.isnan(stats.norm.cdf(0.0, scale=np.array([0.0, -1.0]))).all()
    assert np.isnan(stats.norm.ppf([1.5, -0.5])).all()


def test_probabilities_of_tails_do_not_underflow():
    assert stats.gumbel_r.logsf(1e6) == -1e6
    assert stats.laplace.logcdf(-1e6) == -1e6 - np.log(2.0)
    np.testing.assert_allclose(stats.logistic.logcdf([-1e6, 40.0]), [-1e6, -np.exp(-40.0)], rtol=1e-15)
    np.testing.assert_allclose(stats.cauchy.cdf(-1e30), 1e-30 / np.pi, rtol=1e-15)
    np.testing.assert_allclose(stats.cauchy.isf(1e-30), 1e30 / np.pi, rtol=1e-15)
    np.testing.assert_allclose(stats.truncnorm.logcdf(40.5, 40.0, np.inf), -2.0e-9, rtol=0.2)
