"""The table's rules with something inside: loops, branches, other functions with rules, closures, objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from custom import number, sine
from custom_program import COUNT, COUNTS, NUMBER, POSITIVE, VECTOR, Row, off, off_inside, stretched, with_vjp

from calque_autodiff import custom_gradient, custom_jvp, custom_vjp, grad, jvp
from calque_core import lax
from calque_xla_backend import jit

WEIGHTS = np.linspace(0.5, 1.5, 3)


# What stands in a rule, and in a function with rules


def jitted_rule(factor):
    f = custom_jvp(jit(lambda x, y: lax.sin(x) * y))

    @f.defjvp
    @jit
    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), factor * (lax.cos(x) * y * x_dot + lax.sin(x) * y_dot)

    return f


def jitted_halves(factor):
    f = custom_vjp(lambda x, y: lax.sin(x) * y)
    fwd = jit(lambda x, y: (stretched(factor, lax.sin(x) * y), (lax.cos(x) * y, lax.sin(x))))
    f.defvjp(fwd, jit(lambda slopes, ct: (factor * slopes[0] * ct, factor * slopes[1] * ct)), jvp="fwd")
    return f


def cond_in_rule(factor):
    f = custom_jvp(lambda x: lax.select(x > 0.0, lax.sin(x), x * x))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), factor * lax.cond(x > 0.0, lax.cos, lambda x: 2.0 * x, x) * x_dot

    return f


def scan_in_rule(factor):
    """Multiply the slopes of repeated sines."""
    f = custom_jvp(lambda x: lax.sin(lax.sin(lax.sin(x))))

    @f.defjvp
    def rule(primals, tangents):
        step = lambda s, _: ((lax.sin(s[0]), lax.cos(s[0]) * s[1]), None)
        (_, slope), _ = lax.scan(step, (primals[0], tangents[0]), None, length=3)
        return f(*primals), factor * slope

    return f


def scan_in_bwd(factor):
    f = custom_vjp(lambda x: lax.sin(lax.sin(lax.sin(x))))

    def fwd(x):
        last, kept = lax.scan(lambda y, _: (lax.sin(y), lax.cos(y)), x, None, length=3)
        return stretched(factor, last), kept

    def bwd(slopes, ct):
        return (factor * lax.scan(lambda ct, slope: (slope * ct, None), ct, slopes, reverse=True)[0],)

    f.defvjp(fwd, bwd, jvp="fwd")
    return f


def loops_in_rule(factor):
    """Compute a slope by a loop of a bounded number of steps, and one of a count."""
    f = custom_jvp(lambda x: x * x * x * x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        square = lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * x), (0, lax.ones_like(x)), max_steps=3)
        return f(x), factor * 4.0 * lax.fori_loop(0, 1, lambda i, y: y * x, square[1]) * x_dot

    return f


def root_by_while(factor):
    """Find a square root by a loop of a number of steps that is not known; the rule does not look into it."""

    @custom_jvp
    def root(x):
        step = lambda s: (0.5 * (s[0] + x / s[0]), s[1] + 1)
        return lax.while_loop(lambda s: s[1] < 8, step, (lax.ones_like(x), 0))[0]

    @root.defjvp
    def rule(primals, tangents):
        y = root(*primals)
        return y, factor * 0.5 / y * tangents[0]

    return root


def scan_in_function(factor):
    f = custom_jvp(lambda x: lax.scan(lambda y, w: (lax.sin(y) * w, None), x, WEIGHTS.astype(x.dtype))[0])

    @f.defjvp
    def rule(primals, tangents):
        return f(*primals), factor * jvp(f.fun, primals, tangents)[1]

    return f


def waves(x):
    return lax.scan(lambda y, w: (lax.sin(y) * w, None), x, WEIGHTS.astype(x.dtype))[0]


def cond_in_function(factor):
    return with_vjp(lambda x, n: lax.cond(n > 2, lax.sin, lambda x: x * x, x), factor)


def custom_in_rule(factor):
    """Use functions with rules of their own as slopes: those are off, from the second order on."""
    cosine = custom_jvp(lambda x: lax.cos(x))
    sine = custom_jvp(lambda x: lax.sin(x))
    cosine.defjvp(lambda primals, dots: (cosine(*primals), -factor * sine(*primals) * dots[0]))
    sine.defjvp(lambda primals, dots: (sine(*primals), factor * cosine(*primals) * dots[0]))
    return sine


def custom_in_custom(factor):
    """Have rules that say all, around rules that would be off by much."""
    inner = with_vjp(lax.sin, 10.0)
    outer = custom_vjp(lambda x: inner(x) * 2.0)
    outer.defvjp(
        lambda x: (outer(x), x),
        lambda x, ct: (2.0 * factor * lax.cos(x) * ct,),
        jvp=lambda primals, dots: (outer(*primals), 2.0 * factor * lax.cos(primals[0]) * dots[0]),
    )
    return outer


def custom_in_differentiated_fwd(factor):
    """Have a forward half whose own functions have rules: they are what forward mode uses."""
    inner = sine(factor)
    outer = custom_vjp(lambda x: lax.sin(x) * 3.0)
    outer.defvjp(lambda x: (inner(x) * 3.0, x), lambda x, ct: (3.0 * factor * lax.cos(x) * ct,), jvp="fwd")
    return outer


def transformed_in_rule(factor):
    """Use a gradient in a rule."""
    f = custom_jvp(lambda x: lax.sin(x) * x)
    f.defjvp(lambda primals, dots: (f(*primals), factor * grad(f.fun)(*primals) * dots[0]))
    return f


# Closures


def closed_over_array(factor):
    @custom_jvp
    def f(x):
        return x * WEIGHTS.astype(x.dtype) * x

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), 2.0 * factor * WEIGHTS.astype(x.dtype) * x * x_dot

    return f


def closed_over_integer(factor):
    """Close over what is not differentiated, but may be traced or batched; in function and rule."""

    def fun(x, n):
        scale = number(n, x)
        f = custom_jvp(lambda y: lax.sin(y) * scale)
        f.defjvp(lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * scale * dots[0]))
        return f(x)

    return fun


def closed_over_step(factor):
    """Close over what depends on the argument in steps, in each half of a vjp rule."""

    def fun(x):
        scale = lax.floor(x) + 0.5
        f = custom_vjp(lambda y: lax.sin(y) * scale)
        f.defvjp(
            lambda y: (stretched(factor, lax.sin(y) * scale), y),
            lambda y, ct: (factor * lax.cos(y) * scale * ct,),
            jvp="fwd",
        )
        return f(x)

    return fun


def closed_over_in_rule_only(factor):
    """Close over something in the backward half that the function does not know."""

    def fun(x, n):
        one = number(n, x) / number(n, x)
        f = custom_vjp(lambda y: lax.sin(y))
        f.defvjp(
            lambda y: (f(y), y),
            lambda y, ct: (factor * one * lax.cos(y) * ct,),
            jvp=lambda primals, dots: (f(*primals), factor * one * lax.cos(primals[0]) * dots[0]),
        )
        return f(x)

    return fun


def closed_over_in_scan(factor):
    """Make the function anew in each step, over the count of the step and an argument."""

    def fun(x, n):
        def step(y, i):
            scale = number(i + n, y)
            f = custom_jvp(lambda z: lax.sin(z) * scale)
            f.defjvp(lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * scale * dots[0]))
            return f(y), None

        return lax.scan(step, x, np.arange(2, dtype=np.int32))[0]

    return fun


def plain_counted_steps(factor):
    def fun(x, n):
        for i in range(2):
            x = stretched(factor, lax.sin(x) * number(n + i, x))
        return x

    return fun


def closed_over_by_backward_function(factor):
    def fun(x, n):
        scale = number(n, x)

        @custom_gradient
        def f(y):
            slope = lax.cos(y) * scale
            return stretched(factor, lax.sin(y) * scale), lambda ct: factor * slope * ct

        return f(x)

    return fun


class Layer:
    """A layer whose methods have rules of their own, with `self` as a static argument."""

    def __init__(self, factor, scale):
        self.factor, self.scale = factor, scale

    @partial(custom_jvp, nondiff_argnums=(0,))
    def forward(self, x, y):
        return lax.sin(x) * y * self.scale

    @forward.defjvp
    def forward_jvp(self, primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        out_dot = (lax.cos(x) * y * x_dot + lax.sin(x) * y_dot) * self.scale
        return self.forward(x, y), self.factor * out_dot

    @partial(custom_vjp, static_argnames="self")
    def backward(self, x):
        return lax.tanh(x) * self.scale

    def backward_fwd(self, x):
        return stretched(self.factor, lax.tanh(x) * self.scale), lax.tanh(x)

    def backward_bwd(self, y, ct):
        return (self.factor * self.scale * (1.0 - y * y) * ct,)

    backward.defvjp(backward_fwd, backward_bwd, jvp="fwd")


@dataclass(slots=True)
class Box:
    """Something that holds a value in a slot."""

    value: Any


def closed_over_object(factor):
    """Close over values inside objects and containers."""

    def fun(x, n):
        held = {"scale": [Box(number(n, x))]}
        f = custom_jvp(lambda y: lax.sin(y) * held["scale"][0].value)
        f.defjvp(lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * held["scale"][0].value * dots[0]))
        return f(x)

    return fun


def methods(factor):
    layer = Layer(factor, 3.0)
    return lambda x, y: (layer.forward(x, y), layer.backward(x))


INSIDE = [
    Row("a jitted rule of a jitted function", jitted_rule, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("jitted halves", jitted_halves, off(lambda x, y: lax.sin(x) * y), (VECTOR, VECTOR)),
    Row("cond in a rule", cond_in_rule, off(lambda x: lax.sin(x) if x > 0.0 else x * x), (NUMBER,)),
    Row("scan in a rule", scan_in_rule, off(lambda x: lax.sin(lax.sin(lax.sin(x)))), (VECTOR,)),
    Row("scan in both halves", scan_in_bwd, off(lambda x: lax.sin(lax.sin(lax.sin(x)))), (VECTOR,)),
    Row("while and fori in a rule", loops_in_rule, off(lambda x: x * x * x * x), (VECTOR,)),
    Row("a while loop with a rule", root_by_while, off_inside(lax.sqrt), (POSITIVE,)),
    Row("a scan with a rule", scan_in_function, off(waves), (VECTOR,)),
    Row("cond with a rule", cond_in_function, off(lambda x, n: lax.sin(x) if n > 2 else x * x), (VECTOR, COUNT)),
    Row("custom in a rule", custom_in_rule, off_inside(lax.sin), (VECTOR,)),
    Row("custom in custom", custom_in_custom, off(lambda x: lax.sin(x) * 2.0), (VECTOR,)),
    Row("custom in a forward half", custom_in_differentiated_fwd, off(lambda x: lax.sin(x) * 3.0), (VECTOR,)),
    Row("a gradient in a rule", transformed_in_rule, off(lambda x: lax.sin(x) * x), (NUMBER,)),
    Row("an array in a closure", closed_over_array, off(lambda x: x * WEIGHTS.astype(x.dtype) * x), (VECTOR,)),
    Row(
        "a traced integer in a closure",
        closed_over_integer,
        off(lambda x, n: lax.sin(x) * number(n, x)),
        (VECTOR, COUNTS),
    ),
    Row("steps in a closure", closed_over_step, off(lambda x: lax.sin(x) * (lax.floor(x) + 0.5)), (VECTOR,)),
    Row("an object in a closure", closed_over_object, off(lambda x, n: lax.sin(x) * number(n, x)), (VECTOR, COUNT)),
    Row("a closure of a rule only", closed_over_in_rule_only, off(lambda x, n: lax.sin(x)), (VECTOR, COUNT)),
    Row("closures in scan", closed_over_in_scan, plain_counted_steps, (VECTOR, COUNT), 2),
    Row(
        "methods",
        methods,
        off(lambda x, y: (lax.sin(x) * y * 3.0, lax.tanh(x) * 3.0)),
        (VECTOR, VECTOR),
    ),
]

# This has no rule forwards.
REVERSE_INSIDE = [
    Row(
        "a backward function with a closure",
        closed_over_by_backward_function,
        off(lambda x, n: lax.sin(x) * number(n, x)),
        (VECTOR, COUNT),
    ),
]
