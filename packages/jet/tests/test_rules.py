"""Taylor rules of the single primitives, against nested series of order 1, and these against central differences.

`tests/laws/test_jet.py` compares the whole table of programs with jvp of jvp.
"""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np
import pytest

from calque_core import Primitive, check_jaxpr, eval_jaxpr, lax, make_jaxpr, stage, typeof
from calque_core.kits.matrix import standard_primitives, state_of
from calque_core.ops.linear_call import linear_call
from calque_jet import jet
from calque_pytree import tree_leaves, tree_structure

pytestmark = pytest.mark.sampled(keep=0.1)

ORDER = 5


@pytest.mark.parametrize("primitive", standard_primitives(), ids=str)
def test_there_is_a_rule_or_a_reason(primitive):
    state = state_of(primitive, "jet")
    assert state == "rule" or len(state.removeprefix("hole: ").split()) > 2, state


def check_jet(f, *args, order=ORDER, tolerance=1e-10):
    """Compare the derivatives of `f` along random curves, for each choice of what is perturbed."""
    rng = np.random.default_rng(0)
    curves = [[rng.uniform(-1, 1, np.shape(x)) for _ in range(order)] for x in args]
    for chosen in product([True, False], repeat=len(args)):
        series = [c if yes else [0] * order for c, yes in zip(curves, chosen)]
        out, out_series = jet(f, args, series)
        along = composed(f, args, curves, chosen)
        all_derivatives = [tree_leaves(out), *zip(*series_leaves(out, out_series))]
        check_slope(along, all_derivatives[1])
        for derivatives in all_derivatives:
            want = tree_leaves(along(np.float64(0.0)))
            for x, y in zip(derivatives, want, strict=True):
                assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * factorial(order))
            along = slope(along)


def check_slope(along, slopes, step=1e-6):
    """Compare first derivatives with central differences."""
    after, before = (tree_leaves(along(np.float64(t))) for t in (step, -step))
    for x, high, low in zip(slopes, after, before, strict=True):
        np.testing.assert_allclose(x, (high - low) / (2 * step), rtol=1e-6, atol=1e-6)


def series_leaves(out, out_series):
    return out_series if isinstance(out, (tuple, list)) else [out_series]


def composed(f, args, curves, chosen):
    """Return f along the polynomials with the given derivatives."""

    def along(t):
        return f(*[
            sum((d / factorial(k) * lax.integer_pow(t, k) for k, d in enumerate(c, 1)), x) if yes else x
            for x, c, yes in zip(args, curves, chosen)
        ])  # fmt: skip

    return along


def slope(along):
    def slope_at(t):
        out, out_series = jet(along, (t,), ([np.float64(1.0)],))
        tree = tree_structure(out)
        return tree.unflatten([first for (first,) in tree.flatten_up_to(out_series)])

    return slope_at


POSITIVE, UNIT = (0.4, 2.5), (-0.7, 0.8)
FUNCTIONS = {
    "neg": (lax.neg, UNIT), "abs": (lax.abs, (-2.0, 2.0)), "sign": (lax.sign, (-2.0, 2.0)),
    "square": (lax.square, UNIT), "sqrt": (lax.sqrt, POSITIVE), "rsqrt": (lax.rsqrt, POSITIVE),
    "exp": (lax.exp, UNIT), "expm1": (lax.expm1, UNIT), "log": (lax.log, POSITIVE), "log1p": (lax.log1p, UNIT),
    "sin": (lax.sin, (-2.0, 2.0)), "cos": (lax.cos, (-2.0, 2.0)), "tan": (lax.tan, UNIT),
    "asin": (lax.asin, UNIT), "acos": (lax.acos, UNIT), "atan": (lax.atan, (-2.0, 2.0)), "sinh": (lax.sinh, UNIT),
    "cosh": (lax.cosh, UNIT), "asinh": (lax.asinh, (-2.0, 2.0)), "acosh": (lax.acosh, (1.4, 3.0)),
    "atanh": (lax.atanh, UNIT), "exp2": (lax.exp2, UNIT), "cbrt": (lax.cbrt, POSITIVE),
    "tanh": (lax.tanh, (-2.0, 2.0)), "logistic": (lax.logistic, (-2.0, 2.0)), "erf_inv": (lax.erf_inv, UNIT),
    "erf": (lax.erf, UNIT), "erfc": (lax.erfc, UNIT),
    "nextafter": (lambda x: lax.nextafter(x, 9.0), UNIT),
    "floor": (lax.floor, (-2.0, 2.0)), "convert": (lambda x: lax.convert_element_type(x, np.float64), UNIT),
    "reduce_max": (lambda x: lax.reduce_max(x, 1), UNIT), "reduce_min": (lambda x: lax.reduce_min(x, (0, 1)), UNIT),
    "reduce_max with a kept axis": (lambda x: lax.reduce_max(x, 1, keepdims=True), UNIT),
    "reduce": (lambda x: lax.reduce(x, 0.5, lambda a, b: a + b + a * b, (1,)), UNIT),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 11, 52), UNIT),
    "reduce_sum": (lambda x: lax.reduce_sum(x, 0), UNIT), "sort": (lambda x: lax.sort(x, 1), UNIT),
    "name": (lambda x: lax.name_p.bind(x, name="a"), UNIT),
    **{f"integer_pow {n}": (lambda x, n=n: lax.integer_pow(x, n), POSITIVE) for n in (-3, -1, 0, 1, 2, 3, 7)},
    **{f"pow {r}": (lambda x, r=r: lax.pow(x, r), POSITIVE) for r in (-1.5, -1.0, 0.0, 0.5, 2.0, 3.0)},
    "pow 70.0": (lambda x: lax.pow(x, 70.0), (0.9, 1.1)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_array(name, spaced):
    f, (low, high) = FUNCTIONS[name]
    check_jet(f, spaced((2, 3), low, high))


BINARY = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "rem": lax.rem, "max": lax.max, "min": lax.min,
    "pow": lax.pow, "atan2": lax.atan2, "select": lambda x, y: lax.select(lax.lt(x, 1.0), x, y),
    "clamp": lambda x, y: lax.clamp(lax.sub(x, 1.0), y, x),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((), (3,)), ((3,), ())], ids=str)
def test_functions_of_two_arrays(name, shapes, spaced):
    x, y = spaced(shapes[0], 0.4, 2.5), spaced(shapes[1], 0.5, 1.9, seed=1)
    check_jet(BINARY[name], x, y, tolerance=1e-9)
    both = lambda x, y: jet(BINARY[name], (x, y), ([x * x, 0], [0, y]))[1][1]
    _, (x_dot,) = jet(both, (x, y), ([np.ones_like(x)], [np.ones_like(y)]))
    assert np.shape(x_dot) == (3,)


def test_sums_of_tangents(spaced):
    check_jet(lax.add_any, spaced((3,)), spaced((3,), seed=1))


def test_contractions_of_two_series(spaced):
    check_jet(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))), spaced((2, 3)), spaced((3, 2), seed=1))


def test_several_results(spaced):
    check_jet(lambda x, y: lax.sort((x, y), 0), spaced((4,)), spaced((4,), seed=1))
    check_jet(lambda x, y: lax.optimization_barrier((x, y * x)), spaced((4,)), spaced((4,), seed=1))


# Complex numbers

COMPLEX_FUNCTIONS = [
    "abs", "sign", "sqrt", "exp", "log", "tan", "logistic", "pow", "conj", "div", "asin", "acosh", "atan", "sinh",
]  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_functions_of_complex_numbers(name, spaced):
    re, im = spaced((3,), 0.4, 1.5), spaced((3,), 0.3, 1.2, seed=1)
    other = {"pow": lax.pow, "div": lax.div}.get(name)
    f = getattr(lax, name)
    parts = lambda z: (lax.real(z), lax.imag(z))
    z = lambda x, y: lax.complex(x, y)
    check_jet(lambda x, y: parts(other(z(x, y), z(y, x)) if other else f(z(x, y))), re, im, order=4, tolerance=1e-9)


# Where derivatives meet their limits


def at_zero(f, *terms):
    return [float(d) for d in jet(f, (0.0,), (list(terms),))[1]]


def test_whole_powers_are_expanded_at_zero():
    for f in (lambda x: x**3, lambda x: lax.pow(x, 3.0), lambda x: x * x * x):
        assert at_zero(f, 1.0, 0, 0, 0) == [0.0, 0.0, 6.0, 0.0]
    assert at_zero(lambda x: lax.pow(x, 0.0), 1.0, 0) == [0.0, 0.0]


def test_a_power_of_zero_does_not_depend_on_its_exponent():
    _, series = jet(lambda y: lax.pow(0.0, y), (2.0,), ([1.0, 0],))
    assert [float(d) for d in series] == [0.0, 0.0]


def test_an_exponent_under_trace_is_no_number():
    names = [e.primitive.name for e in make_jaxpr(lambda x, r: jet(lambda x: lax.pow(x, r), (x,), ([1.0, 0],)))(
        2.0, 3.0).eqns]  # fmt: skip
    assert "div" in names


def test_the_size_and_the_sign_of_complex_zero_are_constant():
    curve = lax.complex(np.array([0.0, 3.0]), np.array([0.0, 4.0])), [np.array([1.0 + 2.0j] * 2), 0, 0]
    for f, at_zero in ((lax.abs, 0.0), (lax.sign, 0.0)):
        out, series = jet(f, curve[:1], curve[1:])
        assert [x[0] for x in (out, *series)] == [at_zero] * 4
        assert all(abs(x[1]) > 0 for x in (out, *series))


def test_conventions_where_there_is_no_derivative_are_those_of_jvp():
    assert at_zero(lax.abs, 1.0, 3.0) == [1.0, 3.0]
    assert at_zero(lambda x: lax.max(x, 0.0), 1.0, 3.0) == [0.5, 1.5]
    assert at_zero(lambda x: lax.min(-x, x), 1.0, 3.0) == [0.0, 0.0]
    assert at_zero(lambda x: lax.reduce_max(np.ones(4) * x), 1.0, 3.0) == [1.0, 3.0]
    assert at_zero(lambda x: lax.clamp(0.0, x, 1.0), 1.0, 3.0) == [0.0, 0.0]
    assert at_zero(lax.sign, 1.0, 3.0) == [0.0, 0.0]


# Programs in programs


def test_branches_whose_series_differ(spaced):
    f = lambda x, y: lax.cond(x[0] > 0, lambda x, y: (x * y, y), lambda x, y: (lax.sin(x), x * 0.0), x, y)
    check_jet(f, spaced((3,), 0.5, 1.0), spaced((3,)))
    check_jet(f, spaced((3,), -1.0, -0.5), spaced((3,)))


def test_a_branch_that_a_number_does_not_choose_is_not_expanded():
    bare = Primitive("without_a_taylor_rule")
    bare.def_abstract_eval(lambda x: x.strip_weak_type())
    _, series = jet(lambda x: lax.cond(True, lax.sin, bare.bind, x), (0.0,), ([1.0, 0, 0],))
    assert [float(d) for d in series] == [1.0, 0.0, -1.0]


def test_a_result_with_a_series_in_one_branch_only():
    branch = lambda x: lax.cond(x > 0, lambda x: (x * x, 1.0), lambda x: (2.0, x * 3.0), x)
    jaxpr = make_jaxpr(lambda x: jet(branch, (x,), ([1.0, 0],))[1])(1.0)
    check_jaxpr(jaxpr)
    assert [float(d) for d in eval_jaxpr(jaxpr, jaxpr.consts, 2.0)] == [4.0, 2.0, 0.0, 0.0]
    assert [float(d) for d in eval_jaxpr(jaxpr, jaxpr.consts, -2.0)] == [0.0, 0.0, 3.0, 0.0]


def test_a_carry_that_gets_a_series_from_another(spaced):
    def step(carry, x):
        a, b, n = carry
        return (a * x, b + lax.sin(a), n + 1), (b, n)

    f = lambda a, xs: lax.scan(step, (a, np.float64(0.0), 0), xs)
    check_jet(lambda a, xs: [*tree_leaves(f(a, xs)[0])[:2], f(a, xs)[1][0]], 0.7, spaced((4,), 0.5, 1.5))


def test_a_while_loop_that_closes_over_a_series(spaced):
    f = lambda x, y: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * y + x), (0, lax.sin(x)))[1]
    check_jet(f, 0.7, 0.4)


def test_a_program_is_expanded_once_for_each_pattern(called):
    calls = []

    def f(x):
        calls.append(x)
        return lax.sin(x)

    g = called(f)
    jaxpr = make_jaxpr(lambda x: jet(lambda x: g(g(x)), (x,), ([1.0, 0],)))(1.0)
    programs = [e.params["jaxpr"] for e in jaxpr.eqns if e.primitive.name == "jit"]
    assert len(programs) == 2
    assert [len(p.invars) for p in programs] == [2, 3]


def test_a_checkpointed_program_stays_one(called):
    f = called(lambda x: lax.sin(lax.exp(x)), lax.remat_p, policy=None, prevent_cse=True, differentiated=False)
    check_jet(f, 0.3)
    jaxpr = make_jaxpr(lambda x: jet(f, (x,), ([1.0, 0],)))(1.0)
    assert [e.primitive.name for e in jaxpr.eqns].count("remat") == 1


# Functions defined by equations


def solution_of(a, b):
    """Solve a 2 by 2 system by Cramer's rule, which no derivative looks into."""

    def solve(_, b):
        p, q, r, s = lax.reshape(lax.stop_gradient(a), (4,))
        first, second = s * b[0] - q * b[1], p * b[1] - r * b[0]
        return lax.concatenate([lax.expand_dims(x, (0,)) for x in (first, second)], 0) / (p * s - q * r)

    return lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)


def test_solutions_of_linear_equations():
    check_jet(solution_of, np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, -2.0]), order=4)


def test_a_solution_is_found_once_for_each_coefficient():
    f = lambda a, b: jet(solution_of, (a, b), ([a] * 4, [b] * 4))
    names = [e.primitive.name for e in make_jaxpr(f)(np.eye(2), np.ones(2)).eqns]
    assert names.count("custom_linear_solve") == 5
    g = lambda a, b: jet(lambda b: solution_of(a, b), (b,), ([b, 0, 0, 0],))
    names = [e.primitive.name for e in make_jaxpr(g)(np.eye(2), np.ones(2)).eqns]
    assert names.count("custom_linear_solve") == 2


def root_of(a):
    """Solve x**2 = a, as the author of a package would bind it; the second result is no part of the root."""
    newton = lambda a, x: lax.fori_loop(0, 7, lambda _, x: 0.5 * (x + a / x), x)
    programs = {
        "f": lambda a, x: [x * x - a],
        "solve": lambda a, x: [newton(a, x), a * 1.0],
        "tangent_solve": lambda a, x, y: [y / (2.0 * x)],
    }
    scalar = typeof(np.float64(0))
    jaxprs = {
        name: stage(fun, [scalar] * (3 if name == "tangent_solve" else 2), verb=name) for name, fun in programs.items()
    }
    return lax.custom_root_p.bind(a, np.float64(1.0), **jaxprs, num_consts=1)


def test_roots():
    check_jet(lambda a: root_of(a)[0], np.float64(1.7))
    found, want = (jet(f, (1.7,), ([1.0, 0, 0],))[1] for f in (lambda a: root_of(a)[0], lax.sqrt))
    np.testing.assert_allclose(found, want)


def test_auxiliary_results_have_no_series():
    _, (_, aux_series) = jet(root_of, (np.float64(2.0),), ([1.0, 3.0],))
    assert [float(d) for d in aux_series] == [0.0, 0.0]


def test_linear_functions_with_a_transpose_of_their_own():
    f = lambda r, x: linear_call(lambda r, x: x / r, lambda r, ct: ct / r, r, x)
    check_jet(f, 2.0, 3.0)
    jaxpr = make_jaxpr(lambda x: jet(lambda x: f(2.0, x), (x,), ([1.0, 1.0],)))(3.0)
    assert [e.primitive.name for e in jaxpr.eqns].count("linear_call") == 3


def test_coefficients_of_the_chosen_complex_numbers_are_taken():
    z, w = np.array([1 + 2j, 1 + 3j]), np.array([1 + 1j, 2 - 1j])
    series = [np.array([1 + 1j, 2.0]), np.array([3j, 1.0])]
    out, coefficients = jet(lax.max, (z, w), (series, [10 * c for c in series]))
    np.testing.assert_array_equal(out, [1 + 2j, 2 - 1j])
    np.testing.assert_array_equal(coefficients, [[1 + 1j, 20], [3j, 10]])
    out, coefficients = jet(lambda z: lax.clamp(1 + 0j, z, 1 + 2.5j), (z,), (series,))
    np.testing.assert_array_equal(out, [1 + 2j, 1 + 2.5j])
    np.testing.assert_array_equal(coefficients, [[1 + 1j, 0], [3j, 0]])
