import numpy as np
import pytest

from calque_batching import AxisData, BatchTrace, BatchTracer, vmap
from calque_core import (
    Primitive,
    ShapedArray,
    TracerArrayConversionError,
    TracerBoolConversionError,
    UnexpectedTracerError,
    current_trace,
    evaluation,
    lax,
    trace_state_clean,
    tracing,
    typeof,
)


def test_a_tracer_has_the_type_of_one_element():
    seen = []

    vmap(lambda x: seen.append((typeof(x), x.shape, x.ndim, repr(x))) or x, in_axes=1)(np.zeros((2, 3), np.float32))

    text = "BatchTracer(aval=float32[2], batched=float32[2,3])"
    assert seen == [(ShapedArray((2,), np.float32), (2,), 1, text)]


def test_numpy_is_told_the_rank_of_one_element():
    def add_one_to_a_scalar(scalar):
        assert np.ndim(scalar) == 0
        return lax.add(1, scalar)

    assert vmap(add_one_to_a_scalar, (0,))(np.arange(3.0)).tolist() == [1.0, 2.0, 3.0]


def test_what_touches_no_mapped_value_is_computed_once():
    calls = []
    once_p = Primitive("once")
    once_p.def_impl(lambda x: calls.append(x) or np.sin(x))

    out = vmap(lambda x: lax.add(x, once_p.bind(2.0)))(np.zeros(3))

    assert calls == [2.0]
    assert out.tolist() == [np.sin(2.0)] * 3


def test_a_trace_can_be_used_without_vmap():
    trace = BatchTrace(current_trace(), AxisData(None, 3))

    with tracing(trace):
        out = lax.reduce_sum(BatchTracer(trace, np.arange(6.0).reshape(2, 3), 1))
    vals, dims = trace.split([out, 7.0])

    assert dims == [0, None]
    assert vals[0].tolist() == [3.0, 5.0, 7.0]
    assert vals[1] == 7.0


def test_a_primitive_without_a_rule_is_decomposed():
    double_p = Primitive("double")
    double_p.def_rule("decomposition", lambda x: lax.add(x, x))

    assert vmap(double_p.bind)(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_the_trace_is_left_when_the_function_raises():
    def failing(x):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match=r"stop"):
        vmap(failing, axis_name="i")(np.zeros(3))

    assert trace_state_clean()
    assert current_trace() is evaluation
    with pytest.raises(NameError):
        lax.axis_size("i")


def test_the_trace_is_left_when_a_rule_raises():
    broken_p = Primitive("broken")

    def rule(args, dims):
        raise KeyError("tile")

    broken_p.def_rule("batch", rule)
    with pytest.raises(KeyError, match=r"tile"):
        vmap(broken_p.bind)(np.zeros(3))

    assert trace_state_clean()


@pytest.mark.parametrize("wrong", [5, -1, 1])
def test_a_rule_that_reports_a_wrong_axis_is_refused_by_name(wrong):
    mystery_p = Primitive("mystery")
    mystery_p.def_impl(lambda x: x)
    mystery_p.def_rule("batch", lambda args, dims: (mystery_p.bind(*args), wrong))

    expected = (
        f"the batching rule of 'mystery' at .* returned float64.3,2. with the batch axis {wrong}, but the result has "
        "no axis"
    )
    with pytest.raises(ValueError, match=expected):
        vmap(mystery_p.bind)(np.ones((3, 2)))


def test_a_batched_predicate_is_refused_with_the_users_line_and_a_way_out():
    def absolute(x):
        return x if lax.gt(x, 0.0) else lax.neg(x)

    with pytest.raises(TracerBoolConversionError) as caught:
        vmap(absolute)(np.ones(3))

    message = str(caught.value)
    assert "under vmap of absolute (test_batch_trace.py:" in message
    assert "at test_batch_trace.py:" in message
    assert "Use numpy.where, lax.cond or lax.while_loop" in message


def test_a_tracer_does_not_become_an_array():
    with pytest.raises(TracerArrayConversionError, match=r"under vmap of"):
        vmap(np.asarray)(np.ones(3))


def test_a_tracer_kept_from_a_closed_trace_is_refused_with_the_place_where_it_was_made():
    kept = []

    def leak(x):
        kept.append(lax.sin(x))
        return x

    vmap(leak)(np.ones(3))
    for use in (lambda: lax.add(kept[0], 1.0), lambda: vmap(lambda x: lax.add(x, kept[0]))(np.ones(3))):
        with pytest.raises(UnexpectedTracerError) as caught:
            use()
        assert "its trace, vmap of leak (test_batch_trace.py:" in str(caught.value)
        assert "It was made at" in str(caught.value)


def test_a_tracer_kept_from_a_closed_trace_is_refused_as_a_result():
    kept = []
    vmap(lambda x: kept.append(x) or x)(np.ones(3))

    with pytest.raises(UnexpectedTracerError, match=r"an escaped tracer of type float64"):
        vmap(lambda x: kept[0])(np.ones(3))


def test_a_tracer_of_an_outer_vmap_is_a_constant_of_an_inner_one():
    x, y = np.arange(2.0), np.arange(3.0)

    out = vmap(lambda a: vmap(lambda b: lax.add(lax.mul(a, 10.0), b))(y))(x)

    assert out.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]


# Python scalars


def test_an_element_is_weak_where_the_function_of_one_element_gives_a_python_scalar():
    xs, p = np.array([1.0, -2.0]), np.ones(2, np.float32)
    weak = []

    def f(x):
        c = lax.cond(x > 0, lambda: 1.0, lambda: 2.0)
        n = lax.while_loop(lambda n: n < x, lambda n: n + 1, 0)
        values = [c, c + 1, n, n * 2, c > n, n // 2, lax.sin(c), x * c]
        weak.append([typeof(v).weak_type for v in values])
        return p * c, p * (n + 1), p * (c // 1), values

    *products, values = vmap(f)(xs)
    assert [y.dtype for y in products] == [np.float32] * 3
    assert weak == [[True] * 6 + [False] * 2]
    assert not any(typeof(v).weak_type for v in values)
    for x, *got in zip(xs, *products):
        for one, want in zip(got, f(x)[:3]):
            assert np.array_equal(one, want)


def test_a_rule_applies_a_function_of_elements_to_the_whole_batch_by_its_axis():
    scaled_p = Primitive("scaled")
    scaled_p.def_abstract_eval(lambda x, y: x)
    element = lambda x, y: [lax.mul(x, lax.add(y, lax.psum(1.0, "i")))]

    @scaled_p.def_rule("axis_batch")
    def scaled_batch(axis, args, dims):
        (out,), (dim,) = axis.apply(element, args, dims)
        return out, dim

    out = vmap(scaled_p.bind, in_axes=(1, None), axis_name="i")(np.ones((2, 3)), 1.0)
    np.testing.assert_array_equal(out, np.full((3, 2), 4.0))
