from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from calque_core import (
    MissingRuleError,
    Primitive,
    UnexpectedTracerError,
    check_jaxpr,
    config,
    current_trace,
    float0,
    lax,
    make_jaxpr,
    stage,
    typeof,
)
from calque_core.ops.custom_closures import CustomRules
from calque_jet import JetTrace, JetTracer, jet


def derivatives(f, x, order):
    """Return f(x) and its derivatives by nested series of order 1."""
    found = [f(x)]
    for _ in range(order):
        f = slope(f)
        found.append(f(x))
    return found


def slope(f):
    return lambda x: jet(f, (x,), ([lax.ones_like(x)],))[1][0]


def taylor(f, x, order):
    """Return f(x) and its derivatives by jet."""
    out, series = jet(f, (x,), ([lax.ones_like(x)] + [0] * (order - 1),))
    return [out, *series]


def composite(x):
    return lax.exp(lax.sin(x) * x) / (1.0 + x * x)


# Results and their types


def test_the_derivatives_of_a_power_are_exact():
    assert [float(d) for d in taylor(lambda x: x**5, 2.0, 6)] == [32.0, 80.0, 160.0, 240.0, 240.0, 120.0, 0.0]


def test_the_derivatives_of_an_exponential_at_0_are_ones():
    np.testing.assert_allclose(taylor(lax.exp, 0.0, 20), 1.0, rtol=1e-14)


def test_the_derivatives_of_a_fraction_are_factorials():
    found = taylor(lambda x: 1.0 / (1.0 - x), 0.0, 30)
    np.testing.assert_allclose(found, [float(factorial(k)) for k in range(31)], rtol=1e-13)


def test_one_number_is_expanded_as_by_nested_series_of_order_1():
    np.testing.assert_allclose(taylor(composite, 0.7, 6), derivatives(composite, np.float64(0.7), 6), rtol=1e-11)


def test_order_1_agrees_with_central_differences(spaced):
    x, v, step = spaced((3,)), spaced((3,), seed=1), 1e-6
    out, (out_dot,) = jet(composite, (x,), ([v],))
    np.testing.assert_array_equal(out, composite(x))
    np.testing.assert_allclose(out_dot, (composite(x + step * v) - composite(x - step * v)) / (2 * step), rtol=1e-7)


def test_a_curve_is_composed_by_the_formula_of_faa_di_bruno():
    x, first, second = 0.3, 0.9, -1.7
    _, (d1, d2) = jet(lax.sin, (x,), ([first, second],))
    np.testing.assert_allclose([d1, d2], [np.cos(x) * first, np.cos(x) * second - np.sin(x) * first**2])


def test_series_of_results_can_be_series_of_arguments():
    inner = jet(lax.sin, (0.3,), ([1.0, 0, 0],))
    outer = jet(lax.exp, inner[:1], inner[1:])
    np.testing.assert_allclose(outer[1], taylor(lambda x: lax.exp(lax.sin(x)), 0.3, 3)[1:], rtol=1e-14)


def test_pytrees_go_in_and_come_out_with_lists_at_their_leaves(spaced):
    w, b = spaced((3,)), 0.5
    primals = ({"w": w, "b": [b, (2,)]},)
    series = ({"w": [w, w], "b": [[1.0, 0], ([np.zeros((), float0)] * 2,)]},)
    out, out_series = jet(lambda p: {"y": p["w"] * p["b"][0], "rest": (p["b"][1][0],)}, primals, series)
    np.testing.assert_array_equal(out["y"], w * b)
    np.testing.assert_allclose(out_series["y"], [w * b + w, w * b + 2 * w])
    assert out["rest"] == (2,)
    assert [d.dtype for d in out_series["rest"][0]] == [float0, float0]


def test_integers_take_0_as_their_derivatives():
    out, series = jet(lambda x, n: x * n, (2.0, 3), ([1.0, 0], [0, 0]))
    assert (float(out), [float(d) for d in series]) == (6.0, [3.0, 0.0])


def test_types_are_those_of_the_function():
    x = np.ones((2, 3), np.float32)
    out, series = jet(lambda x: (lax.tanh(x).sum(axis=0), lax.argmax(x, 0)), (x,), ([x, x, 0],))
    assert [typeof(y).str_short() for y in out] == ["f32[3]", "i64[3]"]
    assert [[typeof(d).str_short() for d in s] for s in series] == [["f32[3]"] * 3, ["float0[3]"] * 3]


def test_a_result_that_does_not_depend_on_the_curve_has_derivatives_of_zeros():
    _, series = jet(lambda x: (x, np.ones(2)), (1.0,), ([1.0, 0],))
    np.testing.assert_array_equal(series[1], np.zeros((2, 2)))


def test_of_order_0_there_is_only_the_value():
    assert jet(lax.exp, (0.0,), ([],)) == (1.0, [])


def test_with_x64_off_everything_has_32_bits():
    with config.enable_x64(False):
        out, series = jet(composite, (0.5,), ([1.0, 0, 0],))
    assert [np.asarray(d).dtype for d in (out, *series)] == [np.float32] * 4


# Zeros


def test_coefficients_that_are_zero_cost_nothing():
    count = lambda f, *terms: len(make_jaxpr(lambda x: jet(f, (x,), (list(terms),))[1])(1.0).eqns)
    assert count(lambda x: x * 2.0, 1.0, 0, 0, 0) == count(lambda x: x * 2.0, 1.0) == 2
    assert count(lambda x: x * x, 1.0, 0, 0, 0) == count(lambda x: x * x, 1.0, 0, 0)
    assert count(lax.floor, 1.0, 0, 0, 0) == 1


def test_an_operation_of_constants_runs_once(spaced):
    jaxpr = make_jaxpr(lambda x, y: jet(lambda x: x * lax.exp(y), (x,), ([1.0, 1.0, 1.0],))[1])(1.0, 2.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("exp") == 1


# Cost


def num_eqns(f, x, order):
    return len(make_jaxpr(lambda x: taylor(f, x, order))(x).eqns)


def num_eqns_of_nested_series(f, x, order):
    for _ in range(order):
        f = slope(f)
    return len(make_jaxpr(f)(x).eqns)


def mlp(x):
    weights = np.random.default_rng(0).standard_normal((3, 4, 4)) / 2
    for w in weights:
        x = lax.tanh(w @ x)
    return x.sum()


@pytest.mark.parametrize(
    ("f", "x"),
    [(lambda x: lax.exp(lax.sin(x)), 0.5), (lambda x: lax.sin(lax.exp(x)), 0.5), (mlp, np.ones(4)), (composite, 0.5)],
    ids=["exp of sin", "sin of exp", "mlp", "composite"],
)
def test_the_number_of_operations_is_quadratic_in_the_order(f, x):
    at_2, at_4, at_8, at_16 = (num_eqns(f, x, order) for order in (2, 4, 8, 16))
    assert at_4 <= 4 * at_2
    assert at_8 <= 4 * at_4
    assert at_16 <= 4 * at_8
    nested = [num_eqns_of_nested_series(f, x, order) for order in (2, 4, 6)]
    assert nested[1] >= 4 * nested[0] * 0.8
    assert nested[2] >= 4 * nested[1] * 0.8
    assert num_eqns(f, x, 6) < nested[2]


def test_a_linear_layer_takes_one_product_for_each_coefficient():
    w = np.ones((4, 4))
    jaxpr = make_jaxpr(lambda x: jet(lambda x: w @ x, (x,), ([x] * 5,)))(np.ones(4))
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("dot_general") == 6


# Composition


def test_python_control_flow_sees_known_values():
    def f(x):
        return x * x * x if x > 0 else -x

    assert [float(d) for d in taylor(f, 2.0, 3)] == [8.0, 12.0, 12.0, 6.0]
    assert [float(d) for d in taylor(f, -2.0, 3)] == [2.0, -1.0, 0.0, 0.0]


def test_a_staged_jet_is_well_typed():
    jaxpr = make_jaxpr(lambda x, v: jet(composite, (x,), ([v, v, 0],)))(np.float32(0.5), np.float32(1.0))
    check_jaxpr(jaxpr)
    assert [a.str_short() for a in jaxpr.out_avals] == ["f32[]"] * 4


def test_jet_of_jet_keeps_the_two_curves_apart():
    f = lambda x, y: lax.exp(x * y) * lax.sin(x)
    inner = lambda y: jet(lambda x: f(x, y), (0.3,), ([1.0, 0],))[1][1]
    got = taylor(inner, 0.7, 2)[2]
    want = slope(slope(lambda y: slope(slope(lambda x: f(x, y)))(np.float64(0.3))))(np.float64(0.7))
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_captured_tracer_of_an_outer_jet_is_a_constant_of_the_inner_one():
    f = lambda x: jet(lambda y: y * x, (1.0,), ([1.0],))[1][0]
    assert [float(d) for d in taylor(f, 5.0, 2)] == [5.0, 1.0, 0.0]


def test_jet_in_scan():
    def step(x, _):
        return x + 0.1 * jet(lax.sin, (x,), ([1.0, 0],))[1][0], None

    jetted = taylor(lambda x: lax.scan(step, x, None, length=5)[0], 0.5, 3)

    def by_hand(x):
        for _ in range(5):
            x = x + 0.1 * lax.cos(x)
        return x

    np.testing.assert_allclose(jetted, derivatives(by_hand, np.float64(0.5), 3), rtol=1e-12)


def test_a_tracer_shows_its_series_and_does_not_escape():
    kept = []
    jet(lambda x: (kept.append(x), x * x)[1], (2.0,), ([1.0, 0],))
    assert type(kept[0]) is JetTracer
    assert type(kept[0]._trace) is JetTrace
    assert repr(kept[0]) == "JetTracer(primal=2.0, coefficients=[np.float64(1.0), None])"
    assert kept[0].inner_values == (2.0, 1.0)
    with pytest.raises(UnexpectedTracerError, match=r"jet of <lambda>.* has ended"):
        lax.sin(kept[0])


# Primitives without a rule


def cubed(name, **rules):
    primitive = Primitive(name)
    primitive.def_impl(lambda x: np.multiply(x, np.multiply(x, x)))
    primitive.def_abstract_eval(lambda x: x.strip_weak_type())
    for kind, rule in rules.items():
        primitive.def_rule(kind, rule)
    return primitive


def test_a_primitive_with_a_jvp_rule_is_expanded_by_it():
    primitive = cubed("cube_by_jvp")
    primitive.def_rule("jvp", lambda xs, x_dots: (primitive.bind(*xs), x_dots[0] * 3.0 * xs[0] * xs[0]))
    f = lambda x: primitive.bind(lax.sin(x)) * x
    np.testing.assert_allclose(taylor(f, 0.4, 5), taylor(lambda x: lax.sin(x) ** 3 * x, 0.4, 5), rtol=1e-12)


def test_a_jvp_rule_in_terms_of_the_primitive_itself_is_of_polynomial_cost():
    primitive = Primitive("exp_by_jvp")
    primitive.def_impl(np.exp)
    primitive.def_abstract_eval(lambda x: x.strip_weak_type())

    @primitive.def_rule("jvp")
    def exp_jvp(primals, tangents):
        out = primitive.bind(*primals)
        return out, tangents[0] * out

    np.testing.assert_allclose(taylor(primitive.bind, 0.4, 6), np.exp(0.4), rtol=1e-14)
    assert num_eqns(primitive.bind, 0.4, 12) < 12**3


def test_a_primitive_with_a_decomposition_is_expanded_by_it():
    primitive = cubed("cube_by_parts", decomposition=lambda x: x * x * x)
    assert [float(d) for d in taylor(primitive.bind, 2.0, 3)] == [8.0, 12.0, 12.0, 6.0]


def test_a_primitive_with_a_rule_of_its_own():
    def cube_jet(primals, series):
        (x,), ((x1, x2),) = primals, series
        assert x2 is None
        return x * x * x, [3.0 * x * x * x1, 3.0 * x * x1 * x1]

    primitive = cubed("cube_by_rule", jet=cube_jet)
    assert [float(d) for d in taylor(primitive.bind, 2.0, 2)] == [8.0, 12.0, 12.0]


def test_a_primitive_without_any_rule_is_refused_with_what_to_register():
    with pytest.raises(MissingRuleError, match="Taylor rule for 'bare_cube' not implemented") as caught:
        taylor(cubed("bare_cube").bind, 2.0, 2)
    assert "calque_jet reads this rule; register one with bare_cube_p.def_rule" in str(caught.value)


def test_a_rule_that_gives_an_infinity_says_so_under_debug_nans():
    with config.debug_infs(True), pytest.raises(FloatingPointError) as caught, np.errstate(all="ignore"):
        taylor(lax.sqrt, 0.0, 2)
    assert any("in the Taylor rule of 'sqrt', in jet of sqrt" in note for note in caught.value.__notes__)


# Functions with derivative rules of their own


def with_rules(f, **rules):
    """Return a function of one scalar that is `f` with rules on lists, as the author of a package would bind it."""
    jaxpr = stage(lambda x: [f(x)], [typeof(np.float64(0))])
    own = CustomRules("f", "f", [f], **rules)
    return lambda x: lax.custom_jvp_call_p.bind(x, jaxpr=jaxpr, rules=own)[0]


def test_a_function_is_expanded_by_its_jvp_rule():
    f = with_rules(lax.sin, jvp=lambda xs, x_dots: ([f(*xs)], [2.0 * x_dots[0] * f(*xs)]))
    g = lambda x: f(x * x)
    np.testing.assert_allclose(taylor(g, 0.6, 4), derivatives(g, np.float64(0.6), 4), rtol=1e-12)
    assert float(taylor(g, 0.6, 1)[1]) == pytest.approx(2 * 0.6 * 2.0 * np.sin(0.36))


def test_a_function_without_derivative_rules_is_its_program():
    assert [float(d) for d in taylor(with_rules(lambda x: x * x), 3.0, 2)] == [9.0, 6.0, 2.0]


def test_a_function_with_only_a_vjp_rule_is_refused():
    with pytest.raises(TypeError, match="this function has only a vjp rule"):
        taylor(with_rules(lax.sin, fwd=lambda xs, nonzeros: ([], [], None)), 0.5, 2)


def test_a_closed_over_series_in_a_function_with_rules_is_refused():
    def f(x):
        rules = CustomRules("inner", "inner", [lambda y: y * x], jvp=lambda xs, x_dots: (xs, x_dots))
        return current_trace().process_custom_derivative(lax.custom_jvp_call_p, lambda y: [y], [x], {"rules": rules})[0]

    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        taylor(f, 0.5, 2)


# What is refused


@pytest.mark.parametrize(
    ("primals", "series", "kind", "message"),
    [
        (1.0, ([1.0],), TypeError, r"jet of exp.* got ~float64\[\] as its primals. Give a tuple or a list"),
        ((1.0,), 2.0, TypeError, r"jet of exp.* got ~float64\[\] as its series. Give a tuple or a list"),
        ((1.0,), (1.0,), TypeError, r"the series at \[0\] is ~float64\[\]. Give a list of derivatives"),
        ((1.0,), ([1.0], [1.0]), TypeError, r"the series have the structure .*, but the primals have .*, with a list"),
        (
            ({"a": 1.0},),
            ([1.0],),
            TypeError,
            (
                r"Give the containers of the primals, with a list of derivatives in place of "
                r"each"
            ),
        ),
        (
            (1.0, {"b": 2.0}),
            ([1.0, 0], {"b": [1.0]}),
            ValueError,
            r"the series at \[0\] has 2 derivatives, but the series at \[1\]\['b'\] has 1. Give the same number",
        ),
        ((), (), ValueError, r"got primals without an array. Give at least one argument"),
        (("a",), ([1.0],), TypeError, r"is 'a' of type str, which is not an array"),
        ((1.0,), ([1.0, "b"],), TypeError, r"the series at \[0\]\[1\] is 'b' of type str, which is not an array"),
        (
            (np.ones(2),),
            ([np.ones(2), np.ones(3)],),
            TypeError,
            r"the leaf \[0\] of the derivatives of order 2 is float64\[3\], but float64\[2\] is needed",
        ),
        ((1,), ([1],), TypeError, r"the leaf \[0\] of the derivatives of order 1 is .*, which has no derivative"),
        (
            (np.float32(1),),
            ([np.float32(1)] + [0] * 39,),
            ValueError,
            r"40 derivatives need the factorial of 40, which float32 cannot hold. Use fewer derivatives, or",
        ),
    ],
)
def test_series_that_do_not_fit_are_refused(primals, series, kind, message):
    with pytest.raises(kind, match=message):
        jet(lax.exp, primals, series)


def test_what_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="jet got 3 of type int"):
        jet(3, (1.0,), ([1.0],))


def test_a_result_that_is_not_an_array_is_refused():
    with pytest.raises(TypeError, match="the function returned 'a' of type str, which is not an array"):
        jet(lambda x: "a", (1.0,), ([1.0],))


@pytest.mark.parametrize("use", [lambda x, leaked: x * leaked, lambda x, leaked: leaked], ids=["used", "returned"])
def test_a_foreign_tracer_is_refused(use):
    def leak(x):
        stage(lambda y: (kept.append(y), [y])[1], [typeof(1.0)])
        return use(x, kept[0])

    kept = []
    with pytest.raises(UnexpectedTracerError, match="escaped tracer"):
        taylor(leak, 1.0, 2)


def test_a_traceback_shows_the_users_frames_alone():
    with pytest.raises(ValueError, match="add") as caught:
        jet(lambda x: lax.add(x, np.ones(7)), (np.ones(3),), ([np.ones(3)],))
    assert {frame.path.name for frame in caught.traceback} == {"test_expansion.py"}


def test_a_factorial_that_an_argument_cannot_hold_is_refused_although_the_result_could():
    with pytest.raises(ValueError, match="40 derivatives need the factorial of 40, which float32 cannot hold"):
        jet(lambda x: lax.convert_element_type(x, np.float64), (np.float32(1),), ([np.float32(1)] + [0] * 39,))
