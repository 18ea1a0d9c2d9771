import numpy as np
import pytest

from calque_autodiff import SymbolicZero, custom_jvp, grad, jvp, linear_transpose, linearize, vjp
from calque_core import MissingRuleError, ShapeError, check_jaxpr, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.config import enable_checks


def steep_sine():
    """Return sin, with the rule that its derivative is 2 cos x."""
    f = custom_jvp(lax.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), 2.0 * lax.cos(primals[0]) * tangents[0]))
    return f


def stable_log1pexp():
    f = custom_jvp(lambda x: lax.log1p(lax.exp(x)))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), lax.logistic(x) * x_dot

    return f


def polar():
    """Return a function of and to pytrees, with its right rule."""

    @custom_jvp
    def f(p):
        return {"x": p["r"] * lax.cos(p["t"]), "y": [p["r"] * lax.sin(p["t"])]}

    @f.defjvp
    def rule(primals, tangents):
        (p,), (p_dot,) = primals, tangents
        out = f(p)
        x, (y,) = out["x"], out["y"]
        x_dot = p_dot["r"] * x / p["r"] - y * p_dot["t"]
        return out, {"x": x_dot, "y": [p_dot["r"] * y / p["r"] + x * p_dot["t"]]}

    return f


# The rule is right: every law holds


def test_a_right_rule_obeys_the_laws(laws, spaced):
    laws(stable_log1pexp(), spaced((3,)))


def test_a_right_rule_of_pytrees_obeys_the_laws(laws):
    f = polar()
    laws(lambda r, t: f({"r": r, "t": t}), 1.5, 0.7)


def test_a_right_rule_inside_programs_obeys_the_laws(laws, called):
    f = stable_log1pexp()
    laws(called(lambda x: f(x) * lax.sin(x)), 0.7)
    laws(lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3), 0.7)
    laws(lambda x: lax.cond(x > 0.0, f, lax.sin, x), 0.7)


def test_a_function_with_a_rule_inside_one_obeys_the_laws(laws):
    inner = stable_log1pexp()
    outer = custom_jvp(lambda x, y: inner(x) * y)

    @outer.defjvp
    def rule(primals, tangents):
        return jvp(lambda x, y: inner(x) * y, primals, tangents)

    laws(outer, 0.3, 0.7)


# The rule is the one used


DERIVATIVES = {
    "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1],
    "grad": lambda f, x: grad(f)(x),
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f, x: linearize(f, x)[1](1.0),
    "the transpose of linearize": lambda f, x: linear_transpose(linearize(f, x)[1], x)(1.0)[0],
}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_every_derivative_is_by_the_rule(derivative):
    np.testing.assert_allclose(derivative(steep_sine(), 0.7), 2.0 * np.cos(0.7), 1e-14)
    jaxpr = make_jaxpr(lambda x: derivative(steep_sine(), x))(0.7)
    check_jaxpr(jaxpr)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, 0.7)[0], 2.0 * np.cos(0.7), 1e-14)


def test_the_rule_of_a_recorded_call_is_used_when_the_program_is_differentiated():
    f = steep_sine()
    program = make_jaxpr(lambda x: f(x))(0.7)
    run = lambda x: eval_jaxpr(program, program.consts, x)[0]
    np.testing.assert_allclose(grad(run)(0.7), 2.0 * np.cos(0.7), 1e-14)
    np.testing.assert_allclose(grad(grad(run))(0.7), -2.0 * np.sin(0.7), 1e-14)


def test_higher_derivatives_differentiate_the_rule():
    f = steep_sine()
    np.testing.assert_allclose(grad(grad(f))(0.7), -2.0 * np.sin(0.7), 1e-14)
    np.testing.assert_allclose(grad(grad(grad(f)))(0.7), -2.0 * np.cos(0.7), 1e-14)


def test_a_rule_may_look_at_values_where_they_are_known():
    f = custom_jvp(lambda x: 2.0 * x if x > 0.0 else x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * (5.0 if primals[0] > 0.0 else 6.0)))
    assert (grad(f)(1.0), grad(f)(-1.0)) == (5.0, 6.0)


def test_the_later_rule_replaces_the_earlier_one():
    f = steep_sine()
    f.defjvp(lambda primals, tangents: (f(*primals), 7.0 * tangents[0]))
    assert grad(f)(0.7) == 7.0


def test_defjvp_gives_the_rule_back():
    rule = lambda primals, tangents: (primals[0], tangents[0])
    assert custom_jvp(lax.sin).defjvp(rule) is rule


# Zeros


def seen_by_rule(symbolic_zeros):
    seen = []
    f = custom_jvp(lambda x, y, n: x * y * n)

    def rule(primals, tangents):
        seen.extend(tangents)
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(rule, symbolic_zeros=symbolic_zeros)
    assert grad(lambda x: f(x, 3.0, 2))(5.0) == 3.0
    return seen


def test_tangents_that_are_zero_are_arrays_of_zeros():
    _, y_dot, n_dot = seen_by_rule(symbolic_zeros=False)
    assert (y_dot, type(y_dot)) == (0.0, np.float64)
    assert n_dot.dtype == float0


def test_tangents_that_are_zero_are_symbolic_if_the_rule_asks_for_them():
    _, y_dot, n_dot = seen_by_rule(symbolic_zeros=True)
    assert (type(y_dot), y_dot.aval.str_short()) == (SymbolicZero, "f64[]")
    assert (type(n_dot), n_dot.aval.dtype) == (SymbolicZero, float0)


def test_a_rule_may_give_symbolic_zeros():
    f = custom_jvp(lambda x: (x, 2.0 * x))
    f.defjvp(lambda p, t: (f(*p), (t[0], SymbolicZero(make_jaxpr(lax.sin)(1.0).out_avals[0]))))
    assert jvp(f, (1.0,), (3.0,))[1] == (3.0, 0.0)


def test_whole_numbers_have_float0_tangents_in_and_out():
    f = custom_jvp(lambda x, n: (x**n, n + 1))

    @f.defjvp
    def rule(primals, tangents):
        (x, n), (x_dot, n_dot) = primals, tangents
        assert n_dot.dtype == float0
        return f(x, n), (5.0 * x_dot, n_dot)

    out, out_dot = jvp(lambda x: f(x, 2), (3.0,), (1.0,))
    assert (out, out_dot[0], out_dot[1].dtype) == ((9.0, 3), 5.0, float0)


# A rule for each argument


def test_rules_for_each_argument_are_added_up(laws):
    f = custom_jvp(lambda x, y: x * lax.sin(y))
    f.defjvps(lambda t, out, x, y: t * lax.sin(y), lambda t, out, x, y: t * x * lax.cos(y))
    laws(f, 0.3, 0.7)


def test_none_among_rules_is_zero_and_rules_of_unperturbed_arguments_do_not_run():
    runs = []
    f = custom_jvp(lambda x, y, z: x * y * z)
    f.defjvps(lambda t, out, x, y, z: t * 2.0, None, lambda t, out, x, y, z: runs.append(t))
    assert grad(f, argnums=(0, 1))(3.0, 5.0, 7.0) == (2.0, 0.0)
    assert runs == []


# Errors


def pair(x):
    return {"a": x * x, "b": x}


def with_rule(rule, fun=pair):
    f = custom_jvp(fun)
    f.defjvp(rule)
    return f


ONE = np.float64(1.0)  # which, unlike a Python scalar, has a dtype
RULE = r"the jvp rule <lambda> \(test_custom_jvp\.py:\d+\) of pair \(test_custom_jvp\.py:\d+\) "
ABOUT_RULES = {
    "no pair": (lambda p, t: p[0], RULE + r"returned float64\[\]\. Return a pair: the output, and its tangent\."),
    "three": (lambda p, t: (1, 2, 3), RULE + r"returned a tuple of length 3\. Return a pair"),
    "another structure": (
        lambda p, t: (pair(*p), {"a": t[0]}),
        (
            RULE + r"returned a tangent of the structure PyTreeDef\(\{'a': \*\}\) for an output of the structure "
            r"PyTreeDef\(\{'a': \*, 'b': \*\}\)\. Return one tangent for each output\."
        ),
    ),
    "another shape": (
        lambda p, t: (pair(*p), {"a": t[0], "b": np.ones(3)}),
        RULE + r"returned a tangent of float64\[3\] for the output\['b'\], which is float64\[\]\. Return float64\[\]\.",
    ),
    "another dtype": (
        lambda p, t: (pair(*p), {"a": t[0], "b": np.float32(1)}),
        RULE + r"returned a tangent of float32\[\] for the output\['b'\], which is float64\[\]\. Return float64\[\]\.",
    ),
    "no array": (
        lambda p, t: (pair(*p), {"a": t[0], "b": "one"}),
        RULE + r"returned a tangent of a value of type str for the output\['b'\]",
    ),
    "a generator": (lambda p, t: (x for x in p), r"the jvp rule of <lambda> .*: a generator or coroutine runs after"),
}


@pytest.mark.parametrize(("rule", "message"), ABOUT_RULES.values(), ids=ABOUT_RULES)
def test_a_wrong_rule_is_refused_with_its_name_and_that_of_the_output(rule, message):
    with pytest.raises(TypeError, match=message):
        jvp(with_rule(rule), (ONE,), (ONE,))
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda x: linearize(with_rule(rule), x)[0])(ONE)


def test_a_float_tangent_of_a_whole_number_is_refused():
    f = with_rule(lambda p, t: (1, t[0]), fun=lambda x: 1)
    with pytest.raises(TypeError, match=r"for the output, which is int64\[\]\. Return zeros of dtype float0\."):
        jvp(f, (1.0,), (1.0,))


def generator(primals, tangents):
    yield primals


ABOUT_DEFINITIONS = {
    "no function": (lambda f: f.defjvp(3), r"defjvp got 3 of type int at test_custom_jvp\.py:\d+ .* Give a function\."),
    "a generator": (lambda f: f.defjvp(generator), r"defjvp of generator \(test_custom_jvp.* instead of yielding them"),
    "no function of one argument": (lambda f: f.defjvps(3), r"defjvps got 3 of type int at .* Give a function\."),
}


@pytest.mark.parametrize(("define", "message"), ABOUT_DEFINITIONS.values(), ids=ABOUT_DEFINITIONS)
def test_what_is_no_rule_is_refused_at_once(define, message):
    with pytest.raises(TypeError, match=message):
        define(custom_jvp(lax.sin))


def test_a_rule_for_each_argument_needs_as_many_as_there_are():
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: t)
    with pytest.raises(
        TypeError, match=r"defjvps of custom_jvp of <lambda> .* got 1 rules for 2 arguments\. Give one rule"
    ):
        grad(f)(1.0, 2.0)


def test_rules_for_each_argument_do_not_go_with_static_arguments():
    f = custom_jvp(lambda x, n: x, static_argnums=1)
    with pytest.raises(
        TypeError,
        match=(
            r"defjvps of custom_jvp of <lambda> .* does not support static arguments\. Use "
            r"defjvp\."
        ),
    ):
        f.defjvps(None)


def test_an_error_inside_a_rule_is_the_users_own():
    def rule(primals, tangents):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        grad(with_rule(rule, fun=lax.sin))(1.0)


@pytest.mark.parametrize("staged", [False, True])
def test_an_error_in_a_rule_names_the_line_of_the_rule(staged):
    f = custom_jvp(lambda x: x)

    def rule(primals, tangents):
        return f(*primals), lax.add(np.ones(3), np.ones(2))

    f.defjvp(rule)
    call = grad(lambda x: f(x))
    line = rule.__code__.co_firstlineno + 1
    with pytest.raises(ShapeError, match=rf"at test_custom_jvp\.py:{line} \(.*rule\)"):
        make_jaxpr(call)(1.0) if staged else call(1.0)


def test_an_array_that_a_rule_keeps_is_no_result():
    kept = np.full(3, 0.25)
    f = custom_jvp(lambda x: 1.5 * x)
    f.defjvp(lambda primals, tangents: (kept, kept))
    for _ in range(5):
        for result in jvp(f, (np.ones(3),), (np.ones(3),)):
            np.testing.assert_array_equal(result, np.full(3, 0.25))
            result *= 100.0
    np.testing.assert_array_equal(kept, np.full(3, 0.25))


RULES_NOT_LINEAR = {
    "sin": lambda primals, tangents: (lax.sin(primals[0]), lax.sin(tangents[0])),
    "mul": lambda primals, tangents: (lax.sin(primals[0]), tangents[0] * tangents[0]),
}


@pytest.mark.parametrize("name", RULES_NOT_LINEAR)
@pytest.mark.parametrize("use", [lambda f: grad(f)(1.0), lambda f: vjp(f, 1.0)[1](1.0), lambda f: grad(grad(f))(1.0)])
def test_a_rule_that_is_not_linear_in_its_tangents_is_blamed_by_its_line(name, use):
    f = custom_jvp(lax.sin)
    f.defjvp(RULES_NOT_LINEAR[name])
    words = (
        rf"a derivative rule is not linear in its tangents, because of '{name}' at test_custom_jvp.py:\d+ .*: (?!a d)"
    )
    with pytest.raises(MissingRuleError, match=words) as caught:
        use(f)
    assert "Write the rule with operations that are linear in the tangents." in str(caught.value)
    assert "deftranspose" not in str(caught.value)


AFFINE_RULES = {
    "add": lambda x, x_dot: x_dot * 2.0 + 1.0,
    "sub": lambda x, x_dot: x - x_dot,
}
USES = {
    "grad": lambda f: grad(f)(0.5),
    "second": lambda f: grad(lambda x: grad(lambda y: f(y) * y)(x))(0.5),
    "staged": lambda f: make_jaxpr(grad(f))(0.5),
    "in a loop": lambda f: grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])(0.5),
}
TRACED = {("sub", "second"), ("sub", "staged"), ("sub", "in a loop")}  # the number is no known one


@pytest.mark.parametrize(("name", "use"), [(n, u) for n in AFFINE_RULES for u in USES if (n, u) not in TRACED])
def test_a_rule_that_adds_a_number_to_a_tangent_is_refused(name, use):
    f = custom_jvp(lax.sin)
    f.defjvp(lambda primals, tangents: (lax.sin(*primals), AFFINE_RULES[name](*primals, *tangents)))
    words = (
        rf"not linear in its tangents, because of '{name}' at test_custom_jvp\.py:\d+ .*: it adds a value that is not "
        r"zero and depends on no tangent\. Write the rule with"
    )
    with pytest.raises(MissingRuleError, match=words):
        USES[use](f)


@pytest.mark.parametrize("differentiate", [linearize, vjp])
def test_a_rule_whose_tangent_depends_on_no_tangent_is_refused(differentiate):
    f = custom_jvp(lax.sin)
    f.defjvp(lambda primals, tangents: (lax.sin(*primals), lax.cos(*primals)))
    words = (
        r"(linearize|vjp) of <lambda> \(test_custom_jvp\.py:\d+\): a derivative rule gave, for an output of type "
        r"float64\[3\], a tangent that depends on no tangent of its operands\. Return a linear function of them,"
    )
    with pytest.raises(TypeError, match=words):
        differentiate(lambda x: f(x), np.ones(3))


def test_a_tangent_that_depends_on_no_tangent_is_refused_in_a_sum_and_taken_where_nothing_needs_it():
    f = custom_jvp(lambda x: (lax.sin(x), x))
    f.defjvp(lambda primals, tangents: (f(*primals), (2.0 * tangents[0], 1.0)))
    assert grad(lambda x: f(x)[0])(0.5) == 2.0
    with pytest.raises(MissingRuleError, match=r"because of 'add(_any)?' at test_custom_jvp\.py.*: it adds a value"):
        grad(lambda x: f(x)[0] + f(x)[1])(0.5)


def test_zeros_beside_tangents_are_taken():
    f = custom_jvp(lambda x, y: lax.mul(x, y))
    f.defjvp(lambda primals, dots: (lax.mul(*primals), dots[0] * primals[1] + primals[0] * dots[1]))
    for y in (np.float64(3), np.float64(np.inf)):
        assert grad(lambda x, y=y: f(x, y))(2.0) == y
    f.defjvp(lambda primals, dots: (lax.mul(*primals), np.zeros(())))
    assert grad(f)(2.0, 3.0) == 0.0


def test_checks_find_a_number_joined_to_a_tangent():
    f = custom_jvp(lax.sin)
    f.defjvp(lambda p, t: (lax.sin(*p), lax.concatenate([lax.reshape(t[0], (1,)), np.ones(1)], 0).sum()))
    with enable_checks(), pytest.raises(MissingRuleError, match=r"because of 'concatenate' at .*: it adds a value"):
        grad(f)(0.5)
