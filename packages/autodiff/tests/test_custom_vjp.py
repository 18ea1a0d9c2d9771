import numpy as np
import pytest

from calque_autodiff import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp,
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from calque_core import ShapeError, UnexpectedTracerError, check_jaxpr, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.lax import custom_vjp_linear_p


def steep_sine(**more):
    """Return sin, with the rule that its derivative, in reverse, is 2 cos x."""
    f = custom_vjp(lax.sin)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2.0 * lax.cos(x) * ct,), **more)
    return f


def both_ways():
    """Return sin, whose derivative is 2 cos x in reverse and 3 cos x forwards."""
    return steep_sine(jvp=lambda primals, tangents: (lax.sin(primals[0]), 3.0 * lax.cos(primals[0]) * tangents[0]))


def norm():
    """Return the Euclidean norm of two arrays together, with its right rules in both modes."""
    f = custom_vjp(lambda p: lax.sqrt(lax.reduce_sum(p["x"] ** 2, (0,)) + p["y"] ** 2))

    def fwd(p):
        out = f(p)
        return out, (p, out)

    def bwd(residuals, ct):
        p, out = residuals
        return ({"x": ct * p["x"] / out, "y": ct * p["y"] / out},)

    def forwards(primals, tangents):
        (p,), (p_dot,) = primals, tangents
        out = f(p)
        return out, (lax.reduce_sum(p["x"] * p_dot["x"], (0,)) + p["y"] * p_dot["y"]) / out

    f.defvjp(fwd, bwd, jvp=forwards)
    return f


# The rules are right: every law holds


def test_right_rules_obey_the_laws(laws, spaced):
    f = norm()
    laws(lambda x, y: f({"x": x, "y": y}), spaced((3,)), 0.7)


def test_right_rules_inside_programs_obey_the_laws(laws, called, spaced):
    f = norm()
    laws(called(lambda x, y: f({"x": lax.sin(x), "y": y}) * y), spaced((2,)), 0.7)
    laws(lambda y: lax.scan(lambda c, x: (f({"x": x, "y": c}), c), y, np.ones((3, 2))), 0.7)
    laws(lambda y: lax.cond(y > 0.0, lambda y: f({"x": np.ones(2), "y": y}), lax.sin, y), 0.7)


def test_the_derivative_of_fwd_serves_forward_mode(laws):
    f = custom_vjp(lambda x, y: lax.sin(x) * y)
    f.defvjp(
        lambda x, y: (lax.sin(x) * y, (x, y)),
        lambda r, ct: (ct * lax.cos(r[0]) * r[1], ct * lax.sin(r[0])),
        jvp="fwd",
    )
    laws(f, 0.3, 0.7)


def test_the_derivative_of_fwd_serves_forward_mode_with_symbolic_zeros_too():
    f = custom_vjp(lambda x, y: x * y)
    f.defvjp(
        lambda x, y: (x.value * y.value, (x.value, y.value)),
        lambda r, ct: (ct * r[1], ct * r[0]),
        symbolic_zeros=True,
        jvp="fwd",
    )
    assert jvp(f, (3.0, 5.0), (1.0, 1.0)) == (15.0, 8.0)


# The rule is the one used


def test_reverse_mode_is_by_the_rule():
    f = steep_sine()
    np.testing.assert_allclose(grad(f)(0.7), 2.0 * np.cos(0.7), 1e-14)
    np.testing.assert_allclose(vjp(f, 0.7)[1](3.0)[0], 6.0 * np.cos(0.7), 1e-14)
    assert value_and_grad(f)(0.7)[0] == np.sin(0.7)


def test_reverse_mode_is_by_the_rule_in_programs():
    f = steep_sine()
    jaxpr = make_jaxpr(grad(f))(0.7)
    check_jaxpr(jaxpr)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, 0.7)[0], 2.0 * np.cos(0.7), 1e-14)
    program = make_jaxpr(lambda x: f(x))(0.7)
    run = lambda x: eval_jaxpr(program, program.consts, x)[0]
    np.testing.assert_allclose(grad(run)(0.7), 2.0 * np.cos(0.7), 1e-14)


def test_higher_derivatives_in_reverse_differentiate_fwd_and_bwd():
    f = steep_sine()
    np.testing.assert_allclose(grad(grad(f))(0.7), -2.0 * np.sin(0.7), 1e-14)
    np.testing.assert_allclose(grad(grad(grad(f)))(0.7), -2.0 * np.cos(0.7), 1e-14)


def test_each_mode_has_its_own_rule():
    f = both_ways()
    np.testing.assert_allclose(grad(f)(0.7), 2.0 * np.cos(0.7), 1e-14)
    np.testing.assert_allclose(jvp(f, (0.7,), (1.0,))[1], 3.0 * np.cos(0.7), 1e-14)
    _, f_lin = linearize(f, 0.7)
    np.testing.assert_allclose(f_lin(1.0), 3.0 * np.cos(0.7), 1e-14)
    np.testing.assert_allclose(linear_transpose(f_lin, 0.7)(1.0)[0], 2.0 * np.cos(0.7), 1e-14)


def test_forwards_over_reverse_differentiates_the_rule_of_reverse_mode():
    slope = jvp(grad(both_ways()), (0.7,), (1.0,))[1]
    np.testing.assert_allclose(slope, -2.0 * np.sin(0.7), 1e-14)


def test_reverse_over_forwards_differentiates_the_rule_of_forward_mode():
    slope = grad(lambda x: jvp(both_ways(), (x,), (1.0,))[1])(0.7)
    np.testing.assert_allclose(slope, -3.0 * np.sin(0.7), 1e-14)


def test_bwd_is_run_once_for_each_cotangent_and_fwd_once_for_all():
    runs = []
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (runs.append("fwd") or x, None), lambda _, ct: (runs.append("bwd") or ct,))
    _, f_vjp = vjp(f, 1.0)
    assert (f_vjp(2.0), f_vjp(3.0)) == ((2.0,), (3.0,))
    assert runs == ["fwd", "bwd", "bwd"]


def test_fwd_may_look_at_values_where_they_are_known():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, "right" if x > 0.0 else "left"), lambda side, ct: (ct * {"right": 5.0, "left": 6.0}[side],))
    assert (grad(f)(1.0), grad(f)(-1.0)) == (5.0, 6.0)


def test_residuals_are_any_pytree_of_arrays_and_other_things():
    f = custom_vjp(lambda x: x * x)
    f.defvjp(
        lambda x: (x * x, {"x": (x, None), "how": "twice", "f": np.multiply}),
        lambda r, ct: (r["f"](ct, r["x"][0]) * {"twice": 2.0}[r["how"]],),
    )
    assert grad(f)(3.0) == 6.0
    jaxpr = make_jaxpr(grad(f))(3.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0) == [6.0]


def test_what_is_left_of_the_rule_is_one_equation_of_the_linear_program():
    _, f_lin = linearize(steep_sine(), 0.7)
    (eqn,) = f_lin.program.jaxpr.eqns
    assert eqn.primitive is custom_vjp_linear_p


# Static arguments


def test_fwd_takes_static_arguments_in_their_places_and_bwd_in_front():
    f = custom_vjp(lambda x, n, y, mode: x**n * y, static_argnums=(1, 3))
    seen = []

    def fwd(x, n, y, mode):
        return f(x, n, y, mode), (x, y)

    def bwd(n, mode, residuals, ct):
        seen.append((n, mode))
        x, y = residuals
        return ct * n * x ** (n - 1) * y, ct * x**n

    f.defvjp(fwd, bwd)
    assert grad(lambda x, y: f(x, 3, y, "cube"), (0, 1))(2.0, 5.0) == (60.0, 8.0)
    assert seen == [(3, "cube")]


# Zeros


def test_none_is_a_cotangent_of_zero_for_an_argument_or_a_part_of_one():
    f = custom_vjp(lambda p, y: p["a"] * p["b"][0] * y)
    f.defvjp(lambda p, y: (f(p, y), p), lambda p, ct: ({"a": ct * p["a"], "b": None}, None))
    p_bar, y_bar = grad(f, (0, 1))({"a": 2.0, "b": [3.0, np.ones(2)]}, 5.0)
    assert (p_bar["a"], p_bar["b"][0], p_bar["b"][1].tolist(), y_bar) == (2.0, 0.0, [0.0, 0.0], 0.0)


def test_whole_numbers_take_none_or_float0():
    for n_bar in (None, np.zeros((), float0), SymbolicZero(make_jaxpr(lax.sin)(1.0).out_avals[0])):
        f = custom_vjp(lambda x, n: x * n)
        f.defvjp(lambda x, n: (x * n, n), lambda n, ct, n_bar=n_bar: (ct * n, n_bar))
        assert grad(f)(3.0, 2) == 2.0
        assert grad(f, (0, 1), allow_int=True)(3.0, 2)[1].dtype == float0


def test_fwd_learns_what_is_perturbed_and_bwd_what_is_zero_if_they_ask():
    seen = []
    f = custom_vjp(lambda x, y: (x * y, x))

    def fwd(x, y):
        seen.extend([x, y])
        return (x.value * y.value, x.value), y.value

    def bwd(y, cts):
        seen.extend(map(type, cts))
        return cts[0] * y, None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert grad(lambda x: f(x, 2.0)[0])(3.0) == 2.0
    assert seen[:2] == [CustomVJPPrimal(3.0, perturbed=True), CustomVJPPrimal(2.0, perturbed=False)]
    assert seen[2:] == [np.float64, SymbolicZero]


def test_cotangents_that_are_zero_are_arrays_of_zeros_otherwise():
    seen = []
    f = custom_vjp(lambda x: (x, x * np.ones(2), 1))
    f.defvjp(lambda x: (f(x), None), lambda _, cts: (seen.extend(cts) or cts[0],))
    grad(lambda x: f(x)[0])(3.0)
    assert (seen[0], seen[1].tolist(), seen[2].dtype) == (1.0, [0.0, 0.0], float0)


# Errors


def tree_function(p):
    return p["w"] * p["b"]


def with_rules(fwd=None, bwd=None, fun=tree_function):
    f = custom_vjp(fun)
    f.defvjp(fwd or (lambda *args: (fun(*args), None)), bwd or (lambda residuals, ct: (None,)))
    return f


PARAMS = {"w": np.float64(1.0), "b": np.float64(2.0)}  # which, unlike Python scalars, have a dtype
BWD = r"the bwd rule <lambda> \(test_custom_vjp\.py:\d+\) of tree_function \(test_custom_vjp\.py:\d+\) returned"
NUMBER = r", but it needs a tuple of 1 cotangent, one for each argument that is not static\. Return None for a"
ABOUT_BWD = {
    "bare": (lambda r, ct: ct, BWD + r" float64\[\]" + NUMBER),
    "nothing": (lambda r, ct: None, BWD + r" None" + NUMBER),
    "too many": (lambda r, ct: (ct, ct), BWD + r" a tuple of length 2" + NUMBER),
    "another structure": (
        lambda r, ct: ((ct, ct),),
        (
            BWD + r", for argument 0, a cotangent of the structure PyTreeDef\(\(\*, \*\)\), but the argument has the "
            r"structure PyTreeDef\(\{'b': \*, 'w': \*\}\)\. Return one cotangent for each leaf; None stands for zero\."
        ),
    ),
    "a part of the structure": (lambda r, ct: ({"w": ct},), BWD + r", for argument 0, a cotangent of the structure"),
    "one for several": (lambda r, ct: (ct,), BWD + r", for argument 0, a cotangent of the structure PyTreeDef\(\*\)"),
    "another shape": (
        lambda r, ct: ({"w": ct, "b": np.ones(3)},),
        BWD + r" a cotangent of float64\[3\] for p\['b'\], which is float64\[\]\. Return float64\[\]\.",
    ),
    "another dtype": (
        lambda r, ct: ({"w": np.float32(1), "b": None},),
        BWD + r" a cotangent of float32\[\] for p\['w'\], which is float64\[\]\. Return float64\[\]\.",
    ),
    "no array": (
        lambda r, ct: ({"w": ct, "b": "one"},),
        BWD + r" a cotangent of a value of type str for p\['b'\]",
    ),
    "a generator": (lambda r, ct: (x for x in (ct,)), r"the bwd rule of <lambda> .*: a generator or coroutine runs"),
}


@pytest.mark.parametrize(("bwd", "message"), ABOUT_BWD.values(), ids=ABOUT_BWD)
def test_a_wrong_bwd_is_refused_with_its_name_and_that_of_the_argument(bwd, message):
    with pytest.raises(TypeError, match=message):
        grad(with_rules(bwd=bwd))(PARAMS)
    with pytest.raises(TypeError, match=message):
        make_jaxpr(grad(with_rules(bwd=bwd)))(PARAMS)


def test_a_cotangent_of_a_whole_number_is_refused_with_the_way_to_say_nothing():
    f = with_rules(bwd=lambda r, ct: (ct, 1.0), fun=lambda x, n: x * n)
    with pytest.raises(
        TypeError, match=r"cotangent of ~float64\[\] for n, which is int64\[\]\. Return None, because it has no deriv"
    ):
        grad(f)(1.0, 2)


FWD = r"the fwd rule <lambda> \(test_custom_vjp\.py:\d+\) of tree_function .* returned "
ABOUT_FWD = {
    "no pair": (lambda p: p["w"], FWD + r"~float64\[\]\. Return a pair: the output, and the residuals for bwd\."),
    "three": (lambda p: (1.0, 2.0, 3.0), FWD + r"a tuple of length 3\. Return a pair"),
    "a generator": (lambda p: (x for x in p), r"the fwd rule of <lambda> .*: a generator or coroutine runs after"),
    "no array": (lambda p: ("one", p), r"the rule <lambda> .* of tree_function .*: output is 'one' of type str"),
}


@pytest.mark.parametrize(("fwd", "message"), ABOUT_FWD.values(), ids=ABOUT_FWD)
def test_a_wrong_fwd_is_refused_with_its_name(fwd, message):
    with pytest.raises(TypeError, match=message):
        grad(with_rules(fwd=fwd))({"w": 1.0, "b": 2.0})


def test_function_and_fwd_must_agree_where_both_are_run():
    program = make_jaxpr(lambda p: with_rules(fwd=lambda p: ((1.0, 2.0), None))(p))({"w": 1.0, "b": 2.0})
    with pytest.raises(
        TypeError, match=r"the rule <lambda> .* of tree_function .* returned PyTreeDef\(\(\*, \*\)\), but"
    ):
        grad(lambda x: eval_jaxpr(program, program.consts, x, x)[0])(1.0)


def generator(x):
    yield x


ABOUT_DEFINITIONS = {
    "fwd": (
        lambda f: f.defvjp(3, max),
        TypeError,
        r"defvjp got 3 of type int at test_custom_vjp\.py:\d+ .* Give a func",
    ),
    "bwd": (lambda f: f.defvjp(max, None), TypeError, r"defvjp got None of type NoneType at .* Give a function\."),
    "jvp": (lambda f: f.defvjp(max, max, jvp=3), TypeError, r"defvjp got 3 of type int"),
    "a word": (
        lambda f: f.defvjp(max, max, jvp="forward"),
        ValueError,
        r"defvjp got jvp='forward'\. Give a rule, or \"fwd\" to differentiate fwd\.",
    ),
    "a generator": (lambda f: f.defvjp(generator, max), TypeError, r"defvjp of generator .* instead of yielding them"),
}


@pytest.mark.parametrize(("define", "error", "message"), ABOUT_DEFINITIONS.values(), ids=ABOUT_DEFINITIONS)
def test_what_is_no_rule_is_refused_at_once(define, error, message):
    with pytest.raises(error, match=message):
        define(custom_vjp(lax.sin))


def run(jaxpr, *args):
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


FORWARDS = {
    "jvp": lambda f: jvp(f, (1.0,), (1.0,)),
    "the use of linearize": lambda f: linearize(f, 1.0)[1](1.0),
    "forwards over reverse": lambda f: jvp(grad(lambda x: f(f(x))), (1.0,), (1.0,)),
    "a program": lambda f: run(make_jaxpr(lambda x: jvp(f, (x,), (1.0,)))(1.0), 1.0),
    "a scan": lambda f: jvp(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0], (1.0,), (1.0,)),
    "a branch": lambda f: jvp(lambda x: lax.cond(x > 0.0, f, lax.sin, x), (1.0,), (1.0,)),
}


ONLY_BACKWARDS = (
    r"can't apply forward-mode autodiff \(jvp\) to sin .*at \w+\.py:\d+ .*: this function has only a "
    r"vjp rule\. Give it a jvp rule too, defvjp\(fwd, bwd, jvp=rule\), or let its fwd be differentiated, "
    r'defvjp\(fwd, bwd, jvp="fwd"\); or use reverse mode\.'
)


@pytest.mark.parametrize("forwards", FORWARDS.values(), ids=FORWARDS)
def test_forward_mode_without_a_rule_for_it_says_how_to_give_one(forwards):
    with pytest.raises(TypeError, match=ONLY_BACKWARDS):
        forwards(steep_sine())


def test_forward_mode_of_a_call_says_so_too(called):
    for f in (called(steep_sine()), called(called(steep_sine()))):
        with pytest.raises(TypeError, match=ONLY_BACKWARDS):
            jvp(f, (1.0,), (1.0,))


def test_linearize_itself_asks_for_nothing_forwards():
    out, f_lin = linearize(steep_sine(), 0.7)
    assert out == np.sin(0.7)
    np.testing.assert_allclose(linear_transpose(f_lin, 0.7)(1.0)[0], 2.0 * np.cos(0.7), 1e-14)


def test_a_residual_that_hides_a_traced_value_is_named(called):
    f = custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, lambda ct: 2.0 * ct * x), lambda backward, ct: (backward(ct),))
    assert grad(f)(3.0) == 6.0
    with pytest.raises(UnexpectedTracerError, match=r"an escaped tracer .* has ended") as caught:
        grad(called(f))(3.0)
    note = str(caught.value).splitlines()[-1]
    assert note.startswith("The residuals of <lambda> (test_custom_vjp.py:")
    assert note.endswith("may close over traced values. Return these values themselves from fwd.")


def test_an_error_inside_a_rule_is_the_users_own():
    def bwd(residuals, ct):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        grad(with_rules(bwd=bwd))({"w": 1.0, "b": 2.0})


@pytest.mark.parametrize("size", [3, 2_000])
def test_an_array_that_a_rule_keeps_is_no_result(size):
    kept = np.full(size, 0.25)
    f = custom_vjp(lambda x: 1.5 * x)
    f.defvjp(lambda x: (kept, None), lambda _, ct: (kept,))
    for _ in range(5):
        y, pullback = vjp(f, np.ones(size))
        (gradient,) = pullback(np.ones(size))
        for result in (y, gradient):
            np.testing.assert_array_equal(result, np.full(size, 0.25))
            result *= 100.0
    np.testing.assert_array_equal(kept, np.full(size, 0.25))


@pytest.mark.parametrize("size", [3, 20_000])
def test_a_backward_rule_cannot_write_to_what_the_rest_of_the_derivative_uses(size):
    x, ct = np.ones(size), np.ones(size)

    @custom_vjp
    def f(x):
        return x * 2.0

    def in_place(residual, g):
        g *= 2.0
        return (g,)

    f.defvjp(lambda x: (x * 2.0, x), in_place)
    pull = vjp(lambda x: f(x) + x, x)[1]
    with pytest.raises(ValueError, match="read-only") as error:
        pull(ct)
    assert "The backward rule of f (test_custom_vjp.py" in str(error.value)
    assert "Make a new array" in str(error.value)

    f.defvjp(lambda x: (x * 2.0, x * 3.0), lambda residual, g: (np.multiply(residual, 0.0, out=residual),))
    with pytest.raises(ValueError, match="read-only"):
        vjp(f, x)[1](ct)


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize(
    "bwd", [lambda r, g: (g,), lambda r, g: (g[::-1],), lambda r, g: (r,), lambda r, g: (r.reshape(-1),)]
)
def test_a_gradient_that_a_backward_rule_passes_on_is_the_callers_own(size, bwd):
    @custom_vjp
    def f(x):
        return x * 1.0

    f.defvjp(lambda x: (x * 1.0, x * 1.0), bwd)
    gradient = grad(lambda x: np.sum(f(x) + x))(np.ones(size))
    gradient *= 0.5
    assert gradient[0] == 1.0
    ct = np.ones(size)
    pull = vjp(f, np.ones(size))[1]
    (bar,) = pull(ct)
    bar[:] = 7.0
    assert ct[0] == pull(ct)[0][0] == 1.0


def test_a_cotangent_of_another_shape_is_a_shape_error():
    f = custom_vjp(lambda x: lax.reduce_sum(x, (0,)))
    f.defvjp(lambda x: (lax.reduce_sum(x, (0,)), None), lambda _, bar: (bar,))
    with pytest.raises(ShapeError, match=r"returned a cotangent of float64\[\] for x, which is float64\[3\]"):
        grad(f)(np.ones(3))
