import gc
import itertools
import re
import time

import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, lax, make_jaxpr
from calque_core.errors import ConcretizationTypeError, MissingRuleError
from calque_core.extend import means, run_program
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Var
from calque_xla_backend import (
    aval_to_ir_type,
    hlo,
    ir_constant,
    jit,
    lower_fun,
    lower_jaxpr_to_module,
    register_lowering,
)

X = np.array([1.0, 2.0, 3.0])


def elementwise_primitive(name="mystery"):
    p = Primitive(name)
    p.def_abstract_eval(lambda *avals, **params: avals[0])
    return p


def text_of(f, *args):
    return lower_jaxpr_to_module(make_jaxpr(f)(*args)).as_text()


# Rules


def test_a_rule_receives_its_types_and_lands_in_the_module():
    p, seen = elementwise_primitive(), []

    @register_lowering(p)
    def rule(ctx, x, *, scale):
        seen.append((ctx.primitive, ctx.avals_in, ctx.avals_out, ctx.platform))
        return [hlo.multiply(x, hlo.broadcast_in_dim(aval_to_ir_type(ctx.avals_out[0]), ir_constant(scale), []))]

    np.testing.assert_array_equal(jit(lambda x: p.bind(x, scale=2.0))(X), 2 * X)
    assert seen == [(p, [ShapedArray((3,), "f8")], [ShapedArray((3,), "f8")], "cpu")]


def test_a_rule_of_the_platform_comes_before_the_general_one():
    p = elementwise_primitive()
    register_lowering(p, lambda ctx, x: [hlo.add(x, x)])
    assert jit(p.bind)(3.0) == 6.0
    register_lowering(p, lambda ctx, x: [hlo.multiply(x, x)], platform="cpu")
    assert jit(p.bind)(3.0) == 9.0
    register_lowering(p, lambda ctx, x: 1 / 0, platform="tpu")
    assert jit(p.bind)(3.0) == 9.0


def test_core_alone_is_enough_to_give_a_rule():
    p = elementwise_primitive()
    p.def_rule("lowering", lambda ctx, x: [hlo.negate(x)], platform="cpu")
    assert jit(p.bind)(3.0) == -3.0


def test_lower_fun_makes_a_rule_of_other_operations():
    p = elementwise_primitive()
    register_lowering(p, lower_fun(lambda x, y: lax.sin(x) * y + X, multiple_results=False))
    np.testing.assert_allclose(jit(p.bind)(X, X), np.sin(X) * X + X, rtol=1e-14)


def test_lower_fun_traces_once_for_equal_equations():
    p, notes = elementwise_primitive(), []
    register_lowering(p, lower_fun(lambda x, k: notes.append(k) or [x * k]))
    jit(lambda x: p.bind(p.bind(p.bind(x, k=2.0), k=2.0), k=3.0))(X)
    assert notes == [2.0, 3.0]
    notes.clear()
    jit(lambda x: p.bind(p.bind(x, k=0.0), k=-0.0))(X)
    assert [str(k) for k in notes] == ["0.0", "-0.0"]


def test_a_rule_lowers_a_function_once_for_values_of_equal_types_and_equal_parameters():
    p, notes = elementwise_primitive(), []

    def times(x, *, k):
        notes.append((x.shape, k))
        return x * k

    register_lowering(p, lambda ctx, x, *, k: ctx.lower(times, x, k=k))
    chain = lambda x: p.bind(p.bind(p.bind(x, k=2.0), k=2.0), k=3.0)
    np.testing.assert_array_equal(jit(chain)(X), 12.0 * X)
    assert notes == [((3,), 2.0), ((3,), 3.0)]


def test_a_rule_may_lower_a_function_of_values_of_other_types():
    p = elementwise_primitive()
    both = lambda x, y: (x + y, x - y)

    @register_lowering(p)
    def rule(ctx, x):
        pair = ctx.lower(lambda x: (x[0], x[1]), x)
        total, _ = ctx.lower(both, *pair, avals_in=[ShapedArray((), "f8")] * 2)
        return ctx.lower(lambda x, total: x * total, x, total, avals_in=[*ctx.avals_in, ShapedArray((), "f8")])

    np.testing.assert_array_equal(jit(p.bind)(X), 3.0 * X)


def test_a_decomposition_replaces_a_missing_rule():
    p = Primitive("twice")
    p.def_abstract_eval(lambda x: x)
    p.def_rule("decomposition", lambda x: lax.add(x, x))
    assert jit(p.bind)(4.0) == 8.0


def test_lower_fun_may_call_jitted_functions_with_large_constants():
    big = np.arange(1000.0)
    inner = jit(lambda x: x + big[:3] + big.sum())
    p = elementwise_primitive()
    register_lowering(p, lower_fun(lambda x: inner(x), multiple_results=False))
    out = jit(lambda x: p.bind(x) - inner(x))(X)
    np.testing.assert_array_equal(out, np.zeros(3))


# What is wrong with a rule is said by name


def test_a_missing_rule_names_primitive_and_platform_and_the_user_s_line():
    p = elementwise_primitive()
    with pytest.raises(MissingRuleError) as caught:
        jit(lambda x: p.bind(x))(X)
    assert caught.value.summary == "MLIR translation rule for primitive 'mystery' not found for platform cpu"
    assert isinstance(caught.value, NotImplementedError)
    notes = "\n".join(caught.value.__notes__)
    assert "register_lowering(mystery_p, fn, platform='cpu')" in str(caught.value)
    assert "test_lowering.py" in notes


def test_an_impl_is_no_lowering_rule():
    p = elementwise_primitive()
    p.def_impl(lambda x: x)
    with pytest.raises(MissingRuleError, match="not found for platform cpu"):
        jit(p.bind)(X)


def test_a_rule_that_raises_gets_a_note_with_the_primitive_and_the_line():
    p = elementwise_primitive()

    @register_lowering(p)
    def rule(ctx, x):
        raise KeyError("tile")

    with pytest.raises(KeyError, match="tile") as caught:
        jit(lambda x: p.bind(x))(X)
    notes = "\n".join(caught.value.__notes__)
    assert re.search(r"in lowering 'mystery', bound at .*test_lowering.py", notes)


def f32_type():
    return aval_to_ir_type(ShapedArray((3,), "f4"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda ctx, x: [], r"returned 0 values for 1 result\. Return one IR value for each result"),
        (lambda ctx, x: [x, x], r"returned 2 values for 1 result\."),
        (lambda ctx, x: x, r"returned .*BlockArgument.*\. Return a sequence of IR values"),
        (lambda ctx, x: None, r"returned None\. Return a sequence"),
        (lambda ctx, x: [3.0], r"returned 3\.0 of type float as result 0\. Return IR values"),
        (lambda ctx, x: [hlo.convert(f32_type(), x)], r"returned tensor<3xf32> as result 0"),
    ],
)
def test_a_rule_that_returns_the_wrong_thing_is_named(rule, message):
    p = elementwise_primitive()
    register_lowering(p, rule)
    with pytest.raises(TypeError, match="the lowering rule of 'mystery' " + message):
        jit(lambda x: p.bind(x))(X)


def test_a_wrong_shape_shows_both_types():
    p = Primitive("mystery")
    p.def_abstract_eval(lambda a: ShapedArray((4,), a.dtype))
    register_lowering(p, lambda ctx, x: [x])
    message = r"tensor<3xf64> as result 0, but abstract evaluation says float64\[4\], that is tensor<4xf64>"
    with pytest.raises(TypeError, match=message):
        jit(lambda x: p.bind(x))(X)


def halved(x):
    return x[:2]


def test_a_decomposition_of_the_wrong_type_is_named():
    p = Primitive("mystery")
    p.def_abstract_eval(lambda a: a)
    p.def_rule("decomposition", halved)
    message = r"the decomposition halved \(test_lowering\.py:\d+\) of 'mystery' returned tensor<2xf64> as result 0"
    with pytest.raises(TypeError, match=message):
        jit(lambda x: p.bind(x))(X)


def test_a_module_that_is_not_valid_is_refused_by_name():
    p = Primitive("mystery")
    p.def_abstract_eval(lambda a: a)
    register_lowering(p, lambda ctx, x: [hlo.AddOp(x, ir_constant(np.float32(1.0)), results=[x.type]).result])
    with pytest.raises(Exception, match=r"stablehlo\.add") as caught:
        jit(lambda x: p.bind(x))(X)
    assert any("compiling <lambda>" in note for note in caught.value.__notes__)


def test_equal_literals_share_a_constant_and_signs_of_zero_differ():
    text = text_of(lambda x: x * 2.0 + 2.0 + x * 2.0 + 0.0 + -0.0, X)
    assert text.count("stablehlo.constant") == 3


def test_cond_takes_the_branch_that_evaluation_takes_also_out_of_range():
    from calque_core.ops.calls.cond import cond_p  # noqa: PLC0415

    branches = tuple(make_jaxpr(lambda x, k=k: x * k)(np.float64(1.0)) for k in (1.0, 10.0, 100.0))
    branches = tuple(b.replace(constvars=(), consts=()) for b in branches)
    bind = lambda i, x: cond_p.bind(i, x, branches=branches, batched="select")[0]
    for index in (-7, -1, 0, 1, 2, 3, 99):
        i, x = np.int32(index), np.float64(2.0)
        assert float(jit(bind)(i, x)) == float(bind(i, x))


def test_cond_closes_over_values_around_it():
    def f(x, y):
        return lax.cond(x.sum() > 0.0, lambda v: v + y, lambda v: v - y * X, x)

    for sign in (1.0, -1.0):
        np.testing.assert_allclose(jit(f)(sign * X, X), f(sign * X, X), rtol=1e-14)


def test_100_000_equations_lower_without_recursion_and_in_linear_time():
    def chain(length):
        aval = ShapedArray((), "f8")
        variables = [Var(aval) for _ in range(length + 1)]
        eqns = [JaxprEqn(lax.sin_p, [a], [b], {}) for a, b in itertools.pairwise(variables)]
        return Jaxpr((), variables[:1], eqns, variables[-1:])

    def seconds(jaxpr):
        start = time.thread_time()
        lower_jaxpr_to_module(jaxpr)
        return time.thread_time() - start

    short, long = chain(10_000), chain(100_000)
    gc.collect()
    seconds(short)
    assert seconds(long) < 40 * min(seconds(short) for _ in range(3))


def test_lowering_leaves_no_context_behind_when_a_rule_raises():
    p = elementwise_primitive()
    register_lowering(p, lambda ctx, x: 1 / 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            jit(lambda x: p.bind(x))(X)
    assert jit(lambda x: x + 1.0)(1.0) == 2.0


@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: [1, (k,)]], ids=["alone", "in a list"])
@pytest.mark.parametrize("has_rule", [True, False])
def test_a_traced_value_as_a_parameter_is_named(wrap, has_rule):
    shift_p = elementwise_primitive("shift")
    if has_rule:
        shift_p.def_rule("decomposition", lambda x, *, k: lax.add(x, np.asarray(k)))
    program = jit(lambda x, k: lax.neg(shift_p.bind(x, k=wrap(k))))
    words = (
        r"the parameter k of 'shift' at test_lowering.py:\d+ .* is the traced value .*, but parameters must be known"
    )
    with pytest.raises(
        ConcretizationTypeError, match=words + r".* make the argument that decides it static \(static_ar"
    ):
        program(X, 1)


def test_a_primitive_without_a_rule_compiles_as_the_program_that_it_means():
    apply_p = Primitive("apply", multiple_results=True)
    means(apply_p, "function", run_program)
    apply_p.def_abstract_eval(lambda *avals, function, name: function.out_avals)
    sine = make_jaxpr(lax.sin)(np.float64(1))
    applied = lambda x: apply_p.bind(x, function=sine, name="sine")[0]
    assert jit(applied)(0.5) == jit(lax.sin)(0.5)
    assert applied(jit(lax.sin)(0.5)) == jit(lambda x: lax.sin(lax.sin(x)))(0.5)  # an operation on a device array
