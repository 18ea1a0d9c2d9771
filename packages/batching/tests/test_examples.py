"""The acceptance examples that core and batching run, each under its id.

| id | claim |
| --- | --- |
| A-09 | the function sees one element |
| A-10, A-11 | `in_axes` of another structure, and mapped axes of unequal sizes |
| A-12 | unmapped operands, and mapped axes in different places |
| A-13 | reductions, by the rule for their axes |
| A-26 | a tracer that escapes from `vmap` is refused |
| A-72, A-73 | `cond` with branches that close over tracers, and with a mapped predicate |
| P-18, P-19 | `vmap` of a new primitive, without and with a rule |
"""

import re
import threading

import numpy as np
import pytest

import calque_batching as batching
from calque_batching import vmap
from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    UnexpectedTracerError,
    check_jaxpr,
    config,
    eval_context,
    make_jaxpr,
    trace_state_clean,
)
from calque_core.lax import cond, cos, mul, reduce_sum, sin


def test_A_09_the_function_sees_one_element():
    def add_one_to_a_scalar(scalar):
        assert np.ndim(scalar) == 0
        return 1 + scalar

    vector_in = np.arange(3.0)
    assert f"{vector_in} {vmap(add_one_to_a_scalar, (0,))(vector_in)}" == "[0. 1. 2.] [1. 2. 3.]"


def test_A_10_in_axes_of_another_structure_are_refused():
    with pytest.raises(TypeError, match=r"in_axes has 2 entries for 1 positional arguments\. Give one entry per"):
        vmap(sin, (0, 0))(np.arange(3.0))
    with pytest.raises(TypeError, match=r"^vmap of sin .*in_axes"):
        vmap(sin, ({"a": 0},))(np.arange(3.0))


def test_A_11_unequal_sizes_are_refused_with_argument_axis_and_size():
    def combine(weights, x):
        return weights["w"] + x

    with pytest.raises(ValueError, match="all mapped axes must have one size") as caught:
        vmap(combine, (0, 1))({"w": np.ones(3)}, np.ones((2, 4)))
    line = combine.__code__.co_firstlineno
    assert str(caught.value) == (
        f"vmap of combine (test_examples.py:{line}): axis 1 of x has size 4, but axis 0 of weights['w'] has size 3; "
        "all mapped axes must have one size. Use in_axes=None for an argument that is not mapped."
    )


def test_A_12_an_unmapped_scalar_stays_a_scalar():
    assert vmap(lambda x: x * 2.0)(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    jaxpr = make_jaxpr(vmap(lambda x: x * 2.0))(np.arange(3.0))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]


def test_A_12_mapped_axes_in_different_places_are_brought_together():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)), rng.standard_normal((4, 3))
    np.testing.assert_array_equal(vmap(lambda x, y: x + y, (0, 1))(a, b), a + b.T)


def test_A_12_an_unmapped_array_meets_every_element():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4)), rng.standard_normal(4)
    np.testing.assert_array_equal(vmap(lambda x, y: x + y, (0, None))(a, b), a + b)


def test_A_13_a_reduction_skips_the_mapped_axis():
    x = np.arange(6.0).reshape(2, 3)
    assert vmap(lambda column: reduce_sum(column, 0), (1,))(x).tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("bdim", [0, 1, 2])
def test_A_13_the_rule_moves_the_axis_past_the_mapped_one(axis, bdim):
    x = np.arange(24.0).reshape(2, 3, 4)
    out = vmap(lambda element: reduce_sum(element, axis), (bdim,))(x)
    np.testing.assert_array_equal(out, np.moveaxis(x, bdim, 0).sum(axis + 1))
    [equation] = make_jaxpr(vmap(lambda element: reduce_sum(element, axis), (bdim,), bdim - (axis < bdim)))(x).eqns
    assert equation.params["axes"] == (axis + (bdim <= axis),)


# vmap refuses a tracer where it does not belong, and says where it was made.


def test_A_26_a_tracer_of_an_ended_vmap_is_refused():
    kept = []

    def leak(x):
        kept.append(x)
        return x

    vmap(leak)(np.arange(3.0))
    line = leak.__code__.co_firstlineno
    uses = (
        lambda: cos(kept[0]),
        lambda: vmap(lambda x: x * kept[0])(np.arange(3.0)),
        lambda: vmap(lambda x: kept[0])(np.arange(3.0)),
        lambda: vmap(lambda x: kept[0], out_axes=None)(np.arange(3.0)),
    )
    for use in uses:
        with pytest.raises(UnexpectedTracerError) as caught:
            use()
        assert f"its trace, vmap of leak (test_examples.py:{line}), has ended" in str(caught.value)
        assert re.search(r"It was made at .*test_examples\.py:\d+ ", str(caught.value))
    assert trace_state_clean()


def test_A_26_a_tracer_of_a_vmap_in_another_thread_is_refused():
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

    vmap(elsewhere)(np.arange(3.0))
    line = elsewhere.__code__.co_firstlineno
    assert f"it belongs to vmap of elsewhere (test_examples.py:{line}) in another thread" in caught[0]
    assert re.search(r"It was made at .*test_examples\.py:\d+ ", caught[0])


def test_A_26_a_tracer_of_an_open_vmap_that_reaches_evaluation_is_refused():
    def evaluated(x):
        with eval_context():
            return sin(x)

    with pytest.raises(UnexpectedTracerError) as caught:
        vmap(evaluated)(np.arange(3.0))
    line = evaluated.__code__.co_firstlineno
    expected = f"it belongs to vmap of evaluated (test_examples.py:{line}), and evaluation runs outside of it"
    assert expected in str(caught.value)
    assert re.search(r"It was made at .*test_examples\.py:\d+ ", str(caught.value))
    assert trace_state_clean()


# Examples of branches (A).


def test_A_72_branches_that_close_over_a_mapped_value():
    out = vmap(lambda x: cond(True, lambda: x + 1.0, lambda: 0.0), (0,))(np.array([1.0, 2.0, 3]))
    assert str(out) == "[2. 3. 4.]"


def test_A_73_differs_a_mapped_predicate_chooses_by_element():
    # The document raises NotImplementedError.
    out = vmap(lambda x: cond(x > 1.5, lambda: x + 1.0, lambda: 0.0))(np.array([1.0, 2.0, 3.0]))
    assert str(out) == "[0. 3. 4.]"


def test_A_73_a_mapped_predicate_can_be_refused_on_request():
    def f(x):
        return cond(x > 1.5, lambda: x + 1.0, lambda: 0.0, batched="error")

    with pytest.raises(Exception, match="cond") as caught:
        vmap(f)(np.array([1.0, 2.0, 3.0]))
    assert f"test_examples.py:{f.__code__.co_firstlineno + 1} " in str(caught.value)


# The note on part 5: the document batches every result of a program, this core those that depend on a mapped argument.


@pytest.mark.parametrize(("f", "out"), [(lambda x: x, "float32[10]"), (lambda x: np.float32(0.0), "float32[]")])
def test_a_result_of_a_program_is_batched_only_if_it_is_mapped(f, out):
    jaxpr = make_jaxpr(f)(ShapedArray((), np.float32))
    batched, _ = batching.batch_jaxpr_axes(jaxpr, batching.AxisData(None, 10), [0])
    assert str(check_jaxpr(batched)) == f"(float32[10]) -> ({out})"
    assert vmap(f)(np.zeros(10, np.float32)).shape == (10,)


# P: a new primitive, in both regimes


@pytest.fixture(params=["64 bits", "32 bits"])
def dtype(request):
    """The dtype of Python floats in the regime of the test."""
    if request.param == "64 bits":
        yield np.dtype("float64")
    else:
        with config.enable_x64(False):
            yield np.dtype("float32")


@pytest.fixture
def multiply_add_p():
    multiply_add_p = Primitive("multiply_add")
    multiply_add_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    multiply_add_p.def_abstract_eval(lambda x, y, z: ShapedArray(x.shape, x.dtype))
    return multiply_add_p


def square_add(multiply_add_p):
    return lambda a, b: multiply_add_p.bind(a, a, b)


A, B = np.array([2.0, 3.0]), np.array([10.0, 20.0])


@pytest.mark.usefixtures("dtype")
def test_P_18_vmap_without_a_rule_says_what_is_missing(multiply_add_p):
    with pytest.raises(NotImplementedError) as caught:
        vmap(square_add(multiply_add_p), in_axes=0, out_axes=0)(A, B)
    error, line = caught.value, square_add.__code__.co_firstlineno + 1
    assert str(error).splitlines() == [
        "Batching rule for 'multiply_add' not implemented",
        "calque_batching reads this rule; register one with calque_batching.defbatch(multiply_add_p, fn).",
        "vmap(.., missing='loop') runs 'multiply_add' for one element after the other.",
    ]
    assert error.__notes__[:-1] == [
        f"'multiply_add' was bound at test_examples.py:{line} (square_add.<locals>.<lambda>).",
        "Rules that 'multiply_add' has: abstract_eval, impl.",
    ]
    assert (type(error), error.kind, error.package) == (MissingRuleError, "batch", "calque_batching")
    assert trace_state_clean()


def test_P_19_the_rule_gets_whole_arrays_and_axes(multiply_add_p, dtype):
    calls = []

    def multiply_add_batch(vector_args, batch_axes):
        calls.append((vector_args, batch_axes))
        return multiply_add_p.bind(*vector_args), batch_axes[0]

    batching.primitive_batchers[multiply_add_p] = multiply_add_batch
    out = vmap(square_add(multiply_add_p), in_axes=0, out_axes=0)(A, B)
    assert out.tolist() == [14.0, 29.0]
    assert out.dtype == dtype
    [(vector_args, batch_axes)] = calls
    assert tuple(batch_axes) == (0, 0, 0)
    assert [x.tolist() for x in vector_args] == [[2.0, 3.0], [2.0, 3.0], [10.0, 20.0]]


def test_P_19_the_rule_is_the_same_under_every_way_to_give_it(multiply_add_p, dtype):
    rule = multiply_add_p.def_rule("batch", lambda args, dims: (mul(args[0], args[1]) + args[2], dims[0]))
    assert batching.primitive_batchers[multiply_add_p] is rule
    assert vmap(square_add(multiply_add_p))(A, B).tolist() == [14.0, 29.0]
    with pytest.raises(ValueError, match=r"'multiply_add' has a rule for 'batch' from .* gives another"):
        batching.defbatch(multiply_add_p, rule)
