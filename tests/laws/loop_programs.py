"""The table of programs with branches and loops.

One idea: a row takes its control flow as its first argument, so that it runs on core's operations, under any transformation,
and on Python's own (`plain.py`).  Rows are smooth near their arguments: no small change takes another branch or step.

Read next: `test_loops.py`, the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from program import FLOATS, Program, always, numbers, scalar, tree_of

from calque_autodiff import grad, jvp
from calque_core import lax
from calque_xla_backend import jit

WEIGHTS = np.linspace(-0.5, 0.5, 9).reshape(3, 3).astype(np.float32)
VECTOR, MATRIX, NUMBER = numbers((3,)), numbers((4, 3)), numbers(())
POSITIVE = numbers((), 0.5, 2.0)
COUNT, COUNTS = always("int32", ()), always("int64", (4,))  # a count is 1, 2 or 3; counts are four in a row


class Row(NamedTuple):
    """A program without its control flow.  `has_reverse` tells whether it can be differentiated in reverse."""

    name: str
    fun: Callable[..., Any]
    makers: Sequence[Callable[..., Any]]
    has_reverse: bool = True

    def on(self, flow: Any) -> Program:
        """Return the program that runs on `flow`, which has functions of the names of core's."""
        return Program(self.name, partial(self.fun, flow), self.makers, FLOATS, ulps=32, by_array=True)


def number(n, x):
    """Return an integer in the dtype of `x`."""
    return lax.convert_element_type(n, x.dtype)


# Branches


def nested_branches(flow, x, n):
    inner = lambda y: flow.cond(n > 2, lax.sin, lambda y: y * x, y)
    return flow.cond(x[0] > 0, inner, lambda y: flow.cond(x[1] > 0, lax.cos, inner, y), x)


def branch_pytrees(flow, tree, n):
    swap = lambda t: {"a": t["b"], "b": (t["a"] * 2.0)}
    out = flow.cond(n > 1, swap, lambda t: {"b": lax.tanh(t["b"]), "a": t["a"]}, tree)
    return out, out["a"] * out["b"]


def forwarded_from_branches(flow, x, y):
    a, b, c, n = flow.cond(x[0] > 0, lambda x, y: (y, x, x, 1), lambda x, y: (x, x, y, 2), x, y)
    return a * c, b, number(n, x) * c


def guarded(flow, x):
    """Take the root of what is positive, inside a branch, and of nothing else."""
    safe = lambda y: flow.cond(y > 0, lambda y: lax.sqrt(y + 0.1), lambda y: -y, y)
    return safe(x[0]) + safe(-x[1]) * x[2]


def branch_of_grad(flow, x):
    slope = grad(lambda y: flow.cond(y[0] > 0, lambda y: (y * y * y).sum(), lambda y: lax.sin(y).sum(), y))
    return slope(x) * x


def branch_of_jvp(flow, x, n):
    f = lambda y: flow.switch(n, [lax.sin, lambda y: y * y, lambda y: lax.exp(lax.tanh(y))], y)
    return jvp(f, (x,), (x * 0.5,))[1]


BRANCHES = [
    Row("cond on a constant", lambda flow, x: flow.cond(True, lax.sin, lax.cos, x), (VECTOR,)),
    Row("cond on a value", lambda flow, x: flow.cond(x[0] > 0, lambda x: x * x, lax.cos, x), (VECTOR,)),
    Row("cond on an integer", lambda flow, x, n: flow.cond(n > 2, lax.sin, lambda x: x * 3.0, x), (VECTOR, COUNT)),
    Row("cond closes over", lambda flow, x, y: flow.cond(y > 0, lambda: x * y, lambda: x - WEIGHTS[0]), (VECTOR, NUMBER)),
    Row("cond on a captured predicate", lambda flow, x, n: flow.map(lambda y: flow.cond(n > 2, lax.sin, lax.cos, y), x), (MATRIX, COUNT)),
    Row("cond of unused operands", lambda flow, x, y, n: flow.cond(n > 2, lambda x, y, n: x, lambda x, y, n: x * 2.0, x, y, n), (VECTOR, MATRIX, COUNT)),
    Row("cond of one result unused", lambda flow, x, y: flow.cond(x[0] > 0, lambda x, y: (x * y, y), lambda x, y: (y, x * x), x, y)[0], (VECTOR, VECTOR)),
    Row("cond of constants", lambda flow, x: x * flow.cond(x[1] > 0, lambda: np.float32(2), lambda: np.float32(3)), (VECTOR,)),
    Row("cond of pytrees", branch_pytrees, (tree_of(a=VECTOR, b=VECTOR), COUNT)),
    Row("cond forwards operands", forwarded_from_branches, (VECTOR, VECTOR)),
    Row("cond of empty arrays", lambda flow, x, n: flow.cond(n > 2, lambda x: x * 2.0, lax.sin, x), (numbers((0, 3)), COUNT)),
    Row("conds nested", nested_branches, (VECTOR, COUNT)),
    Row("cond skips", lambda flow, x: flow.cond(x[0] > 0, lambda x: x * x, lax.cos, x, batched="skip"), (VECTOR,)),
    Row("cond guards", guarded, (VECTOR,)),
    Row("cond under grad", branch_of_grad, (VECTOR,)),
    Row("cond of jit", lambda flow, x, y: flow.cond(x[0] > 0, jit(lambda z: z * y), jit(lax.sin), x), (VECTOR, VECTOR)),
    Row("switch of two", lambda flow, x, n: flow.switch(n, [lax.sin, lax.cos], x), (VECTOR, COUNT)),
    Row("switch of five", lambda flow, x, n: flow.switch(n, [lambda y, k=k: y * (k + 0.5) + x[0] for k in range(5)], x), (VECTOR, COUNT)),
    Row("switch out of range", lambda flow, x, n: flow.switch(n * 9 - 18, [lax.sin, lambda x: x * x, lax.cos], x), (VECTOR, COUNT)),
    Row("switch under jvp", branch_of_jvp, (VECTOR, COUNT)),
]  # fmt: skip

# Scans


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


def power(flow, w):
    return flow.fori_loop(0, 3, lambda i, m: lax.tanh(m @ w), w)


def empty_scan(flow, xs, y):
    last, ys = flow.scan(lambda c, x: (c * x, (lax.sin(x), 1)), y, xs)
    return last, ys


SCANS = [
    Row("scan", cumulative, (MATRIX,)),
    Row("scan in reverse", partial(cumulative, reverse=True), (MATRIX,)),
    Row("scan unrolled", partial(cumulative, unroll=2), (MATRIX,)),
    Row("scan unrolled with a rest", partial(cumulative, unroll=3, reverse=True), (numbers((7, 2)),)),
    Row("scan unrolled altogether", partial(cumulative, unroll=9), (MATRIX,)),
    Row("scan of no steps", empty_scan, (numbers((0, 3)), VECTOR)),
    Row("scan of no steps and no inputs", lambda flow, x: flow.scan(lambda c, _: (c * x, c), x, None, 0), (VECTOR,)),
    Row("scan of one step", cumulative, (numbers((1, 2)),)),
    Row("scan of empty slices", cumulative, (numbers((4, 0)),)),
    Row("scan of larger slices", partial(cumulative, reverse=True), (numbers((2, 1, 3, 2)),)),
    Row("scan without inputs", lambda flow, x: flow.scan(lambda c, _: (lax.sin(c) * x, c), x, None, 4), (VECTOR,)),
    Row("scan without carry", lambda flow, x, y: flow.scan(lambda c, v: (c, v * y), (), x), (MATRIX, VECTOR)),
    Row("scan without results", lambda flow, x: flow.scan(lambda c, v: (lax.sin(c + v), None), x[0], x), (MATRIX,)),
    Row("scan of a results tree only", lambda flow, x, y: flow.scan(lambda c, v: (None, {"a": v, "b": (y, v * y)}), None, x), (MATRIX, VECTOR)),
    Row("scan of two inputs", lambda flow, x, y: flow.scan(lambda c, v: (c * v[0] + v[1], c), x[0], (x, y)), (MATRIX, MATRIX)),
    Row("scan of one input twice", lambda flow, x: flow.scan(lambda c, v: (c + v[0] * v[1], v[0]), x[0], (x, x)), (MATRIX,)),
    Row("scan closes over an array", lambda flow, x: flow.scan(lambda c, v: (lax.tanh(c @ number(WEIGHTS, x) + v), c), x[0], x), (MATRIX,)),
    Row("scan closes over a value", lambda flow, x, y: flow.scan(lambda c, v: (c * lax.sin(y) + v, y), x[0], x), (MATRIX, VECTOR)),
    Row("scan from a Python scalar", lambda flow, x: flow.scan(lambda c, v: (c + v.sum(), 1), 0.0, number(x, np.empty(0))), (MATRIX,)),
    Row("scan over integers", integers_beside, (VECTOR, COUNTS)),
    Row("scan of bools", lambda flow, x: flow.scan(lambda c, v: (v[0] > 0, lax.select(c, v[1], v[2])), True, x), (MATRIX,)),
    Row("scan of unused carries", unused_carries, (MATRIX, VECTOR, COUNT)),
    Row("scan swaps carries", rotating, (NUMBER, NUMBER, NUMBER)),
    Row("scan of a late tangent", late_tangent, (NUMBER, NUMBER)),
    Row("scan of an idle carry", lambda flow, x, y: flow.scan(lambda c, v: ((c[0], c[1] * v), c[0]), (y, x[0]), x), (MATRIX, VECTOR)),
    Row("scan forwards slices", forwarded_slices, (MATRIX, VECTOR)),
    Row("scan of two dtypes", mixed_dtypes, (numbers((4,)), always("float64", ()))),
    Row("scan of which only the end counts", lambda flow, x: cumulative(flow, x)[0], (MATRIX,)),
    Row("scan of which only the results count", lambda flow, x: cumulative(flow, x)[1][1:3], (MATRIX,)),
    Row("rnn", rnn, (numbers((3, 3)), VECTOR, MATRIX)),
    Row("gated rnn", gated, (tree_of(w=VECTOR, b=VECTOR), MATRIX)),
    Row("scan in scan", scan_in_scan, (MATRIX, NUMBER)),
    Row("cond in scan", cond_in_scan, (MATRIX,)),
    Row("switch on the counter of a scan", switch_on_counter, (VECTOR,)),
    Row("jit in scan", lambda flow, x: flow.scan(jit(lambda c, v: (lax.sin(c) * v, jit(lax.cos)(v))), x[0], x), (MATRIX,)),
    Row("grad in scan", grad_in_scan, (MATRIX, VECTOR)),
    Row("grad of scan", grad_of_scan, (MATRIX, VECTOR)),
    Row("scan after scan", lambda flow, x: cumulative(flow, cumulative(flow, x)[1], reverse=True), (MATRIX,)),
]  # fmt: skip



def stopped(flow, x):
    return flow.scan(lambda c, v: (c * lax.stop_gradient(v) + lax.stop_gradient(c), v), x[0], x)


STOPPED = Row("scan stops gradients", stopped, (MATRIX,))  # differences know nothing of that

# What is made of scans


def recurrence(left, right):
    """Compose two maps x -> a x + b, the left one first."""
    return left[0] * right[0], left[1] * right[0] + right[1]


MAPPINGS = [
    Row("map", lambda flow, x: flow.map(lambda v: lax.sin(v) * v, x), (MATRIX,)),
    Row("map of pytrees", lambda flow, t: flow.map(lambda v: (v["a"] * v["b"], v), t), (tree_of(a=MATRIX, b=numbers((4,))),)),
    Row("map of nothing", lambda flow, x: flow.map(lambda v: (lax.sin(v), v.sum()), x), (numbers((0, 3)),)),
    Row("cond in map", lambda flow, x: flow.map(lambda v: flow.cond(v[0] > 0, lax.sin, lambda v: v * v, v), x), (MATRIX,)),
    Row("map in map", lambda flow, x, y: flow.map(lambda v: flow.map(lambda u: u * v * y, v), x), (MATRIX, VECTOR)),
    Row("associative scan", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((7,), 0.5, 1.5),)),
    Row("associative scan in reverse", lambda flow, x: flow.associative_scan(lax.add, x, reverse=True), (MATRIX,)),
    Row("associative scan along axis 1", lambda flow, x: flow.associative_scan(lax.mul, x, axis=1), (numbers((2, 5)),)),
    Row("associative scan of a recurrence", lambda flow, a, b: flow.associative_scan(recurrence, (a, b)), (numbers((6,)), numbers((6,)))),
    Row("associative scan of a recurrence in reverse", lambda flow, a, b: flow.associative_scan(recurrence, (a, b), reverse=True), (numbers((5,)), numbers((5,)))),
    Row("associative scan of one", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((1, 3)),)),
    Row("associative scan of none", lambda flow, x: flow.associative_scan(lax.mul, x), (numbers((0, 3)),)),
]  # fmt: skip

# Loops of a count


def counted_pair(flow, x, n):
    return flow.fori_loop(0, n, lambda i, s: (s[1], lax.sin(s[0]) + number(i, x)), (x, x * 0.5))


def convolution(flow, x):
    """Sum shifted copies, weighted by the counter."""

    def body(i, total):
        return total + lax.sin(x * number(i, x))

    return flow.fori_loop(1, 4, body, lax.zeros_like(x))


COUNTED = [
    Row("fori of a power", power, (numbers((3, 3)),)),
    Row("fori from one", convolution, (VECTOR,)),
    Row("fori backwards", lambda flow, x: flow.fori_loop(4, 1, lambda i, y: y * x, x), (VECTOR,)),
    Row("fori in fori", lambda flow, x: flow.fori_loop(0, 2, lambda i, y: flow.fori_loop(0, 3, lambda j, z: lax.sin(z) * number(i + j, x), y), x), (VECTOR,)),
    Row("fori of bounds of two dtypes", lambda flow, x: flow.fori_loop(np.int32(0), np.int32(3), lambda i, y: lax.sin(y) + number(i, x), x), (VECTOR,)),
    Row("fori up to an argument", counted_pair, (VECTOR, COUNT), False),
    Row("fori up to a counter", lambda flow, x: flow.scan(lambda c, i: (flow.fori_loop(0, i, lambda _, y: lax.sin(y) + 0.1, c), i), x, np.arange(3)), (VECTOR,), False),
    Row("fori in cond", lambda flow, x, n: flow.cond(n > 2, lambda x: flow.fori_loop(0, 3, lambda i, y: y * x, x), lax.sin, x), (VECTOR, COUNT)),
]  # fmt: skip

# Loops until


def settled(flow, x, y):
    """Halve until below one; what is left is not an integer power, so small changes change no count."""
    return flow.while_loop(lambda v: (v * v).sum() > 1.0, lambda v: v * (0.5 + 0.1 * lax.sin(y)), x)


def newton(flow, x):
    """Find the root of x; carry the error."""
    step = lambda s: (0.5 * (s[0] + x / s[0]), lax.abs(s[0] * s[0] - x))
    return flow.while_loop(lambda s: s[1] > 1e-2, step, (x, x + 1.0))[0]


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
    """The same of loops that can be differentiated in reverse."""

    def row(c, x):
        inner = lambda v: flow.scan(lambda a, u: (lax.sin(a + 0.5 * u) * lax.tanh(c), 0.5 * u), v[0], v, reverse=True)[1]
        repeat = lambda v: flow.fori_loop(0, 2, lambda i, u: inner(u) + number(i, u), v)
        y = flow.switch(n, [lax.sin, repeat, lambda v: v * c, repeat], x)
        return c + 0.1 * y.sum(), y

    return flow.scan(row, xs[0, 0], xs)


WHILES = [
    Row("while", settled, (VECTOR, NUMBER), False),
    Row("while to a root", newton, (POSITIVE,), False),
    Row("while that never runs", lambda flow, x: flow.while_loop(lambda v: v[0] > 9.0, lax.sin, x), (VECTOR,), False),
    Row("while of integers", steps_of_collatz, (COUNT, VECTOR)),
    Row("while of unused carries", unused_in_while, (VECTOR, VECTOR, COUNT), False),
    Row("while of pytrees", while_pytrees, (tree_of(a=VECTOR, b=VECTOR), COUNT), False),
    Row("while up to a captured bound", lambda flow, x, y: flow.while_loop(lambda v: v.sum() < lax.exp(y), lambda v: v + 0.7, x), (VECTOR, POSITIVE), False),
    Row("while from Python scalars", lambda flow, n, x: x * flow.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.5), (0, 1.0))[1], (COUNT, always("float64", (3,)))),
    Row("while in while", lambda flow, x, n: flow.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, settled(flow, s[1] * 2.1, s[1][0])), (n, x))[1], (VECTOR, COUNT), False),
    Row("while in cond", lambda flow, x, n: flow.cond(n > 2, lambda x: settled(flow, x, x[0]), lax.sin, x), (VECTOR, COUNT), False),
    Row("while in map", lambda flow, x: flow.map(lambda v: settled(flow, v, v[0]), x), (MATRIX,), False),
    Row("while in scan", while_in_scan, (numbers((5,)),), False),
    Row("scan in while", scan_in_while, (VECTOR, COUNT), False),
    Row("jit in while", lambda flow, x: flow.while_loop(jit(lambda v: v[0] * v[0] > 0.3), jit(lambda v: v * 0.6), x), (VECTOR,), False),
    Row("scan in while in cond in scan", deep, (MATRIX, COUNT), False),
    Row("scan in fori in switch in scan", deep_and_counted, (MATRIX, COUNT)),
    Row("while under jvp", lambda flow, x, y: jvp(lambda v: settled(flow, v, y), (x,), (x * x,)), (VECTOR, NUMBER), False),
    Row("a weak scalar beside", lambda flow, x, s: flow.scan(lambda c, v: (c + v * s, s), x[0], x), (MATRIX, scalar(0.5))),
]  # fmt: skip

ROWS = [*BRANCHES, *SCANS, *MAPPINGS, *COUNTED, *WHILES]
