"""The table's scans, and what is made of them."""

from __future__ import annotations

from functools import partial

import numpy as np
from flow_program import COUNT, COUNTS, MATRIX, NUMBER, VECTOR, WEIGHTS, Row, number
from program import always, numbers, tree_of

from calque_autodiff import grad
from calque_core import lax
from calque_xla_backend import jit


def cumulative(flow, xs, **how):
    return flow.scan(lambda c, x: (lax.sin(c) + x, c * x), xs[0] * 0.5, xs, **how)


def rnn(flow, w, h, xs):
    def step(h, x):
        h = lax.tanh(h @ w + x)
        return h, h.sum()

    return flow.scan(step, h, xs)


def gated(flow, params, xs):
    def step(state, x):
        gate = lax.logistic(x * params["w"] + state["h"])
        cell = gate * state["c"] + (1.0 - gate) * lax.tanh(x + params["b"])
        return {"c": cell, "h": gate * lax.tanh(cell)}, (gate, {"cell": cell})

    return flow.scan(step, {"c": xs[0], "h": xs[1]}, xs)


def integers_beside(flow, x, ns):
    """Carry a counter, and scan over integers."""

    def step(state, n):
        count, y = state
        return (count + n, y * 0.5 + number(count, y)), (count, y)

    return flow.scan(step, (0, x), ns)


def rotating(flow, x, y, z):
    """Only the last of the carries depends on what is differentiated at first."""
    return flow.scan(lambda c, _: ((c[1], c[2], lax.sin(c[0] * c[2])), c[0]), (x, y, z), None, 5)


def late_tangent(flow, x, y):
    """A carry that starts without a tangent gets one after two steps."""
    still = number(np.float32(0.7), x)
    return flow.scan(lambda c, _: ((c[1], c[2], c[2] * c[0]), y), (still, still, x), None, 4)


def unused_carries(flow, x, y, n):
    def step(state, v):
        a, b, k, fixed = state
        return (a + v * fixed, b * a, k + 1, fixed), a

    (a, _, _, _), ys = flow.scan(step, (x[0], y, n, y), x)
    return a * ys[-1]


def scan_in_scan(flow, xs, y):
    def row(c, x):
        last, zs = flow.scan(lambda d, v: (lax.sin(d + v), d * v), c * y, x, reverse=True)
        return last, zs.sum() + c

    return flow.scan(row, y, xs)


def cond_in_scan(flow, xs):
    step = lambda c, x: (flow.cond(x > 0, lambda c, x: c + x, lambda c, x: c * 0.5 - x, c, x), c)
    return flow.scan(step, xs[0, 0], lax.reshape(xs, (12,)))


def switch_on_counter(flow, x):
    def step(state, _):
        i, y = state
        y = flow.switch(lax.rem(i, 3), [lax.sin, lambda y: y * x, lambda y: y + 0.1], y)
        return (i + 1, y), y.sum()

    return flow.scan(step, (0, x), None, 5)


def grad_in_scan(flow, x, w):
    loss = lambda v, c: ((v * w - c) * (v * w - c)).sum()
    return flow.scan(lambda v, c: (v - 0.1 * grad(loss)(v, c), loss(v, c)), x[0], x)


def grad_of_scan(flow, x, w):
    final = lambda w: flow.scan(lambda c, v: (lax.sin(c * w) + v, None), x[0], x)[0].sum()
    return grad(final)(w) * w


def forwarded_slices(flow, xs, y):
    """What the steps need again is an input, a result, or the same at every step."""

    def step(c, x):
        z = lax.sin(y)
        return lax.cos(c * x) * z, (c, x, z)

    return flow.scan(step, y, xs)


def mixed_dtypes(flow, x, y):
    step = lambda c, v: ((c[0] + v, c[1] * 0.5 + lax.convert_element_type(v, "float64")), c)
    return flow.scan(step, (x[0], y), x)


def empty_scan(flow, xs, y):
    last, ys = flow.scan(lambda c, x: (c * x, (lax.sin(x), 1)), y, xs)
    return last, ys


SCANS = [
    Row("scan", cumulative, (MATRIX,)),
    Row("scan in reverse", partial(cumulative, reverse=True), (MATRIX,)),
    Row("scan unrolled", partial(cumulative, unroll=2), (MATRIX,)),
    Row("scan unrolled with a rest", partial(cumulative, unroll=3, reverse=True), (numbers((7, 2)),)),
    Row("scan unrolled altogether", partial(cumulative, unroll=9), (MATRIX,)),
    Row("scan of one iteration", partial(cumulative, unroll=0), (MATRIX,)),
    Row("scan of no steps", empty_scan, (numbers((0, 3)), VECTOR)),
    Row("scan of no steps and no inputs", lambda flow, x: flow.scan(lambda c, _: (c * x, c), x, None, 0), (VECTOR,)),
    Row("scan of one step", cumulative, (numbers((1, 2)),)),
    Row("scan of empty slices", cumulative, (numbers((4, 0)),)),
    Row("scan of larger slices", partial(cumulative, reverse=True), (numbers((2, 1, 3, 2)),)),
    Row("scan without inputs", lambda flow, x: flow.scan(lambda c, _: (lax.sin(c) * x, c), x, None, 4), (VECTOR,)),
    Row("scan without carry", lambda flow, x, y: flow.scan(lambda c, v: (c, v * y), (), x), (MATRIX, VECTOR)),
    Row("scan without results", lambda flow, x: flow.scan(lambda c, v: (lax.sin(c + v), None), x[0], x), (MATRIX,)),
    Row(
        "scan of a results tree only",
        lambda flow, x, y: flow.scan(lambda c, v: (None, {"a": v, "b": (y, v * y)}), None, x),
        (MATRIX, VECTOR),
    ),
    Row(
        "scan of two inputs",
        lambda flow, x, y: flow.scan(lambda c, v: (c * v[0] + v[1], c), x[0], (x, y)),
        (MATRIX, MATRIX),
    ),
    Row(
        "scan of one input twice",
        lambda flow, x: flow.scan(lambda c, v: (c + v[0] * v[1], v[0]), x[0], (x, x)),
        (MATRIX,),
    ),
    Row(
        "scan closes over an array",
        lambda flow, x: flow.scan(lambda c, v: (lax.tanh(c @ number(WEIGHTS, x) + v), c), x[0], x),
        (MATRIX,),
    ),
    Row(
        "scan closes over a value",
        lambda flow, x, y: flow.scan(lambda c, v: (c * lax.sin(y) + v, y), x[0], x),
        (MATRIX, VECTOR),
    ),
    Row(
        "scan from a Python scalar",
        lambda flow, x: flow.scan(lambda c, v: (c + v.sum(), 1), 0.0, number(x, np.empty(0))),
        (MATRIX,),
    ),
    Row("scan over integers", integers_beside, (VECTOR, COUNTS)),
    Row(
        "scan of bools",
        lambda flow, x: flow.scan(lambda c, v: (v[0] > 0, lax.select(c, v[1], v[2])), True, x),
        (MATRIX,),
    ),
    Row("scan of unused carries", unused_carries, (MATRIX, VECTOR, COUNT)),
    Row("scan swaps carries", rotating, (NUMBER, NUMBER, NUMBER)),
    Row("scan of a late tangent", late_tangent, (NUMBER, NUMBER)),
    Row(
        "scan of an idle carry",
        lambda flow, x, y: flow.scan(lambda c, v: ((c[0], c[1] * v), c[0]), (y, x[0]), x),
        (MATRIX, VECTOR),
    ),
    Row("scan forwards slices", forwarded_slices, (MATRIX, VECTOR)),
    Row("scan of two dtypes", mixed_dtypes, (numbers((4,)), always("float64", ()))),
    Row("scan of which only the end counts", lambda flow, x: cumulative(flow, x)[0], (MATRIX,)),
    Row("scan of which only the results count", lambda flow, x: cumulative(flow, x)[1][1:3], (MATRIX,)),
    Row("rnn", rnn, (numbers((3, 3)), VECTOR, MATRIX)),
    Row("gated rnn", gated, (tree_of(w=VECTOR, b=VECTOR), MATRIX)),
    Row("scan in scan", scan_in_scan, (MATRIX, NUMBER)),
    Row("cond in scan", cond_in_scan, (MATRIX,)),
    Row("switch on the counter of a scan", switch_on_counter, (VECTOR,)),
    Row(
        "jit in scan",
        lambda flow, x: flow.scan(jit(lambda c, v: (lax.sin(c) * v, jit(lax.cos)(v))), x[0], x),
        (MATRIX,),
    ),
    Row("grad in scan", grad_in_scan, (MATRIX, VECTOR)),
    Row("grad of scan", grad_of_scan, (MATRIX, VECTOR)),
    Row("scan after scan", lambda flow, x: cumulative(flow, cumulative(flow, x)[1], reverse=True), (MATRIX,)),
]


def stopped(flow, x):
    return flow.scan(lambda c, v: (c * lax.stop_gradient(v) + lax.stop_gradient(c), v), x[0], x)


STOPPED = Row("scan stops gradients", stopped, (MATRIX,))  # differences know nothing of that

# What is made of scans


def recurrence(left, right):
    """Compose two maps x -> a x + b, the left one first."""
    return left[0] * right[0], left[1] * right[0] + right[1]


MAPPINGS = [
    Row("map", lambda flow, x: flow.map(lambda v: lax.sin(v) * v, x), (MATRIX,)),
    Row(
        "map of pytrees",
        lambda flow, t: flow.map(lambda v: (v["a"] * v["b"], v), t),
        (tree_of(a=MATRIX, b=numbers((4,))),),
    ),
    Row("map of nothing", lambda flow, x: flow.map(lambda v: (lax.sin(v), v.sum()), x), (numbers((0, 3)),)),
    Row(
        "cond in map",
        lambda flow, x: flow.map(lambda v: flow.cond(v[0] > 0, lax.sin, lambda v: v * v, v), x),
        (MATRIX,),
    ),
    Row("map in map", lambda flow, x, y: flow.map(lambda v: flow.map(lambda u: u * v * y, v), x), (MATRIX, VECTOR)),
    Row("associative scan", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((7,), 0.5, 1.5),)),
    Row("associative scan in reverse", lambda flow, x: flow.associative_scan(lax.add, x, reverse=True), (MATRIX,)),
    Row("associative scan along axis 1", lambda flow, x: flow.associative_scan(lax.mul, x, axis=1), (numbers((2, 5)),)),
    Row(
        "associative scan of a recurrence",
        lambda flow, a, b: flow.associative_scan(recurrence, (a, b)),
        (numbers((6,)), numbers((6,))),
    ),
    Row(
        "associative scan of a recurrence in reverse",
        lambda flow, a, b: flow.associative_scan(recurrence, (a, b), reverse=True),
        (numbers((5,)), numbers((5,))),
    ),
    Row("associative scan of one", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((1, 3)),)),
    Row("associative scan of none", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((0, 3)),)),
]
