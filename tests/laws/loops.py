"""The table's loops of a count, and of a condition; and loops and branches inside one another."""

from __future__ import annotations

from functools import partial

import numpy as np
from flow_program import COUNT, MATRIX, NUMBER, POSITIVE, VECTOR, Row, number
from program import always, numbers, scalar, tree_of

from calque_autodiff import jvp
from calque_core import lax
from calque_xla_backend import jit

# Loops of a count


def power(flow, w):
    return flow.fori_loop(0, 3, lambda i, m: lax.tanh(m @ w), w)


def counted_pair(flow, x, n):
    return flow.fori_loop(0, n, lambda i, s: (s[1], lax.sin(s[0]) + number(i, x)), (x, x * 0.5))


def sum_of_waves(flow, x):
    """Sum sines of growing frequency, one for each count."""

    def body(i, total):
        return total + lax.sin(x * number(i, x))

    return flow.fori_loop(1, 4, body, lax.zeros_like(x))


COUNTED = [
    Row("fori of a power", power, (numbers((3, 3)),)),
    Row("fori from one", sum_of_waves, (VECTOR,)),
    Row("fori backwards", lambda flow, x: flow.fori_loop(4, 1, lambda i, y: y * x, x), (VECTOR,)),
    Row(
        "fori in fori",
        lambda flow, x: flow.fori_loop(
            0, 2, lambda i, y: flow.fori_loop(0, 3, lambda j, z: lax.sin(z) * number(i + j, x), y), x
        ),
        (VECTOR,),
    ),
    Row(
        "fori of bounds of two dtypes",
        lambda flow, x: flow.fori_loop(np.int32(0), np.int32(3), lambda i, y: lax.sin(y) + number(i, x), x),
        (VECTOR,),
    ),
    Row("fori up to an argument", counted_pair, (VECTOR, COUNT)),
    Row(
        "fori up to a counter",
        lambda flow, x: flow.scan(
            lambda c, i: (flow.fori_loop(0, i, lambda _, y: lax.sin(y) + 0.1, c), i), x, np.arange(3)
        ),
        (VECTOR,),
    ),
    Row(
        "fori in cond",
        lambda flow, x, n: flow.cond(n > 2, lambda x: flow.fori_loop(0, 3, lambda i, y: y * x, x), lax.sin, x),
        (VECTOR, COUNT),
    ),
]

# Loops until


def settled(flow, x, y, max_steps=None):
    """Halve until below one; what is left is not an integer power, so small changes change no count."""
    step = lambda v: v * (0.5 + 0.1 * lax.sin(y))
    return flow.while_loop(lambda v: (v * v).sum() > 1.0, step, x, max_steps=max_steps)


def newton(flow, x, max_steps=None):
    """Find the root of x; carry the error."""
    step = lambda s: (0.5 * (s[0] + x / s[0]), lax.abs(s[0] * s[0] - x))
    return flow.while_loop(lambda s: s[1] > 1e-2, step, (x, x + 1.0), max_steps=max_steps)[0]


def steps_of_collatz(flow, n, x):
    """Count the steps of an integer, and use the count."""
    even = lambda m: lax.div(m, 2)
    step = lambda s: (flow.cond(lax.rem(s[0], 2) > 0, lambda m: 3 * m + 1, even, s[0]), s[1] + 1)
    _, count = flow.while_loop(lambda s: s[0] > 1, step, (n, 0))
    return number(count, x) * lax.sin(x), count


def unused_in_while(flow, x, y, n):
    step = lambda s: (s[0] - 1, lax.sin(s[1]) + s[2], s[2], s[3] * 2.0)
    return flow.while_loop(lambda s: s[0] > 0, step, (n, x, y, y))[1]


def while_pytrees(flow, tree, n):
    step = lambda s: {"i": s["i"] + 1, "v": (s["v"][1], s["v"][0] * lax.cos(s["v"][1]))}
    return flow.while_loop(lambda s: s["i"] < n, step, {"i": 0, "v": (tree["a"], tree["b"])})["v"]


def scan_in_while(flow, x, n):
    inner = lambda v: flow.scan(lambda c, u: (lax.sin(c + u), c), v[0], v)[1]
    return flow.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, inner(s[1])), (0, x))[1]


def while_in_scan(flow, xs):
    shrink = lambda v: flow.while_loop(lambda u: lax.abs(u) > 0.7, lambda u: u * 0.6, v)
    return flow.scan(lambda c, x: (c + shrink(x), shrink(x + 0.03) * c), xs[0], xs)


def deep(flow, xs, n):
    """A scan in a while in a cond in a scan."""

    def row(c, x):
        inner = lambda v: flow.scan(lambda a, u: (lax.sin(a + 0.5 * u) * lax.tanh(c), 0.5 * u), v[0], v)[1]
        repeat = lambda v: flow.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, inner(s[1])), (0, v))[1]
        y = flow.cond(x[0] > 0, repeat, lambda v: v * c, x)
        return c + 0.1 * y.sum(), y

    return flow.scan(row, xs[0, 0], xs, unroll=2)


def deep_and_counted(flow, xs, n):
    """The same of loops whose steps are counted by numbers."""

    def row(c, x):
        inner = lambda v: flow.scan(lambda a, u: (lax.sin(a + 0.5 * u) * lax.tanh(c), 0.5 * u), v[0], v, reverse=True)[
            1
        ]
        repeat = lambda v: flow.fori_loop(0, 2, lambda i, u: inner(u) + number(i, u), v)
        y = flow.switch(n, [lax.sin, repeat, lambda v: v * c, repeat], x)
        return c + 0.1 * y.sum(), y

    return flow.scan(row, xs[0, 0], xs)


WHILES = [
    Row("while", settled, (VECTOR, NUMBER)),
    Row("while to a root", newton, (POSITIVE,)),
    Row(
        "while of one element after the other",
        lambda flow, x: flow.while_loop(lambda v: v < 9.0, lambda v: 2.0 * v + 1.0, x, batched="map"),
        (POSITIVE,),
    ),
    Row("while that never runs", lambda flow, x: flow.while_loop(lambda v: v[0] > 9.0, lax.sin, x), (VECTOR,)),
    Row("while of integers", steps_of_collatz, (COUNT, VECTOR)),
    Row("while of unused carries", unused_in_while, (VECTOR, VECTOR, COUNT)),
    Row("while of pytrees", while_pytrees, (tree_of(a=VECTOR, b=VECTOR), COUNT)),
    Row(
        "while up to a captured bound",
        lambda flow, x, y: flow.while_loop(lambda v: v.sum() < lax.exp(y), lambda v: v + 0.7, x),
        (VECTOR, POSITIVE),
    ),
    Row(
        "while from Python scalars",
        lambda flow, n, x: x * flow.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.5), (0, 1.0))[1],
        (COUNT, always("float64", (3,))),
    ),
    Row(
        "while in while",
        lambda flow, x, n: flow.while_loop(
            lambda s: s[0] > 0, lambda s: (s[0] - 1, settled(flow, s[1] * 2.1, s[1][0])), (n, x)
        )[1],
        (VECTOR, COUNT),
    ),
    Row(
        "while in cond",
        lambda flow, x, n: flow.cond(n > 2, lambda x: settled(flow, x, x[0]), lax.sin, x),
        (VECTOR, COUNT),
    ),
    Row("while in map", lambda flow, x: flow.map(lambda v: settled(flow, v, v[0]), x), (MATRIX,)),
    Row("while in scan", while_in_scan, (numbers((5,)),)),
    Row("scan in while", scan_in_while, (VECTOR, COUNT)),
    Row(
        "jit in while",
        lambda flow, x: flow.while_loop(jit(lambda v: v[0] * v[0] > 0.3), jit(lambda v: v * 0.6), x),
        (VECTOR,),
    ),
    Row("scan in while in cond in scan", deep, (MATRIX, COUNT)),
    Row("scan in fori in switch in scan", deep_and_counted, (MATRIX, COUNT)),
    Row(
        "while under jvp",
        lambda flow, x, y: jvp(lambda v: settled(flow, v, y), (x,), (x * x,)),
        (VECTOR, NUMBER),
    ),
    Row("bounded while", partial(settled, max_steps=9), (VECTOR, NUMBER)),
    Row("bounded while that is cut short", partial(settled, max_steps=1), (VECTOR, NUMBER)),
    Row("bounded while of no steps", partial(settled, max_steps=0), (VECTOR, NUMBER)),
    Row("bounded while to a root", partial(newton, max_steps=8), (POSITIVE,)),
    Row(
        "bounded while in scan",
        lambda flow, x, y: flow.scan(lambda c, v: (settled(flow, c + v, y, 4), c), x[0], x),
        (MATRIX, NUMBER),
    ),
    Row(
        "a weak scalar beside",
        lambda flow, x, s: flow.scan(lambda c, v: (c + v * s, s), x[0], x),
        (MATRIX, scalar(0.5)),
    ),
]
