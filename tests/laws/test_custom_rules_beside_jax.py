"""Rules that are off by a factor of 2 give the numbers that they give in jax, where that is installed."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import calque
from calque_core import lax

jax = pytest.importorskip("jax", reason="jax is not installed")

NAMES = ("custom_jvp", "custom_vjp", "grad", "jvp", "vjp", "linearize", "vmap", "jit", "hessian", "checkpoint")
OURS = SimpleNamespace(lax=lax, **{name: getattr(calque, name) for name in NAMES})
THEIRS = SimpleNamespace(lax=jax.lax, **{name: getattr(jax, name) for name in NAMES})
X, XS = np.float64(0.7), np.linspace(0.1, 1.2, 4)


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


# Functions of one number; `lib` is one of the two


def sine(lib):
    f = lib.custom_jvp(lambda x: lib.lax.sin(x))
    f.defjvp(lambda primals, dots: (f(*primals), 2.0 * lib.lax.cos(primals[0]) * dots[0]))
    return f


def backward_sine(lib):
    f = lib.custom_vjp(lambda x: lib.lax.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2.0 * lib.lax.cos(x) * ct,))
    return f


def exponential(lib):
    """Use the function in its own rule."""
    f = lib.custom_jvp(lambda x: lib.lax.exp(x))

    def rule(primals, dots):
        y = f(*primals)
        return y, 2.0 * y * dots[0]

    f.defjvp(rule)
    return f


def backward_exponential(lib):
    f = lib.custom_vjp(lambda x: lib.lax.exp(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2.0 * ct * f(x),))
    return f


def kept_result(lib):
    """Keep a result that is not made by the function itself: its derivative is that of the operations."""
    f = lib.custom_vjp(lambda x: lib.lax.exp(x))
    f.defvjp(lambda x: (lib.lax.exp(x), lib.lax.exp(x)), lambda y, ct: (2.0 * ct * y,))
    return f


def own_output(lib):
    f = lib.custom_jvp(lambda x: lib.lax.sin(x))
    f.defjvp(lambda primals, dots: (lib.lax.sin(primals[0]), 2.0 * lib.lax.cos(primals[0]) * dots[0]))
    return f


def each_argument(lib):
    f = lib.custom_jvp(lambda x, y: x * lib.lax.sin(y))
    f.defjvps(lambda x_dot, out, x, y: 2.0 * lib.lax.sin(y) * x_dot, None)
    return lambda x: f(x, x * x)


def static_function(lib):
    @partial(lib.custom_jvp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x) * x

    apply.defjvp(lambda fun, primals, dots: (apply(fun, *primals), 2.0 * fun(primals[0]) * dots[0]))
    return lambda x: apply(lib.lax.cos, x)


def backward_static(lib):
    @partial(lib.custom_vjp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    power.defvjp(lambda x, n: (power(x, n), x), lambda n, x, ct: (2.0 * n * x ** (n - 1) * ct,))
    return lambda x: power(x, 3)


def pytree(lib):
    f = lib.custom_jvp(lambda t: {"s": lib.lax.sin(t["a"]) * t["b"], "c": t["b"]})

    def rule(primals, dots):
        (t,), (dot,) = primals, dots
        s_dot = 2.0 * (lib.lax.cos(t["a"]) * t["b"] * dot["a"] + lib.lax.sin(t["a"]) * dot["b"])
        return f(t), {"s": s_dot, "c": 3.0 * dot["b"]}

    f.defjvp(rule)

    def fun(x):
        out = f({"a": x, "b": x * x})
        return out["s"] * out["c"]

    return fun


def in_scan(make):
    """Return the function in a loop.  Ours is a scan, theirs is unrolled.

    In jax 0.10.2, grad(grad(scan)) of a jvp rule is another number than jacfwd(jacfwd(scan)), and than grad(grad(.)) of
    the steps written out; the last two agree.
    """

    def in_loop(lib):
        f = make(lib)
        if lib is OURS:
            return lambda x: lax.scan(lambda c, w: (f(c) * w, None), x, XS[1:3])[0]
        return lambda x: f(f(x) * XS[1]) * XS[2]

    return in_loop


def in_cond(make):
    def in_branch(lib):
        f = make(lib)
        return lambda x: lib.lax.cond(x > 0.5, f, lambda x: x * x, x)

    return in_branch


def in_checkpoint(make):
    return lambda lib: lib.checkpoint(lambda x: make(lib)(lib.lax.sin(x)))


def nested(lib):
    inner = sine(lib)
    outer = lib.custom_vjp(lambda x: inner(x) * x)
    outer.defvjp(lambda x: (inner(x) * x, x), lambda x, ct: (2.0 * inner(x) * ct,))
    return outer


FORWARD = {
    "jvp rule": sine,
    "jvp rule of its own result": exponential,
    "jvp rule without its function": own_output,
    "jvp rules of each argument": each_argument,
    "static function": static_function,
    "pytrees": pytree,
    "jvp rule in scan": in_scan(sine),
    "jvp rule in cond": in_cond(sine),
    "jvp rule in checkpoint": in_checkpoint(sine),
}
BACKWARD = {
    "vjp rule": backward_sine,
    "vjp rule of its own result": backward_exponential,
    "vjp rule of a kept result": kept_result,
    "static number": backward_static,
    "nested": nested,
    "vjp rule in scan": in_scan(backward_sine),
    "vjp rule in cond": in_cond(backward_sine),
    "vjp rule in checkpoint": in_checkpoint(backward_sine),
}
REVERSE = {
    "grad": lambda lib, f: lib.grad(f)(X),
    "jit of grad": lambda lib, f: lib.jit(lib.grad(f))(X),
    "grad of jit": lambda lib, f: lib.grad(lib.jit(f))(X),
    "vmap of grad": lambda lib, f: lib.vmap(lib.grad(f))(XS),
    "grad of vmap": lambda lib, f: lib.grad(lambda xs: lib.vmap(f)(xs).sum())(XS),
    "grad of scan": lambda lib, f: lib.grad(lambda x: lib.lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0])(X),
    "grad of jit of vmap": lambda lib, f: lib.grad(lambda xs: lib.jit(lib.vmap(f))(xs).sum())(XS),
    "grad of grad": lambda lib, f: lib.grad(lib.grad(f))(X),
    "jit of vmap of grad of grad": lambda lib, f: lib.jit(lib.vmap(lib.grad(lib.grad(f))))(XS),
    "vjp": lambda lib, f: lib.vjp(f, X)[1](np.float64(3.0))[0],
}
FORWARDS = {
    "jvp": lambda lib, f: lib.jvp(f, (X,), (np.float64(3.0),))[1],
    "jit of jvp of vmap": lambda lib, f: lib.jit(lambda xs: lib.jvp(lib.vmap(f), (xs,), (xs,))[1])(XS),
    "linearize": lambda lib, f: lib.linearize(f, X)[1](np.float64(3.0)),
    "hessian": lambda lib, f: lib.hessian(f)(X),
    "jit of hessian of jit": lambda lib, f: lib.jit(lib.hessian(lib.jit(f)))(X),
    "jvp of jvp": lambda lib, f: lib.jvp(lambda x: lib.jvp(f, (x,), (x,))[1], (X,), (X,))[1],
    "jvp of grad": lambda lib, f: lib.jvp(lib.grad(f), (X,), (X,))[1],
}
CASES = [(f, how) for f in FORWARD for how in [*REVERSE, *FORWARDS]] + [(f, how) for f in BACKWARD for how in REVERSE]


@pytest.mark.sampled(keep=0.1, rows=["name"])
@pytest.mark.parametrize(("name", "how"), CASES, ids=[f"{how}: {name}" for name, how in CASES])
def test_the_numbers_are_those_of_jax(name, how):
    make, run = (FORWARD | BACKWARD)[name], (REVERSE | FORWARDS)[how]
    got, want = run(OURS, make(OURS)), run(THEIRS, make(THEIRS))
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-13, atol=1e-15)


# What rules of both sides meet


def test_rules_meet_zeros_of_the_same_types():
    met = []
    for lib in (OURS, THEIRS):
        met.append(seen := [])
        f = lib.custom_jvp(lambda x, y, n: (x * y, n))

        def rule(primals, dots, f=f, seen=seen):
            seen.append([(np.shape(t), str(t.dtype)) for t in dots])
            return f(*primals), (2.0 * primals[1] * dots[0], dots[2])

        f.defjvp(rule)
        lib.grad(lambda x, f=f: f(x, 3.0 * np.ones(()), np.int32(1))[0])(X)
        lib.vmap(lib.grad(lambda x, f=f: f(x, 3.0 * np.ones(()), np.int32(1))[0]))(XS)
    assert met[0][:2] == met[1][:2]
    assert met[0][0][2][1] == str(np.dtype([("float0", "V")]))


@pytest.mark.parametrize("lib", [OURS, THEIRS], ids=["ours", "theirs"])
def test_forward_mode_of_a_vjp_rule_is_refused_by_both(lib):
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\)"):
        lib.jvp(backward_sine(lib), (X,), (X,))
