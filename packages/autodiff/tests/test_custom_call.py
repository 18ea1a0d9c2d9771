"""What functions with rules of their own have in common: arguments, static ones, results, and whose fault it is."""

import copy
import functools
import pickle
import traceback

import numpy as np
import pytest

from calque_autodiff import custom_jvp, custom_rules, custom_vjp, grad, jvp, stop_gradient
from calque_autodiff.custom.custom_jvp import checked_tangent
from calque_core import (
    ShapedArray,
    UnexpectedTracerError,
    Zero,
    eval_jaxpr,
    float0,
    full_traceback,
    lax,
    make_jaxpr,
    typeof,
)

F64 = ShapedArray((), "float64")
I64 = ShapedArray((), "int64")


def tripled(fun, **statics):
    """Return `fun` with the rule that its derivative is 3, whatever it computes: so the rule is known by its mark."""
    f = custom_jvp(fun, **statics)

    @f.defjvp
    def rule(*given):
        *static, primals, tangents = given
        merged = f.signature.merged(static, primals)
        return fun(*merged), 3.0 * tangents[0]

    return f


def power(x, n=2):
    return x**n


# Calls


def test_evaluation_calls_the_function_itself():
    f = custom_jvp(lambda x: ("no array", x))
    assert f(1.0) == ("no array", 1.0)


def test_the_function_keeps_its_name_and_its_docstring():
    assert tripled(power).__name__ == "power"
    assert custom_vjp(grad).__doc__ == grad.__doc__
    assert repr(tripled(power)).startswith("<custom_jvp of power (test_custom_call.py:")


@pytest.mark.parametrize(
    ("call", "n"),
    [
        (lambda f, x: f(x, 3), 3),
        (lambda f, x: f(x), 2),
        (lambda f, x: f(x=x), 2),
        (lambda f, x: f(n=3, x=x), 3),
        (lambda f, x: f(x, n=3), 3),
    ],
)
def test_rules_take_arguments_by_position_however_they_are_passed(call, n):
    seen = []
    f = custom_jvp(power, static_argnums=1)

    @f.defjvp
    def rule(given, primals, tangents):
        seen.append((given, len(primals), len(tangents)))
        return primals[0] ** given, 3.0 * tangents[0]

    assert grad(lambda x: call(f, x))(2.0) == 3.0
    assert seen == [(n, 1, 1)]


def test_a_function_of_any_number_of_arguments_is_called_with_these():
    f = custom_jvp(lambda *xs: sum(xs))
    f.defjvp(lambda primals, tangents: (sum(primals), tangents[-1] * 3.0))
    assert grad(lambda x: f(1.0, 2.0, x))(4.0) == 3.0
    assert grad(lambda x: f(x, x))(4.0) == 3.0


def test_a_keyword_only_argument_that_a_call_leaves_out_has_its_default():
    assert jvp(tripled(keyword_only), (5.0,), (1.0,)) == (10.0, 3.0)


def test_a_method_gets_its_object_as_the_first_argument():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @functools.partial(custom_jvp, static_argnums=(0,))
        def apply(self, x):
            return self.factor * x

        @apply.defjvp
        def apply_jvp(self, primals, tangents):
            return self.factor * primals[0], 10.0 * self.factor * tangents[0]

    assert grad(Model(2.0).apply)(1.0) == 20.0
    assert Model.apply(Model(2.0), 3.0) == 6.0


# Copies and pickle


@custom_jvp
def decorated(x):
    return x


class Decorated:
    @custom_vjp
    def method(self, x):
        return x


@pytest.mark.parametrize("f", [decorated, Decorated.method])
def test_a_decorated_function_is_pickled_by_its_name_as_a_function_is(f):
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy({"f": f})["f"] is f
    assert copy.copy(f) is f


def test_a_function_that_pickle_does_not_find_by_its_name_is_refused():
    with pytest.raises(pickle.PicklingError, match=r"<custom_jvp of power .*not the same object as .*\.power"):
        pickle.dumps(custom_jvp(power))
    message = r"^a function with rules and without a name cannot be pickled: .* Decorate a function of a module"
    with pytest.raises(TypeError, match=message):
        pickle.dumps(custom_jvp(functools.partial(power, n=3)))


# Static arguments


@pytest.mark.parametrize(
    "statics",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": [-1]},
        {"static_argnums": np.int64(1)},
        {"static_argnames": "n"},
        {"static_argnames": ("n",)},
        {"nondiff_argnums": (1,)},
        {"nondiff_argnames": ["n"]},
    ],
)
def test_static_arguments_go_by_position_or_by_name(statics):
    f = tripled(lambda x, n: x if n == "same" else -x, **statics)
    assert grad(lambda x: f(x, "same"))(1.0) == 3.0


def test_the_first_argument_may_be_the_static_one():
    assert grad(lambda x: tripled(lambda n, x: x * n, static_argnums=0)(2, x))(1.0) == 3.0


def test_a_static_argument_may_be_traced_as_long_as_it_is_not_differentiated():
    f = tripled(lambda x, n: x * n, static_argnums=1)
    jaxpr = make_jaxpr(lambda x, n: grad(lambda y: f(y, n))(x))(1.0, 5.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0, 5.0) == [3.0]
    assert grad(lambda n: grad(lambda x: f(x, n))(1.0) * n)(5.0) == 3.0


# Values that are closed over


def scaled(x, a):
    return tripled(lambda y: y * a)(x)


@pytest.mark.parametrize("f", [grad(scaled), lambda x, a: grad(scaled)(x, stop_gradient(a))])
def test_a_closed_over_value_that_is_not_differentiated_is_a_constant(f):
    assert f(1.0, 2.0) == 3.0
    jaxpr = make_jaxpr(f)(1.0, 2.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 1.0, 2.0) == [3.0]


def in_a_list(x, a):
    held = [a]
    return tripled(lambda y: y * held[0])(x)


def as_static(x, a):
    return tripled(lambda y, b: y * b, static_argnums=1)(x, a)


def in_the_rule(x, a):
    f = custom_jvp(lambda y: y)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0] * a))
    return f(x * a)


def in_vjp_rules(x, a):
    f = custom_vjp(lambda y: y * a)
    f.defvjp(lambda y: (y * a, y), lambda y, ct: (ct * a,))
    return f(x)


def staged(f):
    def g(*args):
        jaxpr = make_jaxpr(f)(*args)
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]

    return g


CLOSURES = [scaled, in_a_list, as_static, in_the_rule, in_vjp_rules]
TOGETHER = {
    "eagerly": lambda f: grad(f, 1)(1.0, 2.0),
    "with an argument": lambda f: grad(f, (0, 1))(1.0, 2.0),
    "staged": lambda f: make_jaxpr(grad(f, 1))(1.0, 2.0),
    "in a program": lambda f: grad(staged(f), 1)(1.0, 2.0),
    "in a scan": lambda f: grad(lambda x, a: lax.scan(lambda c, _: (f(c, a), None), x, None, length=2)[0], 1)(1.0, 2.0),
    "in a branch": lambda f: grad(lambda x, a: lax.cond(x > 0.0, f, lambda x, a: x, x, a), 1)(1.0, 2.0),
}


@pytest.mark.parametrize("how", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.parametrize("f", CLOSURES, ids=lambda f: f.__name__)
def test_a_derivative_with_respect_to_a_closed_over_value_is_refused(f, how):
    message = (
        r"(<lambda>|f) \(test_custom_call\.py:\d+\) at .* closes over a value that is being differentiated, or takes "
        r"one as a static argument, but its derivative rules cover its other arguments only\. Pass the value as an "
        r"argument that is not static, or through stop_gradient if it is a constant\."
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        how(f)


def test_a_function_that_closes_over_a_differentiated_value_is_refused_though_its_rule_does_not():
    def f(x, a):
        g = custom_jvp(lambda y: y * a)
        g.defjvp(lambda primals, tangents: (primals[0] * 2.0, tangents[0] * 2.0))
        return g(x)

    assert grad(f)(1.0, 2.0) == 2.0
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        grad(f, (0, 1))(1.0, 2.0)


def test_a_value_that_a_rule_lets_out_is_refused_afterwards():
    leaked = []
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (leaked.append(tangents[0]) or primals[0], tangents[0]))
    grad(f)(1.0)
    with pytest.raises(
        UnexpectedTracerError, match=r"escaped tracer .*: its trace, grad of .*, has ended\. It was made"
    ):
        leaked[0] + 1.0


def test_a_value_that_a_rule_let_out_of_a_program_is_refused_in_the_next_one():
    leaked = []
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, leaked.append(x)), lambda _, ct: (ct * leaked[0],))
    make_jaxpr(grad(f))(1.0)
    with pytest.raises(UnexpectedTracerError, match=r"escaped tracer .*: its trace, make_jaxpr of .*, has ended"):
        leaked[0] + 1.0


# Errors of definitions and calls


def keyword_only(x, *, n=2.0):
    return x * n


def generator(x):
    yield x


ABOUT_DEFINITIONS = {
    "no function": (lambda: custom_jvp(3), r"custom_jvp got 3 of type int at .* Give a function\."),
    "a generator": (lambda: custom_vjp(generator), r"custom_vjp of generator \(test_custom_call.* instead of yielding"),
    "out of range": (
        lambda: custom_jvp(power, static_argnums=(2,)),
        (
            r"custom_jvp of power \(test_custom_call\.py:\d+\) got static_argnums=\(2,\), but the function has 2 "
            r"positional arguments\. Count from 0, or choose the argument by static_argnames\."
        ),
    ),
    "no int": (lambda: custom_rules(power, static_argnums="n"), r"custom_rules of power .* Give an int or a tuple of"),
    "twice": (
        lambda: custom_vjp(power, static_argnums=(1, -1)),
        r"custom_vjp of power .*, which names an argument twice",
    ),
    "both names": (
        lambda: custom_vjp(power, static_argnums=1, nondiff_argnums=(0,)),
        r"static_argnums=1 and nondiff_argnums=\(0,\) name one thing twice\. Give one\.",
    ),
    "unknown name": (
        lambda: custom_jvp(power, static_argnames="k"),
        r"custom_jvp of power .* got static_argnames='k', which is no argument of the function\. Name one of: x, n\.",
    ),
    "a name without a position": (
        lambda: custom_jvp(lambda x, **options: x, static_argnames="k"),
        r"got static_argnames='k', which has no position in the arguments of the function, .*\. Use static_argnums\.",
    ),
    "a name in a function without a signature": (
        lambda: custom_jvp(min, static_argnames="k"),
        r"custom_jvp of min got static_argnames='k', which has no position .*\. Use static_argnums\.",
    ),
}


@pytest.mark.parametrize(("define", "message"), ABOUT_DEFINITIONS.values(), ids=ABOUT_DEFINITIONS)
def test_a_wrong_definition_is_refused_at_once(define, message):
    with pytest.raises((TypeError, ValueError), match=message):
        define()


ABOUT_CALLS = {
    "no rule": (
        lambda x: custom_jvp(power)(x),
        AttributeError,
        r"custom_jvp of power .* has no rule\. Give one with defjvp",
    ),
    "no vjp rule": (
        lambda x: custom_vjp(power)(x),
        AttributeError,
        r"custom_vjp of power .* has no rule\. Give one with defv",
    ),
    "a keyword-only argument": (
        lambda x: tripled(keyword_only)(x, n=3.0),
        TypeError,
        (
            r"custom_jvp of keyword_only .*: the keyword-only argument 'n' has no position, and rules take arguments "
            r"by position\. Make it a positional parameter\."
        ),
    ),
    "a missing argument": (
        lambda x: tripled(lambda x, y: x)(x),
        TypeError,
        r"custom_jvp of <lambda> .*: missing a required argument: 'y'\. Call it as it is defined\.",
    ),
    "a keyword without a signature": (
        lambda x: tripled(min)(y=x),
        TypeError,
        r"custom_jvp of min has no signature, so its keyword arguments have no position\. Pass them by position\.",
    ),
    "a string": (
        lambda x: tripled(power)(x, "two"),
        TypeError,
        (
            r"custom_jvp of power .*: n is 'two' of type str, which is not an array or a scalar\. Name it in the "
            r"static_argnums of custom_jvp, custom_vjp, custom_vmap or custom_rules, close over it, or register its "
        ),
    ),
    "a function in a pytree": (
        lambda x: tripled(lambda x, options: x)(x, {"mode": len}),
        TypeError,
        r"custom_jvp of <lambda> .*: options\['mode'\] is <built-in function len> of type builtin.*static_argnums",
    ),
    "an array of objects": (
        lambda x: tripled(power)(x, np.array([None])),
        TypeError,
        r"custom_jvp of power .*: n: an array of dtype object is not an operand",
    ),
    "a rule that gives no array": (
        lambda x: marked(lambda primals, tangents: ({"a": "text"}, tangents))(x),
        TypeError,
        (
            r"the rule <lambda> \(test_custom_call\.py:\d+\) of power .*: output\['a'\] is 'text' of type str, which "
            r"is not an array or a scalar\. Return arrays and scalars\."
        ),
    ),
}


def marked(rule):
    f = custom_jvp(power)
    f.defjvp(rule)
    return f


@pytest.mark.parametrize(("f", "error", "message"), ABOUT_CALLS.values(), ids=ABOUT_CALLS)
def test_a_wrong_call_is_refused_with_the_name_of_the_function_and_of_the_argument(f, error, message):
    with pytest.raises(error, match=message):
        grad(f)(1.0)


ABOUT_RESULTS = {
    "no array": (
        tripled(lambda x: {"a": "text"}),
        r"custom_jvp of <lambda> .*: output\['a'\] is 'text' of type str, .* Return arrays and scalars\.",
    ),
    "a generator": (tripled(lambda x: generator(x)), r"custom_jvp of <lambda> .*: a generator or coroutine runs after"),
    "another structure": (
        marked(lambda primals, tangents: ((primals[0], primals[0]), tangents)),
        (
            r"the rule <lambda> \(test_custom_call\.py:\d+\) of power \(test_custom_call\.py:\d+\) returned "
            r"PyTreeDef\(\(\*, \*\)\), but the function returned PyTreeDef\(\*\)\. Return one"
        ),
    ),
    "other types": (
        marked(lambda primals, tangents: (np.ones(3, np.float32), tangents)),
        (
            r"the rule <lambda> .* of power .* returned outputs of types \(float32\[3\]\), but the function returned "
            r"\(float64\[\]\)\. Return the same types from"
        ),
    ),
}


@pytest.mark.parametrize(("f", "message"), ABOUT_RESULTS.values(), ids=ABOUT_RESULTS)
def test_where_function_and_rule_are_both_run_they_must_give_results_of_one_form(f, message):
    with pytest.raises(TypeError, match=message):
        grad(staged(f))(1.0)


# Tangents that rules give


@pytest.mark.parametrize("given", [None, Zero(F64)])
def test_nothing_and_a_symbolic_zero_are_zero(given):
    assert type(checked_tangent(given, F64, str)) is Zero
    assert checked_tangent(given, I64, str).aval.dtype == float0


def test_a_python_number_is_taken_for_a_scalar_of_the_dtype():
    found = checked_tangent(2, ShapedArray((), "float32"), str)
    assert (found, typeof(found).str_short()) == (2.0, "f32[]")


@pytest.mark.parametrize("given", [2.0, np.ones(2), np.float32(1), "one", 1j, np.zeros(3, float0)])
def test_what_does_not_fit_is_refused_with_the_message_of_the_caller(given):
    with pytest.raises(TypeError, match=r"got .*(float64|float32|complex128|str|float0)"):
        checked_tangent(given, ShapedArray((3,), "float64"), lambda what: f"got {what}")


def test_whole_numbers_take_float0_and_nothing_else():
    assert type(checked_tangent(np.zeros((), float0), I64, str)) is Zero
    with pytest.raises(TypeError, match=r"^~float64\[\]$"):
        checked_tangent(1.0, I64, str)


def test_the_jvp_of_a_function_whose_argument_is_a_constant_is_that_of_a_constant():
    assert jvp(lambda x: (tripled(power)(5.0), x), (1.0,), (1.0,)) == ((25.0, 1.0), (0.0, 1.0))


def fails(x):
    raise ValueError("no value")


def with_rule(decorate):
    fun = decorate(fails)
    if decorate is custom_jvp:
        fun.defjvp(lambda primals, tangents: (fails(*primals), tangents[0]))
    else:
        fun.defvjp(lambda x: (fails(x), None), lambda _, ct: (ct,))
    return fun


@pytest.mark.parametrize("decorate", [custom_jvp, custom_vjp])
@pytest.mark.parametrize("call", [lambda f: f(1.0), lambda f: f(), lambda f: grad(f)(1.0)])
def test_an_error_in_a_function_with_rules_shows_the_users_frames_alone(decorate, call):
    with pytest.raises((ValueError, TypeError)) as info:
        call(with_rule(decorate))
    assert {frame.filename for frame in traceback.extract_tb(info.value.__traceback__)} == {__file__}
    assert full_traceback(info.value) is not info.value.__traceback__
