"""Linearized operations: straight-line code for types met before gives what the rules give."""

import copy

import numpy as np
import pytest

from calque_autodiff import defjvp, deftranspose, grad, linearize, value_and_grad, vjp
from calque_autodiff.known import every_size
from calque_autodiff.known.every_size import linearized_by_code
from calque_autodiff.known.operation import linearized_operation
from calque_autodiff.known.steps import Step
from calque_autodiff.known.tables import linearizations
from calque_core import Primitive, ShapedArray, config, eval_jaxpr, lax, typeof
from calque_core.engine import CodeTrace, TypedCall, operation_of
from calque_core.known.table import attempt
from calque_pytree import tree_flatten

X = np.linspace(0.5, 1.5, 4)
CONSTANT = np.linspace(-1.0, 1.0, 4)
MATRIX = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
FUNCTIONS = {
    "one operand twice": lambda x: lax.reduce_sum(x * x * lax.sin(x)),
    "a constant array": lambda x: lax.reduce_sum(x * CONSTANT - CONSTANT),
    "numbers": lambda x: lax.reduce_sum((2.0 * x - 1) / 3.0 + x**3),
    "parameters": lambda x: lax.reduce_sum(lax.reshape(x, (2, 2))[1:] * x[0]),
    "a product": lambda x: lax.reduce_sum(lax.tanh(lax.dot(MATRIX, x))),
    "a part without a derivative": lambda x: lax.reduce_sum(x * lax.floor(x) + lax.select(x > 1.0, x, CONSTANT)),
    "several results": lambda x: lax.reduce_sum(lax.mul(*lax.split(x, (2, 2)))),
    "one of several results": lambda x: lax.reduce_sum(lax.split(x * x, (1, 3))[1]),
    "results that are integers": lambda x: lax.reduce_sum(lax.sort((x, lax.iota(int, 4)), num_keys=1)[0] * CONSTANT),
    "a program": lambda x: lax.fori_loop(0, 3, lambda i, y: lax.sin(y) * y, lax.reduce_sum(x)),
}


def differences(f, x, step=1e-6):
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_call_of_a_gradient_gives_the_same_numbers(name):
    f = FUNCTIONS[name]
    expected = differences(f, X)
    for _ in range(5):
        np.testing.assert_allclose(grad(f)(X), expected, atol=1e-8)
        _, pullback = vjp(f, X)
        np.testing.assert_allclose(pullback(1.0)[0], expected, atol=1e-8)
        np.testing.assert_array_equal(pullback(2.0)[0], 2.0 * pullback(1.0)[0])


def test_second_derivatives_go_through_steps_of_the_outer_gradient():
    f = lambda x: lax.sin(x) * x * 2.0
    for _ in range(5):
        np.testing.assert_allclose(grad(grad(f))(0.3), 4.0 * np.cos(0.3) - 0.6 * np.sin(0.3), rtol=1e-12)


def counting_primitive():
    """Return a primitive, x -> 3 x, and the list of the calls of its rules."""
    calls = []
    triple_p = Primitive("triple")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())

    def jvp(x_dot, out, x):
        calls.append("jvp")
        return triple_p.bind(x_dot)

    def transpose(ct, x):
        calls.append("transpose")
        return [triple_p.bind(ct)]

    defjvp(triple_p, jvp)
    deftranspose(triple_p, transpose)
    return triple_p, calls


@pytest.mark.counts
def test_the_rules_of_a_leaf_run_until_its_types_were_met_three_times():
    triple_p, calls = counting_primitive()
    for _ in range(8):
        assert grad(triple_p.bind)(2.0) == 3.0
    assert calls == ["jvp", "transpose"] * 3
    assert grad(triple_p.bind)(np.float32(2.0)) == 3.0
    assert len(calls) == 8


def test_a_rule_that_replaces_another_one_is_used_at_once():
    triple_p, _ = counting_primitive()
    for _ in range(4):
        assert grad(triple_p.bind)(2.0) == 3.0
    triple_p.def_rule("transpose", lambda ct, x: [triple_p.bind(triple_p.bind(ct))], override=True)
    assert grad(triple_p.bind)(2.0) == 9.0


def test_the_rules_run_under_settings_of_their_own():
    triple_p, calls = counting_primitive()
    for _ in range(4):
        grad(triple_p.bind)(2.0)
    before = len(calls)
    with config.enable_checks(True):
        assert grad(triple_p.bind)(2.0) == 3.0
    with config.enable_x64(False):
        assert grad(triple_p.bind)(2.0).dtype == np.float32
    assert len(calls) == before + 4


def test_parameters_without_a_hash_are_left_to_the_rules():
    scale_p = Primitive("scale")
    scale_p.def_impl(lambda x, *, factors: np.multiply(factors[0], x), leaf=True)
    scale_p.def_abstract_eval(lambda x, *, factors: x.strip_weak_type())
    defjvp(scale_p, lambda x_dot, out, x, factors: scale_p.bind(x_dot, factors=factors))
    deftranspose(scale_p, lambda ct, x, factors: [scale_p.bind(ct, factors=factors)])
    for k in (2.0, 3.0, 4.0, 5.0, 6.0):
        assert grad(lambda x, k=k: scale_p.bind(x, factors=[k]))(1.0) == k


def test_a_write_to_a_captured_array_changes_no_residual():
    def f(x):
        buffer = np.ones(4)
        y = x * buffer
        buffer[:] = 100.0
        return lax.reduce_sum(y * buffer)

    for _ in range(5):
        np.testing.assert_array_equal(grad(f)(X), np.full(4, 100.0))


def test_a_write_to_a_result_changes_no_later_cotangent():
    for _ in range(5):
        y, pullback = vjp(lax.exp, X)
        expected = np.exp(X)
        y[:] = 0.0
        np.testing.assert_array_equal(pullback(np.ones(4))[0], expected)


def test_an_error_in_straight_line_code_names_the_rule_and_the_line():
    f = lambda x: lax.reduce_sum(lax.log(x))
    for _ in range(4):
        grad(f)(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
        grad(f)(np.array([1.0, 0.0]))
    assert any("derivative rule of 'log'" in note for note in caught.value.__notes__)


def test_a_pullback_is_a_pytree_whose_program_is_that_of_the_rules():
    f = lambda x: lax.tanh(lax.dot(MATRIX, x * CONSTANT)) * 2.0
    programs = []
    for _ in range(5):
        _, pullback = vjp(f, X)
        expected = pullback(np.ones(3))[0]
        leaves, treedef = tree_flatten(pullback)
        for each in (pullback, treedef.unflatten(leaves), copy.deepcopy(pullback)):
            np.testing.assert_array_equal(each(np.ones(3))[0], expected)
        programs.append(str(pullback.program.jaxpr))
        out = eval_jaxpr(pullback.program.jaxpr, (), *pullback.consts, X)
        np.testing.assert_allclose(out[0], linearize(f, X)[1](X))
    assert len(set(programs)) == 1


def linearized(primitive, avals, mask):
    """Return a primitive on operands of these types, those in `mask` with tangents, as code."""
    typed = TypedCall(primitive, {}, avals, mask, [False] * len(avals), range(len(avals)), [])
    return linearized_operation(operation_of(typed, CodeTrace), mask)


def test_an_operation_is_two_functions_and_two_programs():
    avals = [ShapedArray((4,), np.float64), typeof(2.0)]
    operation = linearized(lax.mul_p, avals, [True, False])
    out, residuals = operation.run(X, 2.0)
    np.testing.assert_array_equal(out, 2.0 * X)
    assert residuals == (2.0,)
    np.testing.assert_array_equal(operation.pull.code.function(CONSTANT, 2.0)[0], 2.0 * CONSTANT)
    np.testing.assert_array_equal(operation.pull.for_tracers(2.0, CONSTANT)[0], 2.0 * CONSTANT)
    np.testing.assert_array_equal(eval_jaxpr(operation.programs().linear, (), 2.0, CONSTANT)[0], 2.0 * CONSTANT)


@pytest.mark.counts
def test_an_operation_without_a_derivative_is_code_that_records_no_step():
    operation = linearized(lax.floor_p, [ShapedArray((4,), np.float64)], [True])
    assert operation.dot_avals == [None]
    (out,), residuals = operation.run(1.5 * X)
    np.testing.assert_array_equal(out, np.floor(1.5 * X))
    assert residuals == ()
    for _ in range(4):
        y, pullback = vjp(lambda x: (lax.floor(x) * x, x > 1.0, lax.argmax(x, 0, np.int32)), X)
        assert len(pullback.tape.eqns) == 1
        np.testing.assert_array_equal(y[0], np.floor(X) * X)
        np.testing.assert_array_equal(y[1], X > 1.0)
        assert (y[1].dtype, type(y[2]), y[2]) == (bool, np.int32, 3)


def test_what_the_rules_refuse_is_no_operation():
    avals = [ShapedArray((4,), np.float64)]
    refused_p = Primitive("refused")
    refused_p.def_abstract_eval(lambda x: x)

    @refused_p.def_rule("jvp")
    def refuse(primals, tangents):
        raise NotImplementedError("it has no derivative")

    assert attempt(linearized, refused_p, avals, [True]) is None


def test_the_memo_is_bounded(monkeypatch):
    monkeypatch.setattr("calque_core.known.table._LIMIT", 5)
    value_and_grad(lambda x: lax.sin(x))(1.0)
    for n in range(1, 20):
        grad(lambda x: lax.reduce_sum(lax.sin(x)))(np.ones(n))
    assert len(linearizations.known) <= 5


@pytest.mark.counts
def test_a_chain_records_one_step_per_operation():
    f = lambda x: lax.sin(lax.sin(x))
    for _ in range(3):
        vjp(f, 1.0)
    _, pullback = vjp(f, 1.0)
    assert [type(entry) for entry in pullback.tape.eqns] == [Step, Step]


@pytest.mark.counts
def test_several_results_are_one_step_whose_way_back_depends_on_those_with_a_cotangent():
    f = lambda x: lax.split(x, (1, 3))
    for _ in range(4):
        _, pullback = vjp(f, X)
        cts = [np.array([2.0]), np.arange(3.0)]
        np.testing.assert_array_equal(pullback(cts)[0], np.concatenate(cts))
        np.testing.assert_array_equal(pullback([0.0 * cts[0], cts[1]])[0], [0.0, 0.0, 1.0, 2.0])
    assert [type(entry) for entry in pullback.tape.eqns] == [Step]
    leaves, treedef = tree_flatten(pullback)
    np.testing.assert_array_equal(treedef.unflatten(leaves)(cts)[0], np.concatenate(cts))


@pytest.mark.parametrize("values", [(0.0, -0.0), (2, 2.0), ((0.0, 1), (-0.0, 1)), (1, True)], ids=str)
def test_parameters_that_compare_equal_have_operations_of_their_own(values):
    scaled_p = Primitive("scaled")
    scaled_p.def_impl(lambda x, *, s: np.multiply(x, text_number(s)), leaf=True)
    scaled_p.def_abstract_eval(lambda x, *, s: x.strip_weak_type())
    defjvp(scaled_p, lambda x_dot, out, x, s: np.multiply(x_dot, text_number(s)))
    for _ in range(4):
        for s in values:
            assert value_and_grad(lambda x, s=s: scaled_p.bind(x, s=s))(2.0) == (2.0 * text_number(s), text_number(s))


def text_number(value):
    """Return another number for each text."""
    return float(len(repr(value)))


@pytest.mark.counts
def test_code_for_arrays_of_other_sizes_is_prepared_when_another_size_is_met(monkeypatch):
    prepared = []

    def by_code(known, program, by_rules):
        prepared.append(program)
        return linearized_by_code(known, program, by_rules)

    monkeypatch.setattr(every_size, "linearized_by_code", by_code)
    linearizations.clear()
    gradient = grad(lambda x: lax.reduce_sum(lax.dot(x, x)))
    for _ in range(4):
        gradient(X)
    assert linearizations.known
    assert not prepared
    np.testing.assert_array_equal(gradient(X[1:]), 2 * X[1:])
    assert prepared
