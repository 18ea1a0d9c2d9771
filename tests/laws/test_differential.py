"""The same functions written for jax, where it is installed: values and dtypes of results and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close

from calque import hessian, jacfwd
from calque_autodiff import grad, jvp
from calque_batching import vmap
from calque_core import count_eqns, lax, make_jaxpr
from calque_xla_backend import jit

jax = pytest.importorskip("jax", reason="jax is not installed")

X = np.linspace(-1.5, 2.0, 6).reshape(2, 3)


FUNCTIONS = {
    name: lambda lib, x, name=name: getattr(lib, name)(x)
    for name in (
        "sin",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "atan",
        "asinh",
        "exp2",
        "cbrt",
        "exp",
        "expm1",
        "logistic",
        "abs",
        "sign",
        "floor",
        "ceil",
        "square",
        "is_finite",
    )
} | {
    "round": lambda lib, x: lib.round(x * 2),
    "round to even": lambda lib, x: lib.round(x * 2, lib.RoundingMethod.TO_NEAREST_EVEN),
    "integer_pow": lambda lib, x: lib.integer_pow(x, 3),
    "max": lambda lib, x: lib.max(x, x[::-1]),
    "rem": lambda lib, x: lib.rem(x, x * 0 + 0.7),
    "clamp": lambda lib, x: lib.clamp(-1.0, x, 1.0) if lib is lax else lib.clamp(x * 0 - 1, x, x * 0 + 1),
    "asin": lambda lib, x: lib.asin(x / 4),
    "acos": lambda lib, x: lib.acos(x / 4),
    "atanh": lambda lib, x: lib.atanh(x / 4),
    "acosh": lambda lib, x: lib.acosh(x * x + 1.5),
    "atan2": lambda lib, x: lib.atan2(x, x * x - 1),
    "erf": lambda lib, x: lib.erf(x),
    "erfc": lambda lib, x: lib.erfc(x),
    "lgamma": lambda lib, x: lib.lgamma(x * x + 0.2),
    "digamma": lambda lib, x: lib.digamma(x * x + 0.2),
    "bessel_i0e": lambda lib, x: lib.bessel_i0e(x) if lib is lax else jax.lax.bessel_i0e(x),
    "bessel_i1e": lambda lib, x: lib.bessel_i1e(x),
    "erf_inv": lambda lib, x: lib.erf_inv(x / 4),
    "log1p": lambda lib, x: lib.log1p(x * x),
    "rsqrt": lambda lib, x: lib.rsqrt(x * x + 1),
    "reshape": lambda lib, x: lib.reshape(x, (3, 2)),
    "transpose": lambda lib, x: lib.transpose(x, (1, 0)),
    "rev": lambda lib, x: lib.rev(x, (1,)),
    "slice": lambda lib, x: lib.slice(x, (0, 0), (2, 3), (1, 2)),
    "pad": lambda lib, x: lib.pad(x, x[0, 0], ((1, -1, 2), (0, 1, 0))),
    "concatenate": lambda lib, x: lib.concatenate([x, x * 2], 1),
    "sort": lambda lib, x: lib.sort(x * lib.sin(5 * x), dimension=1),
    "sort by keys": lambda lib, x: lib.sort((lib.floor(x), -x), dimension=1, num_keys=2)[1],
    "argmax": lambda lib, x: lib.argmax(x, 1, np.int32),
    "dot_general": lambda lib, x: lib.dot_general(x, x * 2, (((1,), (1,)), ((), ()))),
    "bitcast_convert_type": lambda lib, x: lib.bitcast_convert_type(x, np.int64 if x.dtype == "float64" else np.int32),
    "cond": lambda lib, x: lib.cond(x[0, 0] > 0, lib.sin, lib.cos, x),
    "select_n": lambda lib, x: lib.select_n(x > 0, x * 2, lib.exp(x)),
}


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_dtypes_and_derivatives_are_those_of_jax(name, dtype):
    x = X.astype(dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    ours, theirs = (lambda x, lib=lib: FUNCTIONS[name](lib, x) for lib in (lax, jax.lax))
    want = np.asarray(theirs(jax.numpy.asarray(x)))
    assert_close(ours(x), want, tolerance)
    assert_close(jit(ours)(x), want, tolerance)
    assert_close(vmap(ours)(np.stack([x, x]))[1], want, tolerance)
    if want.dtype == dtype:
        scalar = lambda f: lambda x: (f(x) * f(x)).sum()
        assert_close(grad(scalar(ours))(x), np.asarray(jax.grad(scalar(theirs))(x)), 10 * tolerance)
        dots = [np.asarray(side.jvp(f, (x,), (x,))[1]) for side, f in ((_Ours, ours), (jax, theirs))]
        assert_close(*dots, 10 * tolerance)


class _Ours:
    jvp = staticmethod(jvp)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("name", ["div", "rem", "shift_left", "shift_right_logical", "shift_right_arithmetic", "max"])
def test_integers_are_those_of_jax(name, dtype):
    x, y = np.array([7, 100, 13]).astype(dtype), np.array([2, 3, 5]).astype(dtype)
    xs = [x, -x] if dtype != "uint8" else [x]
    for z in xs:
        got, want = getattr(lax, name)(z, y), np.asarray(getattr(jax.lax, name)(z, y))
        assert got.dtype == want.dtype
        assert got.tolist() == want.tolist()


def test_jacobians_and_hessians_are_those_of_jax():
    ours, theirs = (lambda x, lib=lib: lib.tanh(x) * lib.exp(x[0]) for lib in (lax, jax.lax))
    assert_close(jacfwd(ours)(X), np.asarray(jax.jacfwd(theirs)(X)), 1e-12)
    ours_sum, theirs_sum = lambda x: ours(x).sum(), lambda x: theirs(x).sum()
    assert_close(hessian(ours_sum)(X), np.asarray(jax.hessian(theirs_sum)(X)), 1e-11)


def test_gradients_take_no_more_equations_than_those_of_jax():
    def network(lib, w, x):
        for _ in range(4):
            x = lib.tanh(lib.dot(x, w))
        return (x * x).sum()

    w = np.eye(3)
    ours = make_jaxpr(grad(lambda w: network(lax, w, X)))(w)
    theirs = jax.make_jaxpr(jax.grad(lambda w: network(jax.lax, w, jax.numpy.asarray(X))))(w)
    assert count_eqns(ours) <= len(theirs.eqns)
