"""The acceptance examples that core and autodiff run, each under its id.

| id | claim |
| --- | --- |
| A-02, A-03, A-04 | `jvp` of functions of numbers, nested four deep |
| A-05 | Python control flow under `jvp` |
| A-06, A-07 | pytrees of results, and pytrees of tangents that do not fit |
| A-26 | a tracer that escapes from a derivative is refused |
| A-40, A-41 | `linearize`, and that its function does no work again |
| A-42 | a derivative program splits into a known and a linear part |
| A-45 | Python control flow under `grad` |
| A-50, A-51 | `vjp` and `grad` |
| A-53, A-54 | what is not a scalar, and what has another structure |
| A-70 | `cond` evaluates |
| A-71, A-75, A-77 | derivatives of `cond`, with branches that close over tracers |
| A-78 | branches and predicates that do not fit |
| P-01 | the function whose primitive the P examples define |
| P-12, P-13 | `jvp` of a new primitive, without and with a rule |
| P-15, P-16 | `grad` of a new primitive, without and with a transpose rule |
| P-21, P-22 | transposition by hand, and by our own rules |
"""

import re
import threading

import numpy as np
import pytest

import calque_autodiff as ad
from calque_autodiff import grad, jvp, linearize, linearize_jaxpr, partial_eval_jaxpr, vjp
from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    UndefinedPrimal,
    UnexpectedTracerError,
    Zero,
    config,
    eval_context,
    is_tracer,
    is_undefined_primal,
    lax,
    make_jaxpr,
    trace_state_clean,
)
from calque_core.compat import zeros_like_array
from calque_core.lax import cond, cos, neg, sin


def f(x):
    y = sin(x) * 2.0
    z = -y + x
    return z


def deriv(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def autodidax(jaxpr):
    return jaxpr.pretty_print(style="autodidax")


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


# A: forward mode


def test_A_02_the_derivative_of_sin_is_cos():
    assert str(jvp(sin, (3.0,), (1.0,))[1]) == str(cos(3.0)) == "-0.9899924966004454"


def test_A_03_value_and_derivative():
    y, y_dot = jvp(f, (3.0,), (1.0,))
    assert (str(y), str(y_dot)) == ("2.7177599838802657", "2.979984993200891")


def test_A_04_derivatives_nest():
    found, g = [], sin
    for _ in range(4):
        g = deriv(g)
        found.append(str(g(3.0)))
    assert found == ["-0.9899924966004454", "-0.1411200080598672", "0.9899924966004454", "0.1411200080598672"]


def test_A_05_python_control_flow_sees_the_primal():
    def f(x):
        return 2.0 * x if x > 0.0 else x

    assert (deriv(f)(3.0), deriv(f)(-3.0)) == (2.0, 1.0)


def test_A_06_a_pytree_of_results_has_a_pytree_of_tangents():
    def f(x):
        y = sin(x) * 2.0
        z = -y + x
        return {"hi": z, "there": [x, y]}

    y, y_dot = jvp(f, (3.0,), (1.0,))
    assert repr(y) == "{'hi': np.float64(2.7177599838802657), 'there': [3.0, np.float64(0.2822400161197344)]}"
    assert repr(y_dot) == "{'hi': np.float64(2.979984993200891), 'there': [1.0, np.float64(-1.9799849932008908)]}"


def test_A_07_primals_and_tangents_must_be_the_same_kind_of_sequence():
    with pytest.raises(TypeError, match=r"the primals are a tuple, the tangents a list\. Give both as"):
        jvp(f, (1.0,), [1.0])


def test_A_07_primals_and_tangents_must_have_one_structure():
    with pytest.raises(
        TypeError, match=re.escape("the tangents have the structure PyTreeDef(([*],)), but PyTreeDef((*,))")
    ):
        jvp(f, (1.0,), ([1.0],))


# the four derivative functions refuse a tracer where it does not belong, and say where it was made.

DERIVATIVES = {
    "jvp": lambda f: jvp(f, (1.0,), (1.0,)),
    "linearize": lambda f: linearize(f, 1.0),
    "vjp": lambda f: vjp(f, 1.0),
    "grad": lambda f: grad(f)(1.0),
}
each_derivative = pytest.mark.parametrize(("verb", "derivative"), DERIVATIVES.items(), ids=DERIVATIVES)


@each_derivative
def test_A_26_a_tracer_of_an_ended_derivative_is_refused(verb, derivative):
    kept = []

    def leak(x):
        kept.append(sin(x))
        return x

    derivative(leak)
    line = leak.__code__.co_firstlineno
    uses = (
        lambda: cos(kept[0]),
        lambda: jvp(lambda x: x * kept[0], (1.0,), (1.0,)),
        lambda: grad(lambda x: x * kept[0])(1.0),
        lambda: grad(lambda x: kept[0])(1.0),
        lambda: jvp(lambda x: kept[0], (1.0,), (1.0,)),
        lambda: bool(kept[0]),
        lambda: float(kept[0]),
        lambda: np.asarray(kept[0]),
    )
    for use in uses:
        with pytest.raises(UnexpectedTracerError) as caught:
            use()
        assert f"its trace, {verb} of leak (test_examples.py:{line}), has ended" in str(caught.value)
        assert re.search(r"It was made at .*test_examples\.py:\d+ ", str(caught.value))
    assert trace_state_clean()


@each_derivative
def test_A_26_a_tracer_of_a_derivative_in_another_thread_is_refused(verb, derivative):
    caught = []

    def elsewhere(x):
        def work():
            with pytest.raises(UnexpectedTracerError) as error:
                sin(x)
            caught.append(str(error.value))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    derivative(elsewhere)
    line = elsewhere.__code__.co_firstlineno
    assert f"it belongs to {verb} of elsewhere (test_examples.py:{line}) in another thread" in caught[0]
    assert re.search(r"It was made at .*test_examples\.py:\d+ ", caught[0])


@each_derivative
def test_A_26_a_tracer_of_an_open_derivative_that_reaches_evaluation_is_refused(verb, derivative):
    def evaluated(x):
        with eval_context():
            return sin(x)

    with pytest.raises(UnexpectedTracerError) as caught:
        derivative(evaluated)
    line = evaluated.__code__.co_firstlineno
    expected = f"it belongs to {verb} of evaluated (test_examples.py:{line}), and evaluation runs outside of it"
    assert expected in str(caught.value)
    assert re.search(r"It was made at .*test_examples\.py:\d+ ", str(caught.value))
    assert trace_state_clean()


# A: linearization and reverse mode


def test_A_40_linearize_gives_the_value_and_the_derivative_as_a_function():
    y, sin_lin = linearize(sin, 3.0)
    assert f"{y} {sin(3.0)}" == "0.1411200080598672 0.1411200080598672"
    assert f"{sin_lin(1.0)} {cos(3.0)}" == "-0.9899924966004454 -0.9899924966004454"


def test_A_41_the_linear_function_does_no_work_again():
    calls = []

    def counted(x):
        calls.append(x)
        return f(x)

    _, f_lin = linearize(counted, 3.0)
    assert [float(f_lin(t)) for t in (0.0, 1.0, 2.0)] == pytest.approx([0.0, 2.979984993200891, 5.959969986401782])
    assert len(calls) == 1
    assert names(make_jaxpr(f_lin)(1.0)) == ["mul", "mul", "neg", "add_any"]


def test_A_42_a_derivative_splits_into_a_known_and_a_linear_part():
    # As in the document, save that the tangent is the first factor of a product here.
    jaxpr = make_jaxpr(lambda x, t: jvp(lambda a: neg(sin(a)), (x,), (t,)))(3.0, 1.0)
    assert autodidax(jaxpr).splitlines() == [
        "{ lambda a:float64[] b:float64[] .",
        "  let c:float64[] = sin a",
        "      d:float64[] = cos a",
        "      e:float64[] = mul b d",
        "      f:float64[] = neg c",
        "      g:float64[] = neg e",
        "  in ( f, g ) }",
    ]
    parts = partial_eval_jaxpr(jaxpr, [True, False])
    check_parts(parts.known, parts.unknown)


def test_A_42_linearize_makes_the_same_two_parts():
    parts = linearize_jaxpr(make_jaxpr(lambda a: neg(sin(a)))(3.0), [True])
    check_parts(parts.known, parts.linear)


def check_parts(known, linear):
    assert autodidax(known).splitlines() == [
        "{ lambda a:float64[] .",
        "  let b:float64[] = sin a",
        "      c:float64[] = cos a",
        "      d:float64[] = neg b",
        "  in ( d, c ) }",
    ]
    assert autodidax(linear).splitlines() == [
        "{ lambda a:float64[] b:float64[] .",
        "  let c:float64[] = mul b a",
        "      d:float64[] = neg c",
        "  in ( d ) }",
    ]


def test_A_45_python_control_flow_sees_the_known_value():
    gradient = grad(lambda x: x**2 if x > 0 else 0.0)
    assert (gradient(3.0), gradient(-3.0)) == (6.0, 0.0)


def test_A_50_vjp_pulls_a_cotangent_back():
    _, f_vjp = vjp(sin, 3.0)
    assert f"{f_vjp(1.0)} {cos(3.0)}" == "(np.float64(-0.9899924966004454),) -0.9899924966004454"


def test_A_51_grad():
    assert str(grad(f)(3.0)) == "2.979984993200891"


def test_A_53_grad_of_a_function_that_is_not_scalar_is_refused():
    with pytest.raises(
        TypeError, match=re.escape("needs a scalar output, but the function returned float64[3]. Reduce it")
    ):
        grad(lambda x: x * np.ones(3))(3.0)


def test_A_54_a_tangent_of_another_structure_is_refused():
    _, f_lin = linearize(lambda x: sin(x["a"]), {"a": 3.0})
    with pytest.raises(TypeError, match=re.escape("PyTreeDef(([*],)), but PyTreeDef(({'a': *},)) is needed")):
        f_lin([1.0])


def test_A_54_a_cotangent_of_another_structure_is_refused():
    _, f_vjp = vjp(sin, 3.0)
    with pytest.raises(
        TypeError, match=re.escape("the cotangents have the structure PyTreeDef([*]), but PyTreeDef(*)")
    ):
        f_vjp([1.0])


# Examples of branches (A).


def test_A_70_cond_evaluates_the_branch_taken():
    assert repr(cond(True, lambda: 3, lambda: 4)) == "3"
    assert repr(cond(False, lambda: 3, lambda: 4)) == "4"


def test_A_71_jvp_of_branches_that_close_over_a_tracer():
    assert jvp(lambda x: cond(True, lambda: x * x, lambda: 0.0), (1.0,), (1.0,))[1] == 2.0
    assert jvp(lambda x: cond(False, lambda: x * x, lambda: 0.0), (1.0,), (1.0,))[1] == 0.0


def test_A_75_linearize_of_cond():
    _, f_lin = linearize(lambda x: cond(True, lambda: x, lambda: 0.0), 1.0)
    assert str(f_lin(3.14)) == "3.14"


def test_A_77_grad_of_cond():
    assert grad(lambda x: cond(True, lambda: x * x, lambda: 0.0))(1.0) == 2.0
    assert grad(lambda x: cond(x > 2.0, lambda: x * x, lambda: 3.0 * x))(1.0) == 3.0


def test_A_78_branches_of_different_structures_are_refused():
    message = r"same pytree structure, .* returned PyTreeDef\(\*\), .* returned PyTreeDef\(\(\*,\)\)\. Return the same"
    with pytest.raises(TypeError, match=message):
        cond(True, lambda: 3, lambda: (4,))


def test_A_78_branches_of_different_types_are_refused():
    with pytest.raises(
        TypeError, match=r"must have equal types, .* is ~int64\[\], of .* float64\[2\]\. Convert one of them"
    ):
        cond(True, lambda: 3, lambda: np.ones(2))


@pytest.mark.parametrize(("predicate", "text"), [(1.0, "~float64[]"), (1, "~int64[]"), (np.array([True]), "bool[1]")])
def test_A_78_a_predicate_that_is_no_bool_scalar_is_refused(predicate, text):
    with pytest.raises(TypeError, match=re.escape(f"a predicate of type {text}. Give a bool scalar")):
        cond(predicate, lambda: 3, lambda: 4)


# P: a new primitive, in both regimes


@pytest.fixture(params=["64 bits", "32 bits"])
def dtype(request):
    """The dtype of Python floats in the regime of the test."""
    if request.param == "64 bits":
        yield np.dtype("float64")
    else:
        with config.enable_x64(False):
            yield np.dtype("float32")


class MultiplyAdd:
    """The primitive `x * y + z` with the rules asked for; each notes the arguments and the result of its calls."""

    def __init__(self, *kinds):
        self.calls = {kind: [] for kind in ("impl", "abstract_eval", "jvp", "transpose")}
        self.primitive = Primitive("multiply_add")
        for kind in kinds:
            getattr(self, f"give_{kind}")()

    def bind(self, x, y, z):
        return self.primitive.bind(x, y, z)

    def square_add(self, a, b):
        return self.bind(a, a, b)

    def noted(self, kind, rule):
        def noting(*args):
            out = rule(*args)
            self.calls[kind].append((args, out))
            return out

        return noting

    def give_impl(self):
        self.primitive.def_impl(self.noted("impl", lambda x, y, z: np.add(np.multiply(x, y), z)))

    def give_abstract_eval(self):
        self.primitive.def_abstract_eval(self.noted("abstract_eval", lambda x, y, z: ShapedArray(x.shape, x.dtype)))

    def give_jvp(self):
        ad.primitive_jvps[self.primitive] = self.noted("jvp", self.value_and_jvp)

    def give_transpose(self):
        ad.primitive_transposes[self.primitive] = self.noted("transpose", self.transpose)

    def value_and_jvp(self, primals, tangents):
        x, y, z = primals
        x_dot, y_dot, z_dot = [zeros_like_array(p) if type(t) is Zero else t for p, t in zip(primals, tangents)]
        return self.bind(x, y, z), self.bind(x_dot, y, self.bind(x, y_dot, z_dot))

    def transpose(self, ct, x, y, z):
        if is_undefined_primal(x):
            return self.bind(ct, y, zeros_like_array(y)), None, ct
        return None, self.bind(x, ct, zeros_like_array(x)), ct


def bind_note():
    line = MultiplyAdd.bind.__code__.co_firstlineno + 1
    return f"'multiply_add' was bound at test_examples.py:{line} (MultiplyAdd.bind)."


def test_P_01_the_function_and_its_gradient(dtype):
    def multiply_add_lax(x, y, z):
        return lax.add(lax.mul(x, y), z)

    def square_add_lax(a, b):
        return multiply_add_lax(a, a, b)

    out, gradient = square_add_lax(2.0, 10.0), grad(square_add_lax, argnums=0)(2.0, 10.0)
    assert (out, gradient) == (14.0, 4.0)
    assert out.dtype == gradient.dtype == dtype


@pytest.mark.usefixtures("dtype")
def test_P_12_jvp_without_a_rule_says_what_is_missing():
    f = MultiplyAdd("impl", "abstract_eval")
    with pytest.raises(NotImplementedError) as caught:
        jvp(f.square_add, (2.0, 10.0), (1.0, 1.0))
    error = caught.value
    assert str(error).splitlines() == [
        "Differentiation rule for 'multiply_add' not implemented",
        "calque_autodiff reads this rule; register one with calque_autodiff.defjvp(multiply_add_p, ...).",
    ]
    assert error.__notes__[:-1] == [
        bind_note(),
        "Rules that 'multiply_add' has: abstract_eval, impl.",
    ]
    assert (type(error), error.kind, error.package) == (MissingRuleError, "jvp", "calque_autodiff")
    assert trace_state_clean()


@pytest.mark.counts
def test_P_13_jvp_calls_the_rule_once_and_evaluates_what_it_says(dtype):
    f = MultiplyAdd("impl", "abstract_eval", "jvp")
    out = jvp(f.square_add, (2.0, 10.0), (1.0, 1.0))
    assert out == (14.0, 5.0)
    assert {x.dtype for x in out} == {dtype}
    [((primals, tangents), _)] = f.calls["jvp"]
    assert (tuple(primals), tuple(tangents)) == ((2.0, 2.0, 10.0), (1.0, 1.0, 1.0))
    assert [out for _, out in f.calls["impl"]] == [14.0, 3.0, 5.0]
    assert f.calls["abstract_eval"] == []


@pytest.mark.usefixtures("dtype")
def test_P_13_a_jvp_rule_may_be_given_with_core_alone():
    f = MultiplyAdd("impl")
    assert f.primitive.def_rule("jvp", f.value_and_jvp) == ad.primitive_jvps[f.primitive]
    assert jvp(f.square_add, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)


def test_P_15_grad_without_a_transpose_rule_linearizes_and_says_what_is_missing(dtype):
    f = MultiplyAdd("impl", "abstract_eval", "jvp")
    with pytest.raises(NotImplementedError) as caught:
        grad(f.square_add)(2.0, 10.0)
    [((primals, tangents), _)] = f.calls["jvp"]
    assert tuple(primals) == (2.0, 2.0, 10.0)
    assert not any(map(is_tracer, primals))
    assert [is_tracer(t) for t in tangents] == [True, True, False]
    assert repr(tangents[2]) == f"Zero({dtype}[])"
    assert str(caught.value).splitlines() == [
        "Transpose rule (for reverse-mode differentiation) for 'multiply_add' not implemented",
        "calque_autodiff reads this rule; register one with calque_autodiff.deftranspose(multiply_add_p, fn).",
    ]
    assert caught.value.__notes__[:-1] == [
        bind_note(),
        "Rules that 'multiply_add' has: abstract_eval, impl, jvp.",
    ]


def test_P_16_grad_transposes_each_linear_equation_once(dtype):
    f = MultiplyAdd("impl", "abstract_eval", "jvp", "transpose")
    gradient = grad(f.square_add)(2.0, 10.0)
    assert gradient == 4.0
    assert gradient.dtype == dtype
    assert len(f.calls["jvp"]) == 1
    first, second = f.calls["transpose"]
    assert described(first) == ([1.0, UndefinedPrimal, 2.0, UndefinedPrimal], (2.0, None, 1.0))
    assert described(second) == ([1.0, 2.0, UndefinedPrimal, 0.0], (None, 2.0, 1.0))
    assert repr(first[0][1]) == f"UndefinedPrimal({dtype}[])"


def described(call):
    args, out = call
    return [UndefinedPrimal if is_undefined_primal(x) else x for x in args], out


def test_P_21_transposition_by_hand(dtype):
    # f(x, y) = x * y + y: a = x_dot * y, b = x * y_dot, c = a + b, d = c + y_dot, read from the last line to the first.
    _, f_vjp = vjp(lambda x, y: x * y + y, 2.0, 4.0)
    x_ct, y_ct = f_vjp(1.0)
    assert (x_ct, y_ct) == (4.0, 3.0)
    assert x_ct.dtype == y_ct.dtype == dtype


def test_P_22_addition_gives_its_cotangent_to_both_operands(dtype):
    undefined = UndefinedPrimal(ShapedArray((), dtype))
    assert tuple(ad.primitive_transposes[lax.add_p](3.0, undefined, undefined)) == (3.0, 3.0)


def test_P_22_multiplication_gives_its_cotangent_times_the_other_operand(dtype):
    undefined, rule = UndefinedPrimal(ShapedArray((), dtype)), ad.primitive_transposes[lax.mul_p]
    assert tuple(rule(3.0, 5.0, undefined)) == (None, 15.0)
    assert tuple(rule(3.0, undefined, 5.0)) == (15.0, None)
