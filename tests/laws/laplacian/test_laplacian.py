"""Laplacians of every program: against jvp of jvp, and through jit, vmap, grad, loops, stages and Laplacians."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close, directions, unit_roundoff
from branches import BRANCHES
from composites import COMPOSITES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loops import COUNTED, WHILES
from operations import OPERATIONS
from program import Program, always, numbers
from scans import MAPPINGS, SCANS
from test_random_programs import SHAPE, bodies, composed
from transformations import PLAIN, QUICKLY, TRANSFORMATIONS, batch_of, is_mapped

from calque_autodiff import custom_jvp, custom_vjp, grad, jvp
from calque_batching import vmap
from calque_core import UnexpectedTracerError, check_jaxpr, eval_jaxpr, lax, make_jaxpr, typeof
from calque_laplacian import forward_laplacian, laplacian
from calque_pytree import tree_leaves
from calque_xla_backend import jit

OPERATION_ROWS = [program for rows in OPERATIONS.values() for program in rows]
FLOW = [row.on(lax) for row in [*BRANCHES, *SCANS, *MAPPINGS, *COUNTED, *WHILES]]
NAMES = ["jit", "vmap", "vjp"]


def each(programs):
    return pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])


def example_of(program):
    return program.example(dtype_of(program))


def dtype_of(program):
    return "float64" if "float64" in program.dtypes else "float32"


def inputs_of(leaves):
    """Return the positions of the leaves that are real and floating."""
    return tuple([i for i, x in enumerate(leaves) if typeof(x).kind == "f"])


def floating(fun):
    """Return the function that gives the floating results alone."""
    return lambda *xs: [out for out in fun(*xs) if typeof(out).kind in "fc"]


REAL = [p for p in [*OPERATION_ROWS, *COMPOSITES, *FLOW] if {"float32", "float64"} & set(p.dtypes)]
PROGRAMS = [program for program in REAL if inputs_of(example_of(program).leaves)]
FEWER = [*(rows[0] for rows in list(OPERATIONS.values())[::3]), *COMPOSITES[::4], *FLOW[::8]]
FEWER = [program for program in FEWER if program in PROGRAMS]


def forwarded(fun, along=None):
    """Return a function of the same arguments that gives values, slopes and Laplacians, flat.

    With directions, the Laplacian is the second derivative along them, and the slope is the first.
    """

    def run(*xs):
        positions = inputs_of(xs)
        if along is None:
            result = forward_laplacian(floating(fun), positions)(*xs)
            return tree_leaves([result.value, result.laplacian])
        ways = along(xs)
        v = np.concatenate([np.ravel(ways[i]).astype(np.float64) for i in positions])
        result = forward_laplacian(floating(fun), positions, weights=np.outer(v, v))(*xs)
        slopes = [total_slope(parts, [ways[i] for i in positions]) for parts in result.gradient]
        return [*result.value, *slopes, *result.laplacian]

    return run


def total_slope(parts, ways):
    """Return the derivative along `ways` from the derivatives with respect to each input."""
    terms = [
        lax.reduce_sum(lax.mul(part, way.astype(typeof(part).dtype)), tuple(range(-np.ndim(way), 0))) if np.ndim(way)
        else lax.mul(part, way.astype(typeof(part).dtype))
        for part, way in zip(parts, ways)
    ]  # fmt: skip
    total = terms[0]
    for term in terms[1:]:
        total = lax.add(total, term)
    return total


def fixed_directions(xs):
    return [np.asarray(d) for d in directions(xs, 1)]


def along_directions(fun):
    """Return a function that gives values, slopes and second derivatives along directions, by jvp of jvp."""

    def run(*xs):
        positions, ways = inputs_of(xs), fixed_directions(xs)
        return second_derivatives(fun, xs, positions, [ways[i] for i in positions])

    return run


def second_derivatives(fun, xs, positions, ways):
    def of_inputs(*inputs):
        leaves = list(xs)
        for i, x in zip(positions, inputs):
            leaves[i] = x
        return floating(fun)(*leaves)

    inputs = tuple([xs[i] for i in positions])
    slopes = lambda *primals: jvp(of_inputs, primals, tuple(ways))
    (values, firsts), (_, seconds) = jvp(slopes, inputs, tuple(ways))
    return [*values, *firsts, *seconds]


def check(got, want, leaves, factor=3000):
    """Compare results whose roundoff is that of the narrowest dtype that had a part in them."""
    assert_close(got, want, factor * unit_roundoff([np.float64(0.0), *leaves, *want]))


@pytest.mark.sampled(keep=0.12, rows=[])
@each(PROGRAMS)
def test_with_weights_v_v_it_is_the_second_derivative_along_v(program):
    example = example_of(program)
    got = forwarded(example, fixed_directions)(*example.leaves)
    check(got, along_directions(example)(*example.leaves), example.leaves)


@pytest.mark.sampled(keep=0.05, rows=[])
@each(PROGRAMS)
def test_it_is_the_sum_of_the_second_derivatives_in_all_inputs(program):
    example = example_of(program)
    xs, positions = example.leaves, inputs_of(example.leaves)
    got = forwarded(example)(*xs)[len(floating(example)(*xs)) :]
    totals = [lax.zeros_like(out) for out in got]
    for k, i in enumerate(positions):
        for place in np.ndindex(np.shape(xs[i])):
            ways = [np.zeros(np.shape(xs[j]), typeof(xs[j]).dtype) for j in positions]
            ways[k][place] = 1
            seconds = second_derivatives(example, xs, positions, ways)[2 * len(got) :]
            totals = [lax.add(total, second) for total, second in zip(totals, seconds)]
    check(got, totals, xs)


@pytest.mark.sampled(keep=0.05, rows=[])
@each(PROGRAMS)
def test_rows_for_few_inputs_change_nothing(program):
    example = example_of(program)
    xs, positions = example.leaves, inputs_of(example.leaves)
    few, all_rows = (forward_laplacian(floating(example), positions, weights=w)(*xs) for w in (None, 1.0))
    check(tree_leaves(few), tree_leaves(all_rows), xs)


@pytest.mark.sampled(keep=0.25, rows=[])
@each(FEWER)
def test_a_staged_laplacian_is_well_typed(program):
    example = example_of(program)
    jaxpr = make_jaxpr(forwarded(example))(*example.leaves)
    check_jaxpr(jaxpr)
    check(eval_jaxpr(jaxpr, jaxpr.consts, *example.leaves), forwarded(example)(*example.leaves), example.leaves)


@pytest.mark.sampled(keep=0.03, rows=[])
@pytest.mark.parametrize("name", NAMES)
@each(FEWER)
def test_transformations_of_laplacians(program, name):
    example, mapped, leaves = stacked(program, name)
    got = TRANSFORMATIONS[name](forwarded(example, fixed_directions), mapped)(*leaves)
    check(got, PLAIN[name](along_directions(example), mapped)(*leaves), leaves)


@pytest.mark.sampled(keep=0.03, rows=[])
@pytest.mark.parametrize("name", NAMES)
@each(FEWER)
def test_laplacians_of_transformations(program, name):
    example, mapped, leaves = stacked(program, name)
    got = forwarded(TRANSFORMATIONS[name](example, mapped), fixed_directions)(*leaves)
    check(got, along_directions(PLAIN[name](example, mapped))(*leaves), leaves)


def stacked(program, name):
    """Return an example, which of its leaves are mapped, and leaves for it under a transformation."""
    example = example_of(program)
    return example, [is_mapped(x) for x in example.leaves], batch_of(program, dtype_of(program), name == "vmap")


# Random programs


def with_forward_rules(chosen):
    """Return the program with a rule for forward mode where it has one for reverse mode."""
    forward = {"vjp": "jvp", "kept": "jvp"}
    return [(call, [(forward.get(kind, kind), *step) for kind, *step in body]) for call, body in chosen]


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(bodies, st.integers(0, 5))
def test_a_random_program_has_the_laplacian_of_its_operations(is_drawn, chosen, n):
    if not is_drawn((chosen, n), 0.03):
        return
    makers = (numbers(SHAPE), numbers(SHAPE), lambda rng, dtype: np.int32(n), always("float64", (2,)))
    example = Program("random", composed(with_forward_rules(chosen)), makers).example("float64")
    xs = example.leaves
    want = along_directions(example)(*xs)
    check(forwarded(example, fixed_directions)(*xs), want, xs)
    check(jit(forwarded(example, fixed_directions), compiler_options=QUICKLY)(*xs), want, xs)
    few, all_rows = (forward_laplacian(floating(example), inputs_of(xs), weights=w)(*xs) for w in (None, 1.0))
    check(tree_leaves(few), tree_leaves(all_rows), xs)


# Functions as NumPy has them, and functions with derivative rules

X = np.random.default_rng(2).normal(size=(4, 3))
W, V = (np.random.default_rng(i).normal(size=(3, 4)) for i in (3, 4))


def attention(x):
    scores = (x @ W) @ (x @ V).T / 2.0
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True) @ np.tanh(x)


MODELS = {
    "attention": lambda x: np.sum(attention(x) ** 2),
    "slogdet": lambda x: np.linalg.slogdet(np.tanh(x @ W))[1],
    "sign of slogdet": lambda x: np.linalg.slogdet(np.tanh(x @ W))[0] * np.sum(x**2),
    "complex slogdet": lambda x: np.sum(np.abs(np.add(*np.linalg.slogdet(np.exp(1j * (x @ W)))))),
    "slogdet of a batch": lambda x: np.sum(np.linalg.slogdet(np.stack([x[:3], x[1:] ** 2]))[1]),
    "det": lambda x: np.linalg.det(x @ W + np.eye(4)),
    "det of a singular matrix": lambda x: np.linalg.det(np.concatenate([x[:2], x[:1] + x[1:2]])),
    "inverse": lambda x: np.sum(np.linalg.inv(x @ W + 3.0 * np.eye(4))[0]),
    "solve": lambda x: np.sum(np.linalg.solve(x @ W + 3.0 * np.eye(4), x) ** 2),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(x @ x.T + np.eye(4)) ** 3),
    "eigenvalues": lambda x: np.sum(np.linalg.eigvalsh(x.T @ x) ** 3),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "logaddexp": lambda x: np.sum(np.logaddexp(x[0], x[1] * x[2])),
    "norm": lambda x: np.linalg.norm(x - x[:1] * 0.5, axis=1),
    "product": lambda x: np.prod(x, axis=0),
    "running product": lambda x: np.cumprod(x, axis=1),
    "fft": lambda x: np.abs(np.fft.fft(x, axis=0)) ** 2,
    "where": lambda x: np.sum(np.where(x > 0, x**2, np.sin(x))),
    "top": lambda x: np.sort(x.ravel())[-3:] ** 2,
}


def hessian_trace(fun, x):
    """Return the sum of second derivatives in all inputs, by jvp of jvp, one input after the other."""
    total = 0.0
    for place in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[place] = 1.0
        total = total + jvp(lambda y, unit=unit: jvp(fun, (y,), (unit,))[1], (x,), (unit,))[1]
    return total


@pytest.mark.parametrize("name", MODELS)
def test_models_written_with_numpy(name):
    fun = MODELS[name]
    want = hessian_trace(fun, X)
    np.testing.assert_allclose(laplacian(fun)(X), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(laplacian(fun, weights=1.0)(X), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(vmap(laplacian(fun))(np.stack([X, 2.0 * X]))[0], want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["attention", "slogdet"])
def test_gradients_of_laplacians_are_those_of_traces(name):
    fun = MODELS[name]
    want = grad(lambda x: hessian_trace(fun, x))(X)
    np.testing.assert_allclose(grad(laplacian(fun))(X), want, rtol=1e-8)
    np.testing.assert_allclose(jit(grad(laplacian(fun)))(X), want, rtol=1e-8)


def test_weights_may_be_traced():
    total = lambda w: laplacian(MODELS["attention"], weights=w)(X)
    diagonal, matrix = np.linspace(0.5, 2.0, 12).reshape(4, 3), np.eye(12) + 0.1
    rows = np.array([total(np.eye(12)[i].reshape(4, 3)) for i in range(12)]).reshape(4, 3)
    np.testing.assert_allclose(grad(total)(diagonal), rows)
    np.testing.assert_allclose(jit(total)(diagonal), np.sum(diagonal * rows))
    np.testing.assert_allclose(vmap(total)(np.stack([diagonal, rows]))[1], np.sum(rows**2))
    np.testing.assert_allclose(jit(total)(matrix), total(matrix))
    np.testing.assert_allclose(np.diag(grad(total)(matrix)), rows.ravel())


@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_a_function_is_differentiated_by_its_own_rule(outer):
    steep = custom_jvp(lax.sin)
    steep.defjvp(lambda xs, x_dots: (steep(*xs), 2.0 * np.cos(xs[0]) * x_dots[0]))
    fun = lambda x: np.sum(steep(x * x))
    want = np.sum(4.0 * np.cos(X * X) - 8.0 * X * X * np.sin(X * X))
    for f in (fun, jit(fun)):
        np.testing.assert_allclose(outer(laplacian(f))(X), want)
        # The third derivative takes the rule once more: the derivative of steep is 2 cos, of cos it is -sin.
        third = -16.0 * X * np.sin(X * X) - 8.0 * X * np.sin(X * X) - 16.0 * X**3 * np.cos(X * X)
        np.testing.assert_allclose(outer(grad(laplacian(f)))(X), third)


def test_a_rule_for_reverse_mode_alone_is_refused():
    backwards = custom_vjp(lax.sin)
    backwards.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
    for f in (lambda x: np.sum(backwards(x)), jit(lambda x: np.sum(backwards(x)))):
        with pytest.raises(NotImplementedError, match="reverse mode only"):
            laplacian(f)(X)


def test_a_function_whose_rule_does_not_cover_a_captured_value_is_refused():
    def closing(x):
        scaled = custom_jvp(lambda y: y * x[0, 0])
        scaled.defjvp(lambda ys, y_dots: (scaled(*ys), y_dots[0]))
        return scaled(np.float64(2.0)) * np.sum(x)

    for f in (closing, jit(closing)):
        with pytest.raises(UnexpectedTracerError):
            laplacian(f)(X)
    inert = custom_jvp(lambda y: y * 2.0)
    inert.defjvp(lambda ys, y_dots: (inert(*ys), y_dots[0]))
    assert laplacian(lambda x: np.sum(inert(3.0) * x**2))(X) == 6.0 * 2.0 * X.size
