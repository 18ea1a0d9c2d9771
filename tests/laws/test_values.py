"""Transformations with values of their own, under and over those of the other packages.

The dual numbers and the intervals are those of the page `docs/your_own_transformation.md`, as it prints them.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from agreement import assert_within, types_of
from branches import BRANCHES
from complex_programs import COMPLEX_PROGRAMS
from composites import COMPOSITES
from custom import CUSTOM
from loops import COUNTED, WHILES
from operations import OPERATIONS
from scans import MAPPINGS, SCANS

import calque_core as core
from calque import custom_jvp, custom_rules, custom_vjp, grad, jit, jvp, linearize, vmap
from calque_core import lax

PAGE = Path(__file__).parents[2] / "docs" / "your_own_transformation.md"
ROWS = np.array([0.5, 1.0, 2.0])


def definitions(page):
    """Return what the blocks of a page without prompts define; the test of the page may give the same rules again."""
    namespace = {"__name__": "__main__"}
    for block in page.read_text().split("```python\n")[1:]:
        code = block.split("\n```")[0]
        if not code.startswith(">>>"):
            exec(compile(code, str(page), "exec"), namespace)
    return SimpleNamespace(**namespace)


page = definitions(PAGE)
derivative, bounds = page.derivative, page.bounds


def plain(x):
    y = np.exp(x) * x + 1.0
    while y < 10.0:
        y = y * y + x
    return y if x > 0.0 else -y


def of_arrays(x):
    rows = np.concatenate([np.reshape(x * x, (1,)), np.reshape(x, (1,))])
    return (rows * np.array([2.0, 3.0])).sum()


def of_branches(x):
    return lax.cond(x > 1.0, lambda x: x * x * x, lambda x: -x * x, x)


def of_scan(x):
    total, ys = lax.scan(lambda c, y: (c * x + y, c * c), x, np.array([1.0, 2.0, 3.0]))
    return total * ys.sum()


def of_steps(x):
    return lax.fori_loop(0, 3, lambda i, c: c * x + 1.0, x)


def of_while(x):
    return lax.while_loop(lambda c: c < 10.0, lambda c: c * c + x, x)


STAGEABLE = [of_arrays, of_branches, of_scan, of_steps, of_while]
every_program = pytest.mark.parametrize("f", [plain, *STAGEABLE], ids=lambda f: f.__name__)
stageable = pytest.mark.parametrize("f", STAGEABLE, ids=lambda f: f.__name__)


@every_program
def test_dual_numbers_agree_with_jvp_and_nest_with_derivatives(f):
    slope, second = grad(f)(0.5), grad(lambda x: jvp(f, (x,), (1.0,))[1])(0.5)
    np.testing.assert_allclose(derivative(f)(0.5), slope, rtol=1e-14)
    np.testing.assert_allclose(grad(derivative(f))(0.5), second, rtol=1e-12)
    np.testing.assert_allclose(derivative(derivative(f))(0.5), second, rtol=1e-12)
    np.testing.assert_allclose(linearize(derivative(f), 0.5)[1](1.0), second, rtol=1e-12)


@pytest.mark.parametrize("f", [plain, of_arrays, of_branches, of_scan, of_steps], ids=lambda f: f.__name__)
def test_dual_numbers_go_through_reverse_mode(f):
    second = grad(grad(f))(0.5)
    np.testing.assert_allclose(derivative(grad(f))(0.5), second, rtol=1e-12)


@stageable
def test_dual_numbers_are_batched_compiled_and_scanned(f):
    slopes = [grad(f)(x) for x in ROWS]
    np.testing.assert_allclose(vmap(derivative(f))(ROWS), slopes, rtol=1e-13)
    np.testing.assert_allclose(jit(vmap(derivative(f)))(ROWS), slopes, rtol=1e-13)
    np.testing.assert_allclose([derivative(jit(f))(x) for x in ROWS], slopes, rtol=1e-13)
    np.testing.assert_allclose(lax.scan(lambda c, x: (c, derivative(f)(x)), 0.0, ROWS)[1], slopes, rtol=1e-13)
    np.testing.assert_allclose(jit(grad(derivative(f)))(0.5), grad(derivative(f))(0.5), rtol=1e-13)


def test_dual_numbers_of_a_batch_are_batches_of_dual_numbers():
    mapped = lambda x: vmap(of_arrays)(x * ROWS).sum()
    np.testing.assert_allclose(derivative(mapped)(0.5), grad(mapped)(0.5), rtol=1e-13)


@stageable
def test_intervals_hold_the_values_inside_and_nest(f):
    low, high = bounds(f)(1.25, 1.26)
    for x in (1.25, 1.255, 1.26):
        assert low <= f(x) <= high
    np.testing.assert_allclose(bounds(f)(1.25, 1.25), (f(1.25),) * 2, rtol=1e-13)
    np.testing.assert_allclose(bounds(jit(of_steps))(1.25, 1.375), bounds(of_steps)(1.25, 1.375), rtol=1e-13)


@pytest.mark.parametrize("f", [of_arrays, of_scan, of_steps], ids=lambda f: f.__name__)
def test_intervals_are_differentiated_batched_compiled_and_scanned(f):
    highest = lambda x: bounds(f)(x, x + 0.25).high
    numbers = [highest(x) for x in ROWS]
    np.testing.assert_allclose(vmap(highest)(ROWS), numbers, rtol=1e-13)
    np.testing.assert_allclose(jit(vmap(highest))(ROWS), numbers, rtol=1e-13)
    np.testing.assert_allclose(lax.scan(lambda c, x: (c, highest(x)), 0.0, ROWS)[1], numbers, rtol=1e-13)
    np.testing.assert_allclose(grad(highest)(0.5), (highest(0.5 + 1e-6) - highest(0.5 - 1e-6)) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(grad(highest)(0.5), grad(f)(0.75), rtol=1e-13)


def test_an_undecided_branch_is_refused_eagerly_and_while_it_is_traced():
    with pytest.raises(ValueError, match="decides nothing"):
        bounds(of_branches)(0.5, 1.5)
    with pytest.raises(core.TracerBoolConversionError, match=r"IntervalTrace\.predicate"):
        jit(lambda x: bounds(of_branches)(x, x + 1.0).low)(0.5)


# Functions with derivative rules of their own, under a transformation whose tangents are values


class NotingTrace(core.ValueTrace):
    """Values are arrays; it only looks on."""

    keeps_custom_derivatives = True

    def lift(self, x):
        return x

    def apply(self, primitive, values, params):
        return core.hand_down(self.parent, primitive, values, params)

    def to_arrays(self, x):
        return [x], None

    def from_arrays(self, static, arrays):
        return arrays[0]

    def predicate(self, x):
        return x


def noting(f):
    def noted(x):
        with core.tracing(NotingTrace(core.current_trace())) as trace:
            return trace.unwrap(f(trace.wrap(x, core.typeof(x))))

    return noted


LOOPS = [row.on(lax) for row in [*BRANCHES, *SCANS, *MAPPINGS, *COUNTED, *WHILES]]
OF_OPERATIONS = [program for programs in OPERATIONS.values() for program in programs]
PROGRAMS = [*OF_OPERATIONS, *COMPOSITES, *COMPLEX_PROGRAMS, *(row.right for row in CUSTOM), *LOOPS]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_on_values_computes_what_it_computes_on_arrays(program):
    example = program.example(program.widest)
    with core.tracing(NotingTrace(core.current_trace())) as trace:
        outs = [trace.unwrap(x) for x in example(*[trace.wrap(x, core.typeof(x)) for x in example.leaves])]
    expected = example(*example.leaves)
    assert types_of(outs) == types_of(expected)
    assert_within(outs, expected, program.ulps_in(program.widest), by_array=True)


@custom_jvp
def steep(x):
    return lax.sin(x)


steep.defjvp(lambda primals, tangents: (steep(*primals), 2.0 * lax.cos(primals[0]) * tangents[0]))


@custom_vjp
def steeper(x):
    return lax.sin(x)


steeper.defvjp(lambda x: (steeper(x), lax.cos(x)), lambda cos, ct: (3.0 * cos * ct,))


@pytest.mark.parametrize(("f", "factor"), [(steep, 2.0), (steeper, 3.0)], ids=["jvp", "vjp"])
def test_kept_rules_decide_the_derivative_in_every_nesting(f, factor):
    expected = factor * np.cos(0.5)
    nested = [noting(f), noting(noting(f)), noting(jit(f)), jit(noting(f)), lambda x: noting(lambda y: f(y) * 1.0)(x)]
    for g in nested:
        np.testing.assert_allclose(grad(g)(0.5), expected, rtol=1e-14)
        np.testing.assert_allclose(noting(grad(g))(0.5), expected, rtol=1e-14)
        np.testing.assert_allclose(jit(grad(g))(0.5), expected, rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(noting(f)))(ROWS), factor * np.cos(ROWS), rtol=1e-14)
    np.testing.assert_allclose(grad(lambda x: vmap(noting(f))(x).sum())(ROWS), factor * np.cos(ROWS), rtol=1e-14)
    looped = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    np.testing.assert_allclose(grad(noting(looped))(0.5), grad(looped)(0.5), rtol=1e-14)


@custom_rules
def tripled(x):
    return 3.0 * x


tripled.def_transpose(lambda ct: 7.0 * ct)


def test_a_kept_transpose_rule_decides_the_derivative_in_every_nesting():
    nested = [noting(tripled), noting(noting(tripled)), noting(jit(tripled)), jit(noting(tripled))]
    for g in nested:
        assert grad(g)(0.5) == noting(grad(g))(0.5) == jit(grad(g))(0.5) == 7.0
        assert jvp(g, (0.5,), (1.0,))[1] == 3.0
    np.testing.assert_array_equal(vmap(grad(noting(tripled)))(ROWS), np.full(ROWS.shape, 7.0))


def test_a_kept_rule_of_a_function_that_closes_over_a_value_is_told_it():
    def scaled(x, by):
        f = custom_jvp(lambda y: lax.sin(y) * by)
        f.defjvp(lambda primals, tangents: (f(*primals), 2.0 * by * tangents[0]))
        return f(x)

    np.testing.assert_allclose(noting(lambda by: grad(lambda x: scaled(x, by))(0.5))(3.0), 6.0)
    np.testing.assert_allclose(grad(lambda x: noting(lambda by: scaled(x, by))(3.0))(0.5), 6.0)


def test_dual_numbers_that_apply_the_rule_themselves_give_its_slope():
    np.testing.assert_allclose(page.ruled_derivative(steep)(0.5), 2.0 * np.cos(0.5))
    np.testing.assert_allclose(page.ruled_derivative(jit(steep))(0.5), 2.0 * np.cos(0.5))
    np.testing.assert_allclose(jit(page.ruled_derivative(steep))(0.5), 2.0 * np.cos(0.5))
    np.testing.assert_allclose(grad(page.ruled_derivative(steep))(0.5), -2.0 * np.sin(0.5))
