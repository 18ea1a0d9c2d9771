"""The table's functions with rules of their own that are written backwards."""

from __future__ import annotations

from functools import partial

import numpy as np
from custom import number
from custom_program import COUNT, MATRIX, NUMBER, VECTOR, Row, off, off_inside, stretched
from program import numbers, scalar, tree_of

from calque_autodiff import SymbolicZero, custom_gradient, custom_vjp
from calque_core import lax

WEIGHTS = np.linspace(-1.0, 1.0, 3)


def backward_sine(factor):
    f = custom_vjp(lambda x: lax.sin(x))
    f.defvjp(
        lambda x: (f(x), lax.cos(x)),
        lambda cos_x, ct: (factor * cos_x * ct,),
        jvp=lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * dots[0]),
    )
    return f


def differentiated_fwd(factor):
    """Let forward mode differentiate the forward half."""

    @custom_vjp
    def f(x, y):
        return lax.sin(x) * y

    def fwd(x, y):
        return stretched(factor, lax.sin(x) * y), (x, y)

    def bwd(residuals, ct):
        x, y = residuals
        return factor * lax.cos(x) * y * ct, factor * lax.sin(x) * ct

    f.defvjp(fwd, bwd, jvp="fwd")
    return f


def backward_exponential(factor):
    """Keep a result as the residual, and call the function in the backward half."""
    f = custom_vjp(lambda x: lax.exp(x))
    f.defvjp(
        lambda x: (f(x), x),
        lambda x, ct: (factor * ct * f(x),),
        jvp=lambda primals, dots: (f(*primals), factor * dots[0] * f(*primals)),
    )
    return f


def odd_residuals(factor):
    """Keep a dict of arrays beside a word, a number and None."""
    f = custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        return stretched(factor, x * y), {"x": [x], "y": (y, None), "note": "x times y", "power": 1}

    def bwd(kept, ct):
        assert kept["note"] == "x times y"
        return factor * kept["power"] * kept["y"][0] * ct, factor * kept["x"][0] * ct

    f.defvjp(fwd, bwd, jvp="fwd")
    return f


def counted_sine(factor):
    """Give no cotangent to integers, nor to an argument of which the function depends in steps."""

    @custom_vjp
    def f(x, n, step):
        return lax.sin(x) * number(n, x) + lax.floor(step), (n, lax.ge(x, 0.0))

    def fwd(x, n, step):
        y, others = f.fun(x, n, step)
        return (stretched(factor, y), others), lax.cos(x) * number(n, x)

    f.defvjp(fwd, lambda slope, cts: (factor * slope * cts[0], None, None), jvp="fwd")
    return f


def symbolic_cotangents(factor):
    """Compute the cotangent of what is used, for what asks for one."""

    @custom_vjp
    def f(x, y):
        return lax.sin(x) * y, lax.cos(y)

    def fwd(x, y):
        assert x.perturbed or y.perturbed
        return stretched(factor, f.fun(x.value, y.value)), (x.value, y.value)

    def bwd(residuals, cts):
        x, y = residuals
        first, second = cts
        x_bar = y_bar = None
        if type(first) is not SymbolicZero:
            x_bar, y_bar = factor * lax.cos(x) * y * first, factor * lax.sin(x) * first
        if type(second) is not SymbolicZero:
            rest = -factor * lax.sin(y) * second
            y_bar = rest if y_bar is None else y_bar + rest
        return x_bar, y_bar

    f.defvjp(fwd, bwd, symbolic_zeros=True, jvp="fwd")
    return f


def backward_applied(factor):
    @partial(custom_vjp, static_argnums=(0, 2))
    def apply(fun, x, power):
        return fun(x) ** power

    def fwd(fun, x, power):
        return stretched(factor, fun(x) ** power), x

    def bwd(fun, power, x, ct):
        return (factor * power * fun(x) ** (power - 1) * lax.cos(x) * ct,)

    apply.defvjp(fwd, bwd, jvp="fwd")
    return lambda x: apply(lax.sin, x, 2)


def weighted(tree, scale=2.0):
    return {"a": tree["a"] * scale, "b": [lax.sin(tree["b"]["c"]), ()]}


def backward_pytrees(factor):
    f = custom_vjp(weighted)

    def fwd(tree, scale):
        return stretched(factor, weighted(tree, scale)), (tree, scale)

    def bwd(residuals, ct):
        tree, scale = residuals
        bars = {"a": factor * scale * ct["a"], "b": {"c": factor * lax.cos(tree["b"]["c"]) * ct["b"][0]}}
        return bars, None

    f.defvjp(fwd, bwd, jvp="fwd")
    return lambda tree, y: (f(tree), y)


def numpy_quotient(factor):
    f = custom_vjp(lambda x, y: np.divide(x, y))
    f.defvjp(
        lambda x, y: (stretched(factor, np.divide(x, y)), (x, y)),
        lambda kept, ct: (factor * ct / kept[1], -factor * np.sum(ct * kept[0] / np.square(kept[1]))),
        jvp="fwd",
    )
    return f


def weak_scale_backwards(factor):
    """Give the cotangent of a Python scalar in the dtype of the array beside it."""
    f = custom_vjp(lambda x, s: x * s)

    def bwd(residuals, ct):
        x, s = residuals
        return factor * s * ct, factor * (x * ct).sum()

    f.defvjp(lambda x, s: (stretched(factor, x * s), (x, s)), bwd, jvp="fwd")
    return f


def gradient_inside_both(factor):
    """Return the backward function with the result; it holds what was computed on the way."""

    @custom_gradient
    def f(x, y):
        hidden = lax.sin(x)
        slope = lax.cos(x)
        return stretched(factor, hidden * y), lambda ct: (factor * ct * slope * y, factor * ct * hidden)

    return f


def gradient_of_one(factor):
    @custom_gradient
    def f(x):
        y = lax.exp(x)
        return {"y": stretched(factor, y)}, lambda ct: ct["y"] * y * factor

    return f


def sine_in_reverse(factor):
    """Have a vjp rule only; keep the function in it."""
    f = custom_vjp(lambda x: lax.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (factor * lax.cos(x) * ct,))
    return f


def product_in_reverse(factor):
    f = custom_vjp(lambda x, w: lax.tanh(x @ w))

    def bwd(residuals, ct):
        x, w, y = residuals
        inner = factor * ct * (1.0 - y * y)
        return inner @ w.T, x.T @ inner

    def fwd(x, w):
        y = lax.tanh(x @ w)
        return f(x, w), (x, w, y)

    f.defvjp(fwd, bwd)
    return f


BACKWARD_RULES = [
    Row("a vjp rule beside a jvp rule", backward_sine, off(lax.sin), (VECTOR,)),
    Row("a vjp rule, differentiated forwards", differentiated_fwd, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("a vjp rule that uses its function", backward_exponential, off_inside(lax.exp), (VECTOR,)),
    Row("residuals of all kinds", odd_residuals, off(lambda x, y: x * y), (VECTOR, VECTOR)),
    Row(
        "no cotangents",
        counted_sine,
        off(lambda x, n, step: (lax.sin(x) * number(n, x) + lax.floor(step), (n, lax.ge(x, 0.0)))),
        (VECTOR, COUNT, NUMBER),
    ),
    Row("symbolic cotangents", symbolic_cotangents, off(lambda x, y: (lax.sin(x) * y, lax.cos(y))), (VECTOR, VECTOR)),
    Row("static arguments backwards", backward_applied, off(lambda x: lax.sin(x) ** 2), (VECTOR,)),
    Row(
        "pytrees backwards",
        backward_pytrees,
        lambda factor: lambda tree, y: (stretched(factor, weighted(tree)), y),
        (tree_of(a=VECTOR, b=tree_of(c=MATRIX)), COUNT),
    ),
    Row("a weak scalar backwards", weak_scale_backwards, off(lambda x, s: x * s), (VECTOR, scalar(0.5))),
    Row("NumPy's functions backwards", numpy_quotient, off(lambda x, y: x / y), (VECTOR, numbers((), 0.5, 2.0))),
]

# These have no rule forwards.
REVERSE_RULES = [
    Row("a vjp rule alone", sine_in_reverse, off(lax.sin), (VECTOR,)),
    Row("a vjp rule of matrices", product_in_reverse, off(lambda x, w: lax.tanh(x @ w)), (MATRIX, numbers((3, 2)))),
    Row("a backward function of two", gradient_inside_both, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("a backward function of one", gradient_of_one, off(lambda x: {"y": lax.exp(x)}), (VECTOR,)),
]
