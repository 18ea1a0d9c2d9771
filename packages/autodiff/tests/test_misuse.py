"""Every misuse of the derivative functions is told with the function, the argument and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    check_grads,
    checkpoint,
    checkpoint_name,
    custom_jvp,
    custom_vjp,
    defjvp,
    grad,
    jvp,
    linear_transpose,
    linearize,
    saved_residuals,
    value_and_grad,
    vjp,
)
from calque_core import MissingRuleError, Primitive, ShapedArray, config, float0, lax, typeof

X = np.ones(3)


def f(x):
    return lax.sin(x)


def product(x, y):
    return lax.mul(x, y)


def pull(*cts, **kwargs):
    return vjp(f, X)[1](*cts, **kwargs)


def push(*dots, **kwargs):
    return linearize(product, 2.0, 3.0)[1](*dots, **kwargs)


def transposed(*cts, **kwargs):
    return linear_transpose(lambda x: 2.0 * x, X)(*cts, **kwargs)


COTANGENT = r"the vjp function of f \(test_misuse.py:\d+\)"
LINEAR = r"the linear function of product \(test_misuse.py:\d+\)"
JVP = r"jvp of product \(test_misuse.py:\d+\)"
GRAD = r"grad of product \(test_misuse.py:\d+\)"

MISUSES = {
    # the functions that the transformations return
    "no cotangent": (pull, (), rf"{COTANGENT} got 0 arguments\. Give one argument, the cotangent: a pytree with"),
    "two cotangents": (pull, (X, X), rf"{COTANGENT} got 2 arguments\. Give one argument, the cotangent"),
    "a cotangent's dtype": (
        lambda: pull(X.astype(np.float32)),
        (),
        rf"{COTANGENT}: the cotangent is float32\[3\], but float64\[3\] is .* shape and dtype of its output\.",
    ),
    "a cotangent's shape": (
        pull,
        (np.ones(4),),
        rf"{COTANGENT}: the cotangent is float64\[4\], but float64\[3\] is needed",
    ),
    "a cotangent that is no array": (
        pull,
        ("a",),
        rf"{COTANGENT}: the cotangent is .*str.*, which is not an array or a scalar\. Give float64\[3\]\.",
    ),
    "a cotangent's structure": (pull, ([1.0, 2.0, 3.0],), rf"{COTANGENT}: the cotangents have the structure"),
    "None for a cotangent": (pull, (None,), rf"{COTANGENT}: the cotangents have the structure .*None"),
    "a missing tangent": (push, (1.0,), rf"{LINEAR}: the tangents have the structure .* Give one tangent per leaf"),
    "a keyword for a tangent": (lambda: push(1.0, y=1.0), (), rf"{LINEAR} got the keywords y\. Give the tangents by"),
    "a keyword for a cotangent": (
        lambda: transposed(ct=X),
        (),
        r"the transpose of <lambda> \(.*\) got 0 arguments and the keywords ct\. Give one argument",
    ),
    # jvp
    "tangents that are no tuple": (
        jvp,
        (product, (1.0, 2.0), 1.0),
        rf"{JVP} got ~float64\[\] as its tangents\. Give a tup",
    ),
    "a tuple and a list": (jvp, (product, (1.0, 2.0), [1.0, 2.0]), rf"{JVP}: the primals are a tuple, the tangents a"),
    "None for a tangent": (jvp, (product, (1.0, 2.0), (1.0, None)), rf"{JVP}: the tangents have the structure"),
    "a tangent that is no array": (
        jvp,
        (product, (1.0, 2.0), (1.0, "a")),
        rf"{JVP}: the leaf \[1\] of the tangents is .*str.*, which is not an array or a scalar\. Give float64\[\]\.",
    ),
    "a tangent of an integer": (
        jvp,
        (product, (1, 2.0), (1.0, 1.0)),
        rf"{JVP}: the leaf \[0\] of the tangents is ~float64\[\], but its primal is ~int64\[\], which has no deriv",
    ),
    # grad
    "a name for a number": (lambda: grad(product, argnums="x")(1.0, 2.0), (), rf"{GRAD} got argnums='x'\. Give an int"),
    "a number for a name": (lambda: grad(product, argnames=1), (), rf"{GRAD} got argnames=1\. Give a name, or a tuple"),
    "numbers for names": (lambda: grad(product, argnames=(1,)), (), rf"{GRAD} got argnames=\(1,\)\. Give a name, or"),
    "a name that is not there": (
        lambda: grad(product, argnames="z")(1.0, 2.0),
        (),
        rf"{GRAD} got argnames='z', but the call passes no argument 'z'\. Pass it, or name one of: x, y\.",
    ),
    "an argument out of range": (lambda: grad(product, argnums=2)(1.0, 2.0), (), rf"{GRAD} got argnums=2, but there"),
    "an integer deep inside": (
        lambda: grad(lambda p: p["a"][0] * 2.0)({"a": [1, 2.0]}),
        (),
        r"grad of <lambda> \(.*\): p\['a'\]\[0\] has dtype int64, which has no derivative\. Pass a float, or set",
    ),
    "an output with an axis": (
        lambda: grad(f)(X),
        (),
        r"grad of f \(.*\) needs a scalar output, .* float64\[3\]\. Reduce it",
    ),
    "an integer output": (
        lambda: grad(lambda x: 3)(1.0),
        (),
        r"needs a real output, but the function returned ~int64\[\]",
    ),
    "no pair with has_aux": (
        lambda: value_and_grad(f, has_aux=True)(1.0),
        (),
        r"value_and_grad of f \(.*\) with has_aux=True needs a pair \(output, aux\).* Return a pair, or leave has_aux",
    ),
    # linear_transpose
    "a bool to transpose in": (
        linear_transpose,
        (f, True),
        r"linear_transpose of f \(.*\): x has dtype bool, but linear functions take floats, or .* Pass a float",
    ),
    # checks
    "arguments that are no tuple": (
        check_grads,
        (f, 1.0, 1),
        r"check_grads of f \(.*\) got ~float64\[\] as its args\. Give a",
    ),
    "no function to check": (check_grads, (1, (1.0,), 1), r"check_grads got 1 of type int.*\. Give a function\."),
    "an order that is no int": (check_grads, (f, (1.0,), 1.5), r"check_grads got order=1\.5 .*\. Use an order of 1 or"),
    "a rule that is no function": (
        lambda: defjvp(Primitive("mine"), None, "a"),
        (),
        r"defjvp of 'mine': rule 1 is 'a'\. Give a function, or None for zero\.",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_told(name):
    fun, args, words = MISUSES[name]
    with pytest.raises((TypeError, ValueError), match=words):
        fun(*args)


# What is not linear


def doubled(x):
    return lax.mul(lax.sin(x), 2.0)


NOT_LINEAR = {
    "an operation": (
        doubled,
        (
            r"linear_transpose of doubled .*: the function is not linear, because of 'sin' at test_misuse.py:\d+ "
            r"\(doubled\): Transpose rule .* for 'sin' not implemented\. There is none because .*\. Transpose a linear"
        ),
    ),
    "a product with itself": (
        lambda x: x * x,
        (
            r"the function is not linear\. 'mul' at test_misuse.py:\d+ .* cannot be transposed in operands in "
            r"which it is not linear\. Transpose a linear function"
        ),
    ),
    "a rounding": (lax.floor, r"not linear, because of 'floor'"),
    "a maximum": (lambda x: lax.max(x, 0.0), r"not linear, because of 'max' at test_misuse.py"),
    "inside a loop": (
        lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=2)[0],
        r"not linear, because of 'sin' at test_misuse.py",
    ),
    "a branch on the argument": (
        lambda x: lax.cond(x > 0, lambda: x, lambda: 2.0 * x),
        r"the function is not linear\. 'cond'.* cannot be transposed",
    ),
    "a constant term": (
        lambda x: 2.0 * x + 1.0,
        r"not linear, because of 'add' at test_misuse.py:\d+ .*: it adds a constant that is not zero\. Remove",
    ),
    "a constant output": (lambda x: 3.0, r"not linear, because of an output: it adds a constant that is not zero"),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_is_told_with_the_operation_and_the_line(name):
    fun, words = NOT_LINEAR[name]
    with pytest.raises(MissingRuleError, match=words):
        linear_transpose(fun, 1.0)(1.0)


def test_a_constant_zero_is_linear():
    zeros = np.zeros(3)
    assert linear_transpose(lambda x: (2.0 * x + zeros).sum() - 0.0, X)(1.0)[0].tolist() == [2.0, 2.0, 2.0]
    assert linear_transpose(lambda x: (x, 0.0), 1.0)((1.0, 5.0)) == (1.0,)


def test_an_unknown_operation_is_not_called_nonlinear():
    with pytest.raises(
        MissingRuleError, match=r"'mine' at .* is not known to be linear: Transpose rule .* If it is linear, give it"
    ):
        linear_transpose(mine().bind, 1.0)(1.0)


# Rules of a user's primitive that give something else


def mine(**rules):
    mine_p = Primitive("mine")
    mine_p.def_impl(lambda x: np.multiply(x, 2.0))
    mine_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    for kind, rule in rules.items():
        mine_p.def_rule(kind, rule)
    return mine_p


def linear(transpose):
    mine_p = mine(transpose=transpose)
    mine_p.def_rule("jvp", lambda primals, tangents: (mine_p.bind(*primals), mine_p.bind(*tangents)))
    return mine_p.bind


@pytest.mark.parametrize("given", [3.0, (1.0,), (1.0, 2.0, 3.0), None])
def test_a_jvp_rule_that_gives_no_pair(given):
    mine_p = mine(jvp=lambda primals, tangents: given)
    words = (
        r"the jvp rule <lambda> \(test_misuse.py:\d+\) of 'mine' returned .* at test_misuse.py:\d+ .*Return a pair: the"
    )
    with pytest.raises(TypeError, match=words):
        grad(mine_p.bind)(1.0)


@pytest.mark.parametrize("dot", [np.ones(5), np.float32(1.0)])
def test_a_jvp_rule_that_gives_a_tangent_of_another_type(dot):
    mine_p = mine(jvp=lambda primals, tangents: (2.0 * primals[0], dot))
    words = (
        r"the derivative rule of 'mine' at test_misuse\.py:\d+ .* gave the tangent .* for the result float64\[\]\. "
        r"Return a tangent of type float64\[\]"
    )
    with pytest.raises(TypeError, match=words):
        grad(mine_p.bind)(np.float64(1.0))
    with pytest.raises(TypeError, match=words):
        jvp(mine_p.bind, (np.float64(1.0),), (np.float64(1.0),))


def test_an_integer_result_may_have_a_tangent_of_float0_which_is_none():
    mine_p = Primitive("mine", multiple_results=True)
    mine_p.def_impl(lambda x: [3.0 * x, np.int64(7)])
    mine_p.def_abstract_eval(lambda x: [x, typeof(np.int64(7))])
    mine_p.def_rule("jvp", lambda primals, tangents: (mine_p.bind(*primals), [3.0 * tangents[0], np.zeros((), float0)]))
    (_, seven), (slope, zero) = jvp(mine_p.bind, (np.float64(1.0),), (np.float64(1.0),))
    assert (seven, slope, zero.dtype) == (7, 3.0, float0)
    assert grad(lambda x: mine_p.bind(x)[0])(1.0) == 3.0


@pytest.mark.parametrize("leaf", [False, True])
def test_a_tangent_of_another_shape_is_refused_where_broadcasting_would_hide_it(leaf):
    mine_p = Primitive("mine")
    mine_p.def_impl(lambda x: 3.0 * x, leaf=leaf)
    mine_p.def_abstract_eval(lambda x: x)
    mine_p.def_rule("jvp", lambda primals, tangents: (mine_p.bind(*primals), np.sum(tangents[0])))
    with pytest.raises(TypeError, match=r"gave the tangent .*float64\[\].* for the result float64\[3\]\."):
        grad(lambda x: np.sum(mine_p.bind(x) * np.arange(3.0)))(np.ones(3))


def test_a_list_serves_as_a_pair():
    mine_p = mine(jvp=lambda primals, tangents: [2.0 * primals[0], 2.0 * tangents[0]])
    assert jvp(mine_p.bind, (np.float64(1.0),), (np.float64(1.0),)) == (2.0, 2.0)


@pytest.mark.parametrize("given", [2.0, [], [1.0, 1.0], None, np.ones(1)])
def test_a_transpose_rule_that_gives_no_list_of_cotangents(given):
    words = r"the transpose rule of 'mine' at test_misuse.py:\d+ .* returned .* for 1 operand\. Return a list with"
    with pytest.raises(TypeError, match=words):
        grad(linear(lambda ct, x: given))(1.0)


def test_a_tuple_serves_as_a_list_of_cotangents():
    assert grad(linear(lambda ct, x: (2.0 * ct,)))(1.0) == 2.0


@pytest.mark.counts
@pytest.mark.parametrize("ct", [np.ones(5), np.float32(1.0)])
def test_a_transpose_rule_that_gives_a_cotangent_of_another_type(ct):
    fun = linear(lambda _, x: [ct])
    words = (
        r"(grad|the vjp function) of bind .*: an argument is float64\[\], but a transpose rule "
        r"gave the cotangent "
    )
    with pytest.raises(TypeError, match=words):
        grad(fun)(np.float64(1.0))
    with pytest.raises(TypeError, match=words):
        vjp(fun, np.float64(1.0))[1](np.float64(1.0))


def test_checks_name_the_transpose_rule_that_gives_another_type():
    fun = linear(lambda ct, x: [np.ones(5)])
    words = (
        r"the transpose rule of 'mine' at test_misuse.py:\d+ .* returned float64\[5\] "
        r"for operand 0, which is float64\[\]\."
    )
    with config.enable_checks(), pytest.raises(TypeError, match=words):
        grad(lambda x: lax.mul(fun(x), 3.0))(np.float64(1.0))


def broken(x):
    return lax.add(x, np.ones(7))


CALLS = {
    "grad": lambda: grad(broken)(X),
    "value_and_grad": lambda: value_and_grad(broken)(X),
    "jvp": lambda: jvp(broken, (X,), (X,)),
    "vjp": lambda: vjp(broken, X),
    "linearize": lambda: linearize(broken, X),
    "linear_transpose": lambda: linear_transpose(broken, X)(X),
    "checkpoint": lambda: checkpoint(broken)(X),
    "saved_residuals": lambda: saved_residuals(broken, X),
    "check_grads": lambda: check_grads(broken, (X,), order=1),
    "the pullback": lambda: vjp(lax.sin, X)[1](1.0),
    "the linear function": lambda: linearize(lax.sin, X)[1](1.0),
    "a wrong argument": lambda: grad("loss"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_traceback_shows_the_users_frames_alone(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert {frame.path.name for frame in caught.traceback} == {"test_misuse.py"}


def _without_a_rule():
    return grad(custom_vjp(lambda x: x))(1.0)


def _with_a_rule_too_few():
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(None)
    return grad(f)(1.0, 2.0)


UNFIT = {
    "a real argument of a holomorphic function": (
        lambda: grad(lambda x: x * x, holomorphic=True)(1.0),
        TypeError,
        r"with holomorphic=True: x has dtype float64\. Give complex arguments, or leave holomorphic out\.",
    ),
    "no vjp rule": (
        _without_a_rule,
        AttributeError,
        r"custom_vjp of .* has no rule\. Give one with defvjp, or leave custom_vjp out\.",
    ),
    "too few jvp rules": (
        _with_a_rule_too_few,
        TypeError,
        r"got 1 rules for 2 arguments\. Give one rule, or None, per argument\.",
    ),
    "a name in the place of a value": (
        lambda: checkpoint_name("hidden", np.ones(3)),
        TypeError,
        r"checkpoint_name at test_misuse\.py:\d+ .* Give a string, after the value: checkpoint_name\(x, 'hidden'\)\.",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_refused_with_what_to_give(name):
    call, error, words = UNFIT[name]
    with pytest.raises(error, match=words):
        call()
