"""Transformations as their authors would write them, on core alone and with public names only.

Each is run on plain NumPy functions, over programs inside, and under itself.
"""

import operator
from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest

import calque_core as core
from calque_core import lax

X = np.array([0.5, 0.25, 2.0])


def run(trace_class, f, *values, aval=core.typeof):
    """Return the value of f under a new trace of the class, and the trace."""
    with core.tracing(trace_class(core.current_trace())) as trace:
        return trace.unwrap(f(*[trace.wrap(value, aval(value)) for value in values])), trace


class ArrayTrace(core.ValueTrace):
    """Values are arrays; all primitives are treated alike."""

    keeps_custom_derivatives = True

    def lift(self, x):
        return x

    def apply(self, primitive, values, params):
        return core.hand_down(self.parent, primitive, values, params)

    def predicate(self, x):
        return x


# The programs that are transformed


def plain(x):
    y = np.sin(x) * x + 1.0
    return np.exp(-y) if y.sum() > 0.0 else y


def of_steps(x):
    """A loop whose carry depends on x, and a counter that does not."""
    return lax.fori_loop(0, 3, lambda i, c: c * x + 1.0, x)


def of_scan(x):
    total, ys = lax.scan(lambda c, y: (c + y * x, c * y), x, np.array([1.0, 2.0]))
    return total * ys.sum()


def of_while(x):
    return lax.while_loop(lambda c: c.sum() < 10.0, lambda c: c * c + x, x)


def of_branches(x):
    return lax.cond(x.sum() > 1.0, lambda x: x * x, lambda x: -x, x)


PROGRAMS = [plain, of_steps, of_scan, of_while, of_branches]
programs = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


# 1. Nothing at all


class IdentityTrace(ArrayTrace):
    verb, key = "identity", ()

    def to_arrays(self, x):
        return [x], None

    def from_arrays(self, static, arrays):
        return arrays[0]


def identity(f):
    return lambda *args: run(IdentityTrace, f, *args)[0]


@programs
def test_the_identity_gives_what_the_function_gives_also_twice_and_staged(f):
    expected = f(X)
    np.testing.assert_array_equal(identity(f)(X), expected)
    np.testing.assert_array_equal(identity(identity(f))(X), expected)
    if f is not plain:  # which decides by a value
        jaxpr = core.make_jaxpr(identity(identity(f)))(X)
        np.testing.assert_array_equal(core.eval_jaxpr(jaxpr, jaxpr.consts, X)[0], expected)
        np.testing.assert_array_equal(identity(lambda x: core.eval_jaxpr(jaxpr, jaxpr.consts, x)[0])(X), expected)


# 2. Floating-point operations, by primitive


class FlopTrace(ArrayTrace):
    def __init__(self, parent):
        super().__init__(parent)
        self.flops = Counter()

    def apply(self, primitive, values, params):
        outs = super().apply(primitive, values, params)
        self.flops[primitive.name] += sum(core.typeof(out).size for out in outs)
        return outs


def flops(f, x):
    return dict(run(FlopTrace, f, x)[1].flops)


def test_operations_are_counted_by_element_in_every_step_and_at_each_level():
    assert flops(lambda x: np.sin(x) * 2.0, X) == {"sin": 3, "mul": 3}
    assert flops(of_steps, X) == {"mul": 9, "add": 9}
    assert flops(lambda x: run(FlopTrace, np.sin, x)[0] * x, X) == {"sin": 3, "mul": 3}


# 3. A log of every operation with its values


class LogTrace(ArrayTrace):
    def __init__(self, parent):
        super().__init__(parent)
        self.lines = []

    def apply(self, primitive, values, params):
        outs = super().apply(primitive, values, params)
        self.lines.append(f"{primitive.name}({', '.join(map(str, values))}) = {', '.join(map(str, outs))}")
        return outs


def test_a_log_shows_each_operation_with_its_values():
    _, trace = run(LogTrace, lambda x: lax.cond(x > 1.0, lambda x: x * 2.0, lambda x: x, x), np.float64(3.0))
    assert trace.lines == ["gt(3.0, 1.0) = True", "convert_element_type(True) = 1", "mul(3.0, 2.0) = 6.0"]
    _, outer = run(LogTrace, lambda x: run(LogTrace, lambda y: y * x, 2.0)[0], np.float64(3.0))
    assert outer.lines == ["mul(2.0, 3.0) = 6.0"]


# 4. Expressions


class ExpressionTrace(core.ValueTrace):
    kind = "expression"

    def lift(self, x):
        return f"{x:g}"


for primitive, symbol in [(lax.mul_p, "*"), (lax.add_p, "+"), (lax.sub_p, "-")]:
    primitive.def_rule("expression", lambda x, y, symbol=symbol: f"({x} {symbol} {y})")
lax.sin_p.def_rule("expression", lambda x: f"sin({x})")
lax.gt_p.def_rule("expression", lambda x, y: f"({x} > {y})")
lax.convert_element_type_p.def_rule("expression", lambda x, **_: x)


def expression(f, *names):
    return run(ExpressionTrace, f, *names, aval=lambda _: core.ShapedArray((), np.float64))[0]


def test_expressions_have_no_arrays_and_run_loops_step_by_step():
    assert expression(lambda x, y: 2.0 * np.sin(x) + y, "x", "y") == "((2 * sin(x)) + y)"
    assert expression(lambda x: lax.fori_loop(0, 2, lambda i, c: c * x, x), "x") == "((x * x) * x)"
    assert expression(lambda x: lax.scan(lambda c, y: (c + y * x, None), x, X[:2])[0], "x") == (
        "((x + (0.5 * x)) + (0.25 * x))"
    )
    jaxpr = core.make_jaxpr(lambda x: np.sin(x) - 1.0)(1.0)
    assert expression(lambda x: core.eval_jaxpr(jaxpr, (), x)[0], "x") == "(sin(x) - 1)"


def test_an_expression_decides_nothing():
    words = r"a value of ExpressionTrace is the predicate of a cond or a loop at .*\. Define"
    with pytest.raises(TypeError, match=words):
        expression(lambda x: lax.cond(x > 0.0, lambda: x, lambda: x), "x")
    with pytest.raises(core.TracerBoolConversionError, match=r"bool\(\) was asked of a traced value"):
        expression(lambda x: x if x > 0.0 else -x, "x")


# 5. Dual numbers


class Dual(NamedTuple):
    value: Any
    slope: Any


class DualTrace(core.ValueTrace):
    verb = kind = "dual number"
    key = ()

    def lift(self, x):
        return Dual(x, lax.zeros_like(x))

    def to_arrays(self, x):
        return x, None

    def from_arrays(self, static, arrays):
        return Dual(*arrays)

    def predicate(self, x):
        return x.value


def linear(*primitives):
    for primitive in primitives:

        def rule(*xs, primitive=primitive, **params):
            values, slopes = zip(*xs)
            return Dual(primitive.bind(*values, **params), primitive.bind(*slopes, **params))

        primitive.def_rule("dual number", rule)


def constant(*primitives):
    for primitive in primitives:

        def rule(*xs, primitive=primitive, **params):
            out = primitive.bind(*[x.value for x in xs], **params)
            return Dual(out, lax.zeros_like(out))

        primitive.def_rule("dual number", rule)


linear(lax.add_p, lax.sub_p, lax.neg_p, lax.reduce_sum_p, lax.broadcast_in_dim_p, lax.convert_element_type_p)
constant(lax.lt_p, lax.gt_p)
lax.sin_p.def_rule("dual number", lambda x: Dual(np.sin(x.value), np.cos(x.value) * x.slope))
lax.exp_p.def_rule("dual number", lambda x: Dual(np.exp(x.value), np.exp(x.value) * x.slope))
lax.mul_p.def_rule("dual number", lambda x, y: Dual(lax.mul(x.value, y.value), x.slope * y.value + x.value * y.slope))


def slope(f):
    return lambda x: run(DualTrace, f, Dual(x, lax.full_like(x, 1.0)), aval=lambda d: core.typeof(d.value))[0].slope


@programs
def test_the_slope_is_the_difference_quotient_and_the_slope_of_the_identity_is_one(f):
    step = 1e-6
    differences = (f(X + step) - f(X - step)) / (2 * step)
    np.testing.assert_allclose(slope(f)(X), differences, rtol=1e-6)
    np.testing.assert_allclose(slope(identity(f))(X), differences, rtol=1e-6)
    np.testing.assert_allclose(identity(slope(f))(X), differences, rtol=1e-6)


def test_the_slope_of_a_slope_tells_the_two_apart():
    assert slope(slope(lambda x: x * x * x))(2.0) == 12.0
    assert slope(lambda x: x * slope(lambda y: x + y)(1.0))(2.0) == 1.0


def test_a_primitive_that_the_author_forgot_is_missing_by_name():
    with pytest.raises(core.MissingRuleError, match="Rule 'dual number' for 'tanh' not implemented") as caught:
        slope(np.tanh)(1.0)
    assert 'tanh_p.def_rule("dual number", fn)' in str(caught.value)


# 6. Intervals


class Interval(NamedTuple):
    low: Any
    high: Any


class IntervalTrace(core.ValueTrace):
    kind = "bounds"

    def lift(self, x):
        return Interval(x, x)

    def to_arrays(self, x):
        return x, None

    def from_arrays(self, static, arrays):
        return Interval(*arrays)

    def predicate(self, x):
        if np.any(x.low != x.high):
            raise ValueError(f"the interval [{x.low}, {x.high}] decides nothing. Give a narrower one.")
        return x.low


def interval_mul(x, y):
    corners = [lax.mul(a, b) for a in x for b in y]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = lax.min(low, corner), lax.max(high, corner)
    return Interval(low, high)


lax.mul_p.def_rule("bounds", interval_mul)
lax.add_p.def_rule("bounds", lambda x, y: Interval(lax.add(x.low, y.low), lax.add(x.high, y.high)))
lax.min_p.def_rule("bounds", lambda x, y: Interval(*map(lax.min, x, y)))
lax.max_p.def_rule("bounds", lambda x, y: Interval(*map(lax.max, x, y)))
lax.neg_p.def_rule("bounds", lambda x: Interval(-x.high, -x.low))
lax.lt_p.def_rule("bounds", lambda x, y: Interval(lax.lt(x.high, y.low), lax.lt(x.low, y.high)))
lax.gt_p.def_rule("bounds", lambda x, y: Interval(lax.gt(x.low, y.high), lax.gt(x.high, y.low)))
for primitive in (lax.reduce_sum_p, lax.convert_element_type_p):
    rule = lambda x, primitive=primitive, **params: Interval(*(primitive.bind(bound, **params) for bound in x))
    primitive.def_rule("bounds", rule)


def interval(f):
    return lambda low, high: run(IntervalTrace, f, Interval(low, high), aval=lambda x: core.typeof(x.low))[0]


@pytest.mark.parametrize("f", [of_steps, of_scan, of_branches, of_while], ids=lambda f: f.__name__)
def test_an_interval_holds_what_the_function_gives_inside_of_it(f):
    bounds = interval(f)(X, X + 0.125)
    for x in (X, X + 0.05, X + 0.125):
        assert (bounds.low <= f(x)).all()
        assert (f(x) <= bounds.high).all()
    np.testing.assert_array_equal(interval(f)(X, X).low, f(X))


def test_an_interval_that_decides_nothing_says_so_in_if_and_in_cond():
    for f in (of_branches, lambda x: x if x > 1.0 else -x):
        with pytest.raises(ValueError, match=r"the interval \[False, True\] decides nothing|\[0, 1\] decides nothing"):
            interval(f)(0.5, 1.5)


def test_intervals_of_intervals_widen_both():
    outer = interval(lambda x: interval(lambda y: y * x)(1.0, 2.0).high)(3.0, 4.0)
    assert (outer.low, outer.high) == (6.0, 8.0)


# 7. Which arguments a value depends on


class Tainted(NamedTuple):
    array: Any
    names: frozenset


class TaintTrace(ArrayTrace):
    key = ()

    def lift(self, x):
        return Tainted(x, frozenset())

    def apply(self, primitive, values, params):
        outs = super().apply(primitive, [x.array for x in values], params)
        names = frozenset().union(*(x.names for x in values))
        return [Tainted(out, names) for out in outs]

    def to_arrays(self, x):
        return [x.array], x.names

    def from_arrays(self, names, arrays):
        return Tainted(*arrays, names)

    def join(self, first, second):
        return first | second

    def predicate(self, x):
        return x.array


def depends(f, **args):
    values = [Tainted(x, frozenset({name})) for name, x in args.items()]
    return "".join(sorted(run(TaintTrace, f, *values, aval=lambda x: core.typeof(x.array))[0].names))


def rotated(x, y, z):
    """x depends on y after one step, and on z after two."""
    return lax.fori_loop(0, 5, lambda i, c: (c[0] + c[1], c[1] * c[2], c[2]), (x, y, z))[0]


def test_dependencies_spread_through_a_loop_until_a_step_adds_none():
    assert depends(lambda x, y: np.sin(x) + 1.0, x=1.0, y=2.0) == "x"
    assert depends(rotated, x=1.0, y=2.0, z=3.0) == "xyz"
    assert depends(lambda x, y, z: lax.fori_loop(0, 5, lambda i, c: c * y, 1.0), x=1.0, y=2.0, z=3.0) == "y"
    inner = lambda x, y: run(TaintTrace, lambda a: a * x, Tainted(y, frozenset("a")), aval=lambda t: core.typeof(t[0]))
    assert depends(lambda x, y: inner(x, y)[0].array, x=1.0, y=2.0) == "xy"


def test_dependencies_of_branches_are_those_of_any():
    def staged(p):
        f = lambda x, y: lax.cond(p > 0.0, lambda: x * 2.0, lambda: y)
        names.append(depends(f, x=1.0, y=2.0))
        return p

    names = []
    core.make_jaxpr(staged)(1.0)
    assert names == ["xy"]


# 8. Units


class Quantity(NamedTuple):
    number: Any
    metres: int


class UnitTrace(core.ValueTrace):
    kind = "unit"

    def lift(self, x):
        return Quantity(x, 0)

    def to_arrays(self, x):
        return [x.number], x.metres

    def from_arrays(self, metres, arrays):
        return Quantity(*arrays, metres)


def unit_add(x, y):
    if x.metres != y.metres:
        raise ValueError(f"m^{x.metres} and m^{y.metres} cannot be added.")
    return Quantity(lax.add(x.number, y.number), x.metres)


lax.add_p.def_rule("unit", unit_add)
lax.mul_p.def_rule("unit", lambda x, y: Quantity(lax.mul(x.number, y.number), x.metres + y.metres))


def metres(f, *numbers):
    quantities = [Quantity(x, 1) for x in numbers]
    return run(UnitTrace, f, *quantities, aval=lambda x: core.typeof(x.number))[0]


def test_units_are_multiplied_and_a_sum_of_different_ones_is_refused():
    assert metres(lambda x, y: x * y + x * x, 2.0, 3.0) == (10.0, 2)
    with pytest.raises(ValueError, match=r"m\^2 and m\^1 cannot be added"):
        metres(lambda x: x * x + x, 2.0)
    assert metres(lambda x: metres(lambda y: y * y, x)[0], 3.0) == (9.0, 2)


def test_a_carry_keeps_its_unit_or_is_refused():
    assert metres(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x), 2.0) == (8.0, 1)
    with pytest.raises(TypeError, match=r"return values of UnitTrace with different static items at .*: 1 and 2\."):
        metres(lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x), 2.0)


# 9. Deferred evaluation


class LazyTrace(core.ValueTrace):
    def lift(self, x):
        return lambda: x

    def apply(self, primitive, values, params):
        forced = []

        def force():
            if not forced:
                forced.append(core.hand_down(self.parent, primitive, [value() for value in values], params))
            return forced[0]

        aval = primitive.abstract(*[core.typeof(X[0])] * len(values), **params)
        return [lambda number=number: force()[number] for number in range(len(aval))]

    def predicate(self, value: Callable[[], Any]):
        return value()


def test_what_nobody_asks_for_is_not_computed():
    log = lambda f: lambda *args: run(LogTrace, f, *args)
    lazy = lambda f: lambda *args: run(LazyTrace, f, *[lambda x=x: x for x in args], aval=lambda x: core.typeof(x()))[0]
    value, trace = log(lambda x: lazy(lambda y: (np.exp(y), np.sin(y))[1])(x)())(1.0)
    assert value == np.sin(1.0)
    assert [line.split("(")[0] for line in trace.lines] == ["sin"]
    assert lazy(lambda x: lazy(lambda y: y * x)(x)() * x)(3.0)() == 27.0
    assert lazy(lambda x: lax.cond(x > 1.0, np.sin, np.cos, x))(2.0)() == np.sin(2.0)


# 10. A bound of the rounding errors


class Rounded(NamedTuple):
    value: Any
    error: Any


class RoundingTrace(core.ValueTrace):
    kind = "rounding"

    def lift(self, x):
        return Rounded(x, lax.zeros_like(x))

    def to_arrays(self, x):
        return x, None

    def from_arrays(self, static, arrays):
        return Rounded(*arrays)


def with_rounding(out, error):
    return Rounded(out, error + np.abs(out) * np.finfo(np.float64).eps)


lax.abs_p.def_rule("rounding", lambda x: Rounded(np.abs(x.value), x.error))
lax.add_p.def_rule("rounding", lambda x, y: with_rounding(lax.add(x.value, y.value), lax.add(x.error, y.error)))
lax.mul_p.def_rule(
    "rounding",
    lambda x, y: with_rounding(
        lax.mul(x.value, y.value), np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
    ),
)


def rounding(f):
    return lambda x: run(RoundingTrace, f, Rounded(x, 0.0), aval=lambda x: core.typeof(x.value))[0]


def test_a_bound_of_rounding_errors_holds_and_grows_with_the_steps():
    def powers(x, steps=50):
        return lax.fori_loop(0, steps, lambda i, c: c * x + 0.1, x)

    value, bound = rounding(powers)(0.9)
    exact = np.longdouble(0.9)
    for _ in range(50):
        exact = exact * np.longdouble(0.9) + np.longdouble(0.1)
    assert abs(np.longdouble(value) - exact) <= bound <= 1e-13
    assert rounding(lambda x: powers(x, 2))(0.9).error < bound
    assert rounding(lambda x: rounding(powers)(x).error)(0.9).error > 0.0


# 11. Which elements of the argument an element depends on


class Pattern(NamedTuple):
    array: Any
    depends: Any  # [*shape, size of the argument]


class SparsityTrace(core.ValueTrace):
    kind = "sparsity"

    def __init__(self, parent, size=3):
        super().__init__(parent)
        self.size = size

    def lift(self, x):
        return Pattern(x, np.zeros((*core.typeof(x).shape, self.size), bool))

    def to_arrays(self, x):
        return x, None

    def from_arrays(self, static, arrays):
        return Pattern(*arrays)


def sparsity_elementwise(*primitives):
    for primitive in primitives:

        def rule(*xs, primitive=primitive, **params):
            out = primitive.bind(*[x.array for x in xs], **params)
            nothing = np.zeros((*core.typeof(out).shape, 3), bool)
            return Pattern(out, reduce(operator.or_, [x.depends for x in xs], nothing))

        primitive.def_rule("sparsity", rule)


sparsity_elementwise(lax.add_p, lax.mul_p, lax.sin_p, lax.neg_p)


@lax.concatenate_p.def_rule("sparsity")
def _(*xs, **params):
    return Pattern(*(lax.concatenate_p.bind(*parts, **params) for parts in zip(*xs)))


@lax.slice_p.def_rule("sparsity")
def _(x, *, start_indices, limit_indices, strides):
    ranges = [slice(*at) for at in zip(start_indices, limit_indices, strides or (1,) * len(start_indices))]
    return Pattern(x.array[tuple(ranges)], x.depends[tuple(ranges)])


def sparsity(f):
    return run(SparsityTrace, f, Pattern(X, np.eye(3, dtype=bool)), aval=lambda x: core.typeof(x.array))[0].depends


def test_the_sparsity_of_a_jacobian_is_found_through_a_loop():
    tridiagonal = sparsity(lambda x: x * lax.concatenate([x[1:], x[:1]], 0))
    assert tridiagonal.astype(int).tolist() == [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    running = sparsity(lambda x: lax.scan(lambda c, y: (c + y, np.sin(c)), 0.0, x)[1])
    assert running.astype(int).tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert sparsity(lambda x: identity(np.sin)(x)).tolist() == np.eye(3, dtype=bool).tolist()


# 12. Arrays of which only some elements count


class Masked(NamedTuple):
    array: Any
    counts: Any


class MaskTrace(core.ValueTrace):
    kind = "mask"

    def lift(self, x):
        return Masked(x, np.ones(core.typeof(x).shape, bool))

    def to_arrays(self, x):
        return x, None

    def from_arrays(self, static, arrays):
        return Masked(*arrays)


@lax.reduce_sum_p.def_rule("mask")
def _(x, **params):
    kept = np.where(x.counts, x.array, 0.0)
    return Masked(lax.reduce_sum_p.bind(kept, **params), lax.reduce_or(x.counts, params["axes"]))


lax.mul_p.def_rule("mask", lambda x, y: Masked(lax.mul(x.array, y.array), np.logical_and(x.counts, y.counts)))
lax.sin_p.def_rule("mask", lambda x: Masked(np.sin(x.array), x.counts))


def masked(f, counts):
    return lambda x: run(MaskTrace, f, Masked(x, counts), aval=lambda x: core.typeof(x.array))[0].array


def test_a_sum_leaves_out_what_does_not_count_at_each_level_of_masks():
    counts = np.array([True, False, True])
    f = lambda x: (np.sin(x) * 2.0).sum()
    assert masked(f, counts)(X) == 2.0 * np.sin(X)[counts].sum()
    assert masked(masked(lambda x: x, counts), counts)(X).tolist() == X.tolist()
    assert masked(lambda x: lax.scan(lambda c, y: (c * y, None), 1.0, x)[0], counts)(X) == X.prod()


# 13. The same in 32 bits


class SingleTrace(ArrayTrace):
    """Values are of 32 bits where the program says 64."""

    key = ()

    def lift(self, x):
        return lax.convert_element_type(x, np.float32) if core.typeof(x).dtype == np.float64 else x

    def apply(self, primitive, values, params):
        if params.get("new_dtype") == np.float64:
            params = params | {"new_dtype": np.dtype(np.float32)}
        return super().apply(primitive, values, params)

    def to_arrays(self, x):
        return [x], None

    def from_arrays(self, static, arrays):
        return arrays[0]


def in_single(f):
    return lambda x: run(
        SingleTrace, f, np.asarray(x, np.float32), aval=lambda x: core.typeof(X[0]) if not x.ndim else core.typeof(X)
    )[0]


@programs
def test_the_program_runs_in_32_bits_and_its_results_are_near(f):
    out = in_single(f)(X)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, f(X), rtol=1e-5)
    np.testing.assert_array_equal(in_single(lambda x: in_single(f)(X) * x)(X), out * X.astype(np.float32))


# 14. How many elements a rectifier lets pass


class ActivityTrace(ArrayTrace):
    def __init__(self, parent):
        super().__init__(parent)
        self.shares = []

    def apply(self, primitive, values, params):
        (out, *_) = outs = super().apply(primitive, values, params)
        if primitive is lax.max_p:
            self.shares.append(float(np.mean(out > 0.0)))
        return outs


def test_the_share_of_active_elements_is_noted_for_each_layer():
    layers = lambda x: np.maximum(np.maximum(x - 0.3, 0.0) - 1.0, 0.0)
    out, trace = run(ActivityTrace, layers, X)
    np.testing.assert_array_equal(out, layers(X))
    assert trace.shares == [2 / 3, 1 / 3]
    assert run(ActivityTrace, lambda x: run(ActivityTrace, layers, X)[0] * x, X)[1].shares == []
