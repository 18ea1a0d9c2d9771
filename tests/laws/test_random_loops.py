"""Random nests of branches and loops under random transformations, against the steps that Python runs.

One idea: a program is a tree of steps, each of which adds a vector to those that the steps after it can use, inside the
bodies below it too: so bodies close over values of every level.  Derivatives of the plain program go through no rule
of a branch or of a loop.  Some steps are functions with derivative rules of their own, which are off by a factor: so
a rule that is lost is a wrong number.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import plain
from agreement import assert_close, unit_roundoff
from custom_program import KINDS, ruled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import Program, always, numbers
from transformations import PLAIN, TRANSFORMATIONS, batch_of, is_mapped

from calque_core import lax
from calque_xla_backend import jit

CONTROL = ("cond", "switch", "scan", "map", "fori_loop", "while_loop", "associative_scan")
CORE = SimpleNamespace(jit=jit, ruled=ruled, **{name: getattr(lax, name) for name in CONTROL})
SIZE = 3

UNARY = {
    "sin": lax.sin,
    "tanh": lax.tanh,
    "square": lambda x: x * x * 0.5,
    "rev": lambda x: lax.rev(x, (0,)),
    "sum": lambda x: x - x.sum(),
    "constant": lambda x: x * np.linspace(0.5, 1.0, SIZE),
    "log": lambda x: lax.log(x * x + 1.0),
}
BINARY = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lambda x, y: x / (y * y + 1.0)}


def run(flow, steps, values, n):
    """Return what all of the vectors that `steps` add to `values` come to, kept small."""
    values, total = list(values), values[0] * 0.1
    for kind, *details in steps:
        values.append(STEPS[kind](flow, values, n, *details))
        total = lax.tanh(total * 0.5 + values[-1])
    return total


def pick(values, i):
    return values[-1 - i % len(values)]


def unary(flow, values, n, rules, name, i):
    return with_rules(flow, rules, UNARY[name])(pick(values, i))


def binary(flow, values, n, rules, name, i, j):
    return with_rules(flow, rules, BINARY[name])(pick(values, i), pick(values, j))


def with_rules(flow, rules, fun):
    """Return `fun` with derivative rules of a kind, which are off by a factor; as it is for none."""
    return fun if rules is None else flow.ruled(rules, fun)


def custom(flow, values, n, rules, body):
    """Apply a function of all values so far, which has such rules and closes over the program's integer.

    A batching rule gets whole batches of its arguments alone: its function closes over a constant.
    """
    closed_over = np.int32(3) if rules == "batch" else n
    return flow.ruled(rules, lambda *xs: run(flow, body, xs, closed_over))(*values)


def call(flow, values, n, body):
    return flow.jit(lambda *xs: run(flow, body, xs, n))(*values)


def branch(flow, values, n, predicate, batched, i, bodies):
    pred = PREDICATES[predicate](pick(values, i), n)
    first, second = (lambda x, body=body: run(flow, body, [*values, x], n) for body in bodies)
    return flow.cond(pred, first, second, pick(values, i), batched=batched)


PREDICATES = {
    "always": lambda x, n: True,
    "number": lambda x, n: n > 2,
    "value": lambda x, n: x.sum() > 0.05,
}


def choose(flow, values, n, i, bodies):
    branches = [lambda x, m, body=body: (run(flow, body, [*values, x], n), m) for body in bodies]
    x, m = flow.switch(n - 1, branches, pick(values, i), n)
    return x * (1.0 + 0.1 * lax.convert_element_type(m, x.dtype))


def loop(flow, values, n, length, reverse, unroll, i, result, body):
    """Scan over rows made of a value, beside a counter and a carry that nothing uses."""
    x = pick(values, i)
    rows = x * np.linspace(0.3, 0.9, length).reshape(length, 1)

    def step(state, row):
        carry, count, idle = state
        after = run(flow, body, [*values, row, carry], n + count)
        return (after, count + 1, idle * 2.0), (carry, count)

    (last, _, idle), (ys, counts) = flow.scan(step, (x, np.int32(0), x), rows, reverse=reverse, unroll=unroll)
    weights = lax.convert_element_type(counts + 1, x.dtype) * np.arange(1.0, length + 1.0)
    ys = (ys * weights.reshape(length, 1)).sum(axis=0)
    return {"last": last, "ys": ys, "both": last * idle + ys}[result]


def mapped(flow, values, n, i, body):
    rows = pick(values, i) * np.array([[0.5], [1.0]])
    return flow.map(lambda x: run(flow, body, [*values, x], n), rows).sum(axis=0)


def running(flow, values, n, i, reverse):
    return flow.associative_scan(lambda x, y: x * y * 0.5, pick(values, i), reverse=reverse)


def counted(flow, values, n, low, high, i, body):
    """Count between two numbers, or up to the program's own."""

    def step(k, x):
        return run(flow, body, [*values, x], n + lax.convert_element_type(k, np.int32))

    return flow.fori_loop(np.int32(low), n if high is None else np.int32(high), step, pick(values, i))


def until(flow, values, n, bound, i, body):
    """Run until a counter or the carry says stop."""

    def go_on(state):
        count, x = state
        return lax.bitwise_and(count < n, x.sum() < 2.0)

    step = lambda s: (s[0] + 1, run(flow, body, [*values, s[1]], s[0]))
    return flow.while_loop(go_on, step, (0, pick(values, i)), **bound)[1]


STEPS = {
    "unary": unary,
    "binary": binary,
    "jit": call,
    "custom": custom,
    "cond": branch,
    "switch": choose,
    "scan": loop,
    "map": mapped,
    "associative_scan": running,
    "fori": counted,
    "fori to n": counted,
    "while": until,
}

places = st.integers(0, 9)
batchings, results = st.sampled_from(["select", "skip", "map"]), st.sampled_from(["both", "ys", "last"])
kinds = st.sampled_from(sorted(KINDS))
rules = st.integers(0, 9).flatmap(lambda i: kinds if i > 6 else st.none())
plain_steps = st.one_of(
    st.tuples(st.just("unary"), rules, st.sampled_from(sorted(UNARY)), places),
    st.tuples(st.just("binary"), rules, st.sampled_from(sorted(BINARY)), places, places),
)


def compound_steps(bodies):
    """Return a strategy for what has bodies."""
    lengths = st.sampled_from([3, 2, 4, 0, 1])
    bounds = st.sampled_from([{}, {"max_steps": 2}, {"checkpoints": 1}, {"checkpoints": 2}])
    return st.one_of(
        st.tuples(st.just("jit"), bodies),
        st.tuples(st.just("custom"), kinds, bodies),
        st.tuples(st.just("custom"), kinds, bodies),
        st.tuples(st.just("cond"), st.sampled_from(sorted(PREDICATES)), batchings, places, st.tuples(bodies, bodies)),
        st.tuples(st.just("switch"), places, st.lists(bodies, min_size=2, max_size=3)),
        st.tuples(st.just("scan"), lengths, st.booleans(), st.integers(1, 2), places, results, bodies),
        st.tuples(st.just("scan"), lengths, st.booleans(), st.integers(1, 2), places, results, bodies),
        st.tuples(st.just("map"), places, bodies),
        st.tuples(st.just("associative_scan"), places, st.booleans()),
        st.tuples(st.just("fori"), st.integers(-1, 1), st.integers(1, 3), places, bodies),
        st.tuples(st.just("fori to n"), st.integers(0, 1), st.none(), places, bodies),
        st.tuples(st.just("while"), bounds, places, bodies),
    )


bodies = st.recursive(
    st.lists(plain_steps, min_size=1, max_size=2),
    lambda inner: st.lists(st.one_of(plain_steps, compound_steps(inner)), min_size=1, max_size=2),
    max_leaves=6,
)
programs = st.lists(compound_steps(bodies), min_size=1, max_size=2)
stacks = st.lists(st.sampled_from(["jit", "vmap", "linearize", "jvp", *["vjp"] * 3]), min_size=1, max_size=2)


def program_of(flow, steps):
    def fun(x, y, n, unused):
        z = run(flow, steps, [x, y], n)
        return z.sum(), z, y, n + 1

    vector = numbers((SIZE,))
    makers = (vector, vector, lambda rng, dtype: np.int32(rng.integers(0, 5)), always("float64", (2,)))
    return Program("random", fun, makers)


@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(programs, stacks)
def test_random_control_flow_under_random_transformations(is_drawn, steps, stack):
    if not is_drawn((steps, stack), 0.1):
        return
    program = program_of(CORE, steps)
    example, by_python = program.example("float64"), program_of(plain, steps).example("float64")
    leaves = batch_of(program, "float64", stack.count("vmap"))
    mapped_leaves = [is_mapped(x) for x in example.leaves]
    fun, want = example, by_python
    for name in reversed(stack):
        fun, want = TRANSFORMATIONS[name](fun, mapped_leaves), PLAIN[name](want, mapped_leaves)
    assert_close(fun(*leaves), want(*leaves), 3000 * unit_roundoff(leaves))
