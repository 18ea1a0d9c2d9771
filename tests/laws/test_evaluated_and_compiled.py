"""Numbers at the ends of ranges, short dtypes, foreign byte orders: NumPy's answer from every evaluator."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from calque import config, device_put, grad, jit, jvp, lax, vmap
from calque import numpy as jnp

NAN, INF = np.nan, np.inf
SHORT = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz"]
EVALUATORS = {"evaluated": lambda f: f, "jit": jit, "device": lambda f: lambda *xs: f(*map(device_put, xs))}
every_evaluator = pytest.mark.parametrize("evaluate", EVALUATORS.values(), ids=EVALUATORS)


def assert_bitwise(got, want):
    """Check values, nan, and the signs of zeros."""
    got, want = np.asarray(got), np.asarray(want)
    np.testing.assert_array_equal(got, want)
    for x, y in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_array_equal(np.signbit(x[~np.isnan(x)]), np.signbit(y[~np.isnan(y)]))


# Axes, points, digits


@every_evaluator
@pytest.mark.parametrize("axes", [(1, 0), (0, 1), (-1, 0), (2, 0), (2, 1, 0)])
def test_slopes_have_the_order_of_the_axes(evaluate, axes):
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    steps = (0.5, 2.0, np.array([0.0, 1.0, 3.0]))[: len(axes)]
    for got, want in zip(evaluate(lambda x: np.gradient(x, *steps, axis=axes))(x), np.gradient(x, *steps, axis=axes)):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    mapped = vmap(lambda x: np.gradient(x, axis=axes[:2]) if max(axes) < 2 else x)(np.stack([x, 2 * x]))
    if max(axes) < 2:
        np.testing.assert_allclose(mapped[0][1], 2 * np.gradient(x, axis=axes[:2])[0], rtol=1e-12)


@every_evaluator
@pytest.mark.parametrize("values", [[1.0, INF, -2.0], [INF, INF, 3.0], [1.0, NAN, 2.0], [1 + 1j, complex(INF, 2), 3j]])
@pytest.mark.parametrize("places", [[0.0, 1.0, 3.0], [0.0, 1.0, INF], [-INF, 0.0, 3.0]])
def test_interpolation_beside_infinite_points_is_numpys(evaluate, values, places):
    x = np.array([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, INF, NAN])
    with np.errstate(all="ignore"):
        want = np.interp(x, places, values)
        got = evaluate(lambda x: jnp.interp(x, np.array(places), np.array(values)))(x)
    np.testing.assert_array_equal(got, want)


def test_the_slope_of_an_interpolation_at_a_node_stays():
    points, values = np.array([0.0, 1.0, 3.0]), np.array([1.0, 5.0, -1.0])
    assert grad(lambda x: jnp.interp(x, points, values))(1.0) == -3.0
    assert grad(lambda f: jnp.interp(0.5, points, f))(values).tolist() == [0.5, 0.5, 0.0]


@every_evaluator
@np.errstate(all="ignore")  # a warning, which is an error here, would hide NumPy's NaN
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("decimals", [39, 307, 308, 400])
def test_a_float_has_no_more_decimals_than_its_digits(evaluate, decimals, dtype):
    x = np.array([2.5, -0.0, INF, -1e-4]).astype(getattr(ml_dtypes, dtype, dtype))
    for function in (jnp.round, jnp.around):
        assert_bitwise(evaluate(lambda x: function(x, decimals))(x), x)  # noqa: B023
        zeros = np.asarray(evaluate(lambda x: function(x, -decimals))(x)[:2])  # noqa: B023
        assert_bitwise(zeros, np.array([0.0, -0.0]).astype(x.dtype))


@pytest.mark.parametrize("warnings", ["ignore", "warn"])
@every_evaluator
def test_a_number_whose_decimals_would_overflow_is_rounded(evaluate, warnings):
    x = np.array([1e300, -1e307, 2.346, INF, NAN])
    with np.errstate(all=warnings):
        assert_bitwise(evaluate(lambda x: jnp.round(x, decimals=10))(x), x)
        assert_bitwise(evaluate(lambda x: jnp.round(x, 2))(x), np.array([1e300, -1e307, 2.35, INF, NAN]))


# Signs of zero


@every_evaluator
@pytest.mark.parametrize("y", [3.0, -3.0, INF, -INF])
@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_a_zero_of_a_division_has_the_sign_that_numpy_gives_it(evaluate, name, y):
    x = np.array([0.0, -0.0, 6.0, -6.0, 4.0, -4.0])
    want = getattr(np, name)(x, y)
    assert_bitwise(evaluate(lambda x: getattr(jnp, name)(x, y))(x), want)
    assert_bitwise(evaluate(getattr(jnp, name))(x, np.full(6, y)), want)
    assert_bitwise(jit(lambda x: x % y if name == "remainder" else x // y)(x), want)


def test_remainders_of_zero_have_a_derivative():
    for x in (0.0, -0.0, 3.0, -3.0, 4.0):
        assert grad(lambda x: x % 3.0)(x) == jit(grad(lambda x: x % -3.0))(x) == 1.0
    assert grad(lambda y: np.remainder(6.0, y))(3.0) == -2.0


@pytest.mark.parametrize("dtype", [complex, np.complex64, np.complex128])
def test_a_number_beside_a_device_array_keeps_the_sign_of_its_zero(dtype):
    x, chosen = device_put(np.ones(2, complex)), device_put(np.array([True, False]))
    for number in (complex(1, 0.0), complex(1, -0.0), complex(0.0, 2), complex(-0.0, 2), complex(-0.0, -0.0)):
        assert_bitwise(jnp.where(chosen, dtype(number), x), np.where(np.asarray(chosen), number, 1 + 0j))


@pytest.mark.parametrize("dtype", [float, np.float32, np.complex64, ml_dtypes.bfloat16])
def test_caches_tell_the_signs_of_zeros_apart(dtype):
    x = np.ones(1, np.dtype(dtype))
    static = jit(lambda x, c: lax.pad(x, c, [(1, 0, 0)]), static_argnums=1)
    for _ in range(4):
        for zero, is_negative in ((dtype(0.0), False), (dtype(-0.0), True)):
            pad = lambda x: lax.pad(x, zero, [(1, 0, 0)])  # noqa: B023
            results = static(x, zero), jit(pad)(x), pad(device_put(x)), vmap(pad)(x[None])[0], jvp(pad, (x,), (x,))[0]
            for out in results:
                assert np.signbit(np.asarray(out).real.astype(float)[0]) == is_negative


# Short dtypes, byte orders


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("place", [np.asarray, device_put], ids=["evaluated", "device"])
@np.errstate(invalid="ignore")
def test_sets_of_short_floats_have_nan_last_and_once(dtype, place):
    short = np.dtype(getattr(ml_dtypes, dtype))
    x, y = np.array([3, 1, NAN, 2, NAN, 1]), np.array([2.0, 7, 1])
    a, b = place(x.astype(short)), place(y.astype(short))
    pairs = {
        "unique": (jnp.unique(a), np.unique(x)),
        "numbers": (jnp.unique(a, True, True, True), np.unique(x, True, True, True)),
        "by numpy": (np.unique(a) if place is device_put else jnp.unique(a), np.unique(x)),
        "unique_all": (tuple(jnp.unique_all(a)), tuple(np.unique_all(x))),
        "unique_values": (jnp.unique_values(a), np.unique_values(x)),
        "intersect1d": (jnp.intersect1d(a, b, return_indices=True), np.intersect1d(x, y, return_indices=True)),
        "setdiff1d": (jnp.setdiff1d(a, b), np.setdiff1d(x, y)),
        "setxor1d": (jnp.setxor1d(a, b), np.setxor1d(x, y)),
        "union1d": (jnp.union1d(a, b), np.union1d(x, y)),
        "isin": (jnp.isin(a, b), np.isin(x, y)),
        "sort": (jnp.sort(a), np.sort(x)),
        "argsort": (jnp.argsort(a), np.argsort(x, stable=True)),
        "median": (jnp.nanmedian(a), np.nanmedian(x)),
        "searchsorted": (jnp.searchsorted(jnp.sort(a), b), np.searchsorted(np.sort(x), y)),
    }
    for name, (got, want) in pairs.items():
        for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_array_equal(np.asarray(g).astype(float), np.asarray(w).astype(float), name)
    assert jnp.unique(a).dtype == jnp.union1d(a, b).dtype == short


@every_evaluator
def test_bfloat16_stays_bfloat16(evaluate):
    x = np.array([0.5, 1.0, 4.0, 2.0]).astype(ml_dtypes.bfloat16)
    functions = [
        jnp.sinc,
        jnp.unwrap,
        jnp.trapezoid,
        jnp.polyder,
        jnp.polyint,
        jnp.diff,
        jnp.vectorize(lambda a: a + a),
    ]
    for function in functions:
        assert evaluate(function)(x).dtype == x.dtype, function


@every_evaluator
def test_divisors_and_multiples_of_small_integers_wrap_as_numpys(evaluate):
    ends = np.array([-128, -127, -5, 0, 1, 10, 13, 127], np.int8)
    x, y = np.repeat(ends, 8), np.tile(ends, 8)
    for name in ("gcd", "lcm"):
        np.testing.assert_array_equal(evaluate(getattr(jnp, name))(x, y), getattr(np, name)(x, y))


@every_evaluator
def test_no_axes_are_shifted(evaluate):
    x = np.arange(6).reshape(2, 3)
    for function in (jnp.fft.fftshift, jnp.fft.ifftshift, lambda x, axes: jnp.roll(x, (), axes)):
        np.testing.assert_array_equal(evaluate(lambda x: function(x, axes=()))(x), x)  # noqa: B023


BIG = np.array([[3.0, 1.0], [2.0, NAN]]).astype(">f8")
FUNCTIONS = {
    "sort": lambda x: [jnp.sort(x), np.asarray(lax.sort(x))],
    "shapes": lambda x: [jnp.reshape(x, 4), jnp.transpose(x), lax.rev(x, (0,)), lax.slice(x, (0, 0), (1, 1))],
    "copies": lambda x: [jnp.asarray(x), jnp.copy(x), jnp.array(x), jnp.conj(x), jnp.real(x), lax.stop_gradient(x)],
    "joined": lambda x: [jnp.concatenate([x, x]), jnp.stack([x, x]), jnp.pad(x, 1), jnp.where(x > 1, x, x)],
    "sets": lambda x: [jnp.unique(x), jnp.union1d(x, x), jnp.setdiff1d(x, x[:1])],
    "indices": lambda x: [jnp.take(x, 0, 1), jnp.at(x)[0].set(1), lax.dynamic_slice(x, (0, 0), (1, 2))],
    "derivatives": lambda x: [grad(lambda x: x.sum())(x), vmap(lambda x: x[::-1])(x), jit(lambda x: x)(x)],
    "loops": lambda x: [lax.scan(lambda c, v: (c, v), 0.0, x)[1], lax.fori_loop(0, 0, lambda i, c: c, x)],
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_have_the_byte_order_of_the_machine(function):
    for x in (BIG, np.arange(4).reshape(2, 2).astype(">i4" if function is not FUNCTIONS["derivatives"] else ">f4")):
        with np.errstate(invalid="ignore"):
            got, want = function(x), function(x.astype(x.dtype.newbyteorder("=")))
        for g, w in zip(got, want, strict=True):
            assert g.dtype.isnative
            assert g.dtype == w.dtype
            np.testing.assert_array_equal(g, w)


def test_positions_have_one_dtype_in_32_bits():
    ordered = np.arange(3, dtype="f4")
    functions = {
        "searchsorted": lambda x: jnp.searchsorted(x, 1.0),
        "unravel_index": lambda x: jnp.unravel_index(x.astype(int), (3, 2))[0],
        "tril_indices_from": lambda x: jnp.tril_indices_from(x[:, None] * x)[0],
        "nan_to_num": lambda x: jnp.nan_to_num(np.arange(3)),
        "round": lambda x: jnp.round(np.arange(3)),
    }
    with config.enable_x64(False):
        for name, function in functions.items():
            assert function(ordered).dtype == jit(function)(ordered).dtype == np.int32, name


# Options and refusals


@every_evaluator
@pytest.mark.parametrize(
    ("signature", "function", "args", "error"),
    [
        ("(n),(n)->()", lambda a, b: a.sum() + b.sum(), (np.ones(3), np.ones(2)), ValueError),
        ("(n,n)->()", lambda a: a.sum(), (np.ones((2, 3)),), ValueError),
        ("(n)->(n)", lambda a: a[:2], (np.ones(3),), ValueError),
        ("(n)->(n),(n)", lambda a: a, (np.ones(3),), ValueError),
        ("(n)->(n)", lambda a: (a, a), (np.ones(3),), ValueError),
        ("(n)->(m)", lambda a: a[:, None], (np.ones(3),), ValueError),
        ("(n)->(n)", lambda a: a, (1.0,), ValueError),
        ("(n),(n)->(n)", lambda a: a, (np.ones(3),), TypeError),
    ],
)
def test_axes_of_a_signature_are_checked_by_each_evaluator(evaluate, signature, function, args, error):
    with pytest.raises(error):
        evaluate(jnp.vectorize(function, signature=signature))(*args)


def test_traced_axes_of_a_signature_are_named():
    with pytest.raises(ValueError, match=r"returns float64\[2\] for one element, whose axes \(n\) of the signature"):
        jit(jnp.vectorize(lambda a: a[:2], signature="(n)->(n)"))(np.ones(3))
    with pytest.raises(ValueError, match=r"returns 2 results, and the signature '\(n\)->\(n\)' has 1\. Give as many"):
        jit(jnp.vectorize(lambda a: (a, a), signature="(n)->(n)"))(np.ones(3))


@every_evaluator
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool"])
def test_windows_of_integers_begin_with_an_infinity(evaluate, dtype):
    x = np.arange(6).astype(dtype)
    got = evaluate(lambda x: lax.reduce_window(x, -INF, lax.max, (2,), (1,), "VALID"))(x)
    np.testing.assert_array_equal(got, np.maximum(x[1:], x[:-1]))
    assert evaluate(lambda x: lax.reduce(x, INF, lax.min, (0,)))(x) == x.min()


def test_a_reduction_of_integers_begins_with_none_but_integers():
    for start in (0.5, NAN, 1e30):
        with pytest.raises(
            TypeError, match=rf"initial value is {start!r} .*Give an integer of its range".replace("+", r"\+")
        ):
            lax.reduce(np.arange(3), start, lax.max, (0,))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "any", "all"])
def test_methods_take_none_for_no_mask(name):
    x = np.array([1.0, 2.0, 4.0])
    want = getattr(x, name)()
    method = lambda x: getattr(x, name)(where=None)
    for got in (method(device_put(x)), jit(method)(x), jvp(method, (x,), (x,))[0]):
        np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.parametrize(
    "name", ["get", "set", "add", "subtract", "multiply", "divide", "power", "min", "max", "apply"]
)
def test_unknown_options_of_updates_are_refused_in_words(name):
    args = {"get": (), "apply": (np.sin,)}.get(name, (1.0,))
    for x in (np.ones(3), device_put(np.ones(3))):
        with pytest.raises(
            TypeError, match=r"has no option 'foo'\. Its options are mode, indices_are_sorted, unique_i"
        ):
            getattr(jnp.at(x)[x > 0], name)(*args, foo=1)


def test_functions_of_numbers_are_ufuncs():
    for name in jnp.__all__:
        theirs, ours = getattr(np, name, None), getattr(jnp, name)
        assert isinstance(ours, jnp.ufunc) == isinstance(theirs, np.ufunc), name
        if isinstance(theirs, np.ufunc):
            for attribute in ("nin", "nout", "nargs", "identity", "types"):
                assert getattr(ours, attribute) == getattr(theirs, attribute), name
    assert isinstance(np.add, jnp.ufunc)
    assert isinstance(jnp.frompyfunc(lambda a: a, 1, 1), jnp.ufunc)
