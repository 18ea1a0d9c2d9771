"""Plans: straight-line code for types met before gives what the batching rules give."""

import numpy as np
import pytest

from calque_batching import AxisData, BatchTrace, BatchTracer, defbatch, vmap
from calque_batching.known import batches, known_batch
from calque_core import Primitive, Trace, config, evaluation, hand_down, lax, make_jaxpr, tracing, typeof
from calque_core.engine import Call

X = np.linspace(0.5, 1.5, 12).reshape(3, 4)
CONSTANT = np.linspace(-1.0, 1.0, 4)


def counting_primitive():
    """Return a primitive, x -> 3 x, and the list of the calls of its batching rule."""
    calls = []
    triple_p = Primitive("triple")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())

    def batch(args, dims):
        calls.append(dims)
        return triple_p.bind(*args), dims[0]

    defbatch(triple_p, batch)
    return triple_p, calls


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.dot(x, x),
        lambda x: lax.reshape(x, (2, 2)),
        lambda x: lax.concatenate([x, CONSTANT], 0),
        lambda x: x * CONSTANT - 2.0,
        lambda x: lax.reduce_max(x),
        lambda x: x[1:][0],
        lambda x: lax.broadcast_in_dim(x, (3, 4), (1,)),
        lambda x: lax.mul(*lax.split(x, (2, 2))),
    ],
)
@pytest.mark.parametrize("in_axes", [0, 1])
def test_each_call_gives_the_same_results(f, in_axes):
    xs = np.moveaxis(X, 0, in_axes)
    first, *later = [vmap(f, in_axes=in_axes)(xs) for _ in range(5)]
    np.testing.assert_allclose(first, np.stack([f(x) for x in X]), rtol=1e-14)
    for outs in later:
        np.testing.assert_array_equal(outs, first)


@pytest.mark.counts
def test_the_rule_runs_three_times_for_operands_of_one_type():
    triple_p, calls = counting_primitive()
    for n in (3, 3, 3, 3, 3):
        np.testing.assert_array_equal(vmap(triple_p.bind)(X[:n]), 3.0 * X[:n])
    assert len(calls) == 3  # twice with arrays, and once traced


@pytest.mark.counts
def test_the_rule_runs_no_more_in_nested_maps():
    triple_p, calls = counting_primitive()
    xs = np.stack([X, 2.0 * X])
    in_both = vmap(vmap(lambda x: triple_p.bind(x) + triple_p.bind(x[0])))
    for _ in range(9):
        np.testing.assert_array_equal(in_both(xs), 3.0 * xs + 3.0 * xs[..., :1])
    before = len(calls)
    np.testing.assert_array_equal(in_both(xs), 3.0 * xs + 3.0 * xs[..., :1])
    assert len(calls) == before


def test_a_trace_below_that_takes_no_plans_sees_each_operation():
    seen = []

    class Listener(Trace):
        def process_primitive(self, primitive, args, params):
            seen.append(primitive.name)
            return hand_down(self.parent, primitive, args, params)

    for _ in range(5):
        seen.clear()
        with tracing(Listener(evaluation)):
            vmap(lambda x: lax.sin(lax.neg(x)))(X)
        assert seen == ["neg", "sin"]


@pytest.mark.counts
def test_operands_of_another_type_axis_or_size_have_a_plan_of_their_own():
    triple_p, calls = counting_primitive()
    for xs, axis in [(X, 0), (X, 1), (X[:2], 0), (X.astype(np.float32), 0)] * 5:
        assert typeof(vmap(triple_p.bind, in_axes=axis, out_axes=axis)(xs)) == typeof(3.0 * xs)
    assert len(calls) == 12


def test_a_rule_that_replaces_another_one_is_used_at_once():
    triple_p, _ = counting_primitive()
    for _ in range(4):
        vmap(triple_p.bind)(X)
    triple_p.def_rule("batch", lambda args, dims: (-triple_p.bind(*args), dims[0]), override=True)
    np.testing.assert_array_equal(vmap(triple_p.bind)(X), -3.0 * X)


def test_other_settings_do_not_use_plans():
    for _ in range(4):
        vmap(lax.sin)(X)
    with config.enable_x64(False):
        assert vmap(lax.sin)(X).dtype == np.float32


def test_a_result_that_is_the_operand_is_left_to_the_rule():
    copy_p = Primitive("same")
    copy_p.def_impl(lambda x: x, leaf=True)
    copy_p.def_abstract_eval(lambda x: x)
    defbatch(copy_p, lambda args, dims: (args[0], dims[0]))
    trace = BatchTrace(evaluation, AxisData(None, 3))
    args = [BatchTracer(trace, X, 0)]
    assert known_batch(Call(trace, copy_p, args, {}, args, frozenset())) is None


def test_an_error_of_an_operation_is_the_one_of_the_rule():
    with np.errstate(divide="raise"):
        for _ in range(4):
            with pytest.raises(FloatingPointError, match="divide by zero"):
                vmap(lambda x: 1.0 / (x - x))(X)


def test_a_weak_element_stays_weak():
    types = []

    def f(x):
        types.append(typeof(lax.neg_p.bind(x)))
        return x

    for _ in range(4):
        vmap(lambda x: f(lax.convert_element_type_p.bind(x, new_dtype=np.dtype(float), weak_type=True)))(X[:, 0])
    assert {aval.weak_type for aval in types} == {True}


def test_operations_of_a_program_have_no_plan():
    before = len(batches.known)
    for _ in range(4):
        make_jaxpr(vmap(lambda x: lax.cos(x) * 7.0))(X)
    assert len(batches.known) == before


@pytest.mark.parametrize("values", [(0.0, -0.0), (2, 2.0), ((0.0, 1), (-0.0, 1)), (1, True)], ids=str)
def test_parameters_that_compare_equal_have_plans_of_their_own(values):
    scaled_p = Primitive("scaled")
    scaled_p.def_impl(lambda x, *, s: x * float(len(repr(s))), leaf=True)
    scaled_p.def_abstract_eval(lambda x, *, s: x)
    defbatch(scaled_p, lambda vals, dims, *, s: (scaled_p.bind(*vals, s=s), dims[0]))
    for _ in range(4):
        for s in values:
            np.testing.assert_array_equal(vmap(lambda x, s=s: scaled_p.bind(x, s=s))(np.ones(3)), len(repr(s)))
