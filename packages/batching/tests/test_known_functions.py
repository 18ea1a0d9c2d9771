"""A known function has the results of its batching rules, without a run."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_batching.known import batches
from calque_core import Primitive, config, current_trace, jaxpr_as_fun, lax, make_jaxpr
from calque_core.engine import advance_rule_epoch

X = np.linspace(-0.5, 1.5, 24).reshape(4, 2, 3)
ROW = np.linspace(0.5, 1.5, 3)
COUNT = 5  # the third call makes the plan


def run(function, *args, **options):
    return current_trace().process_function(function, args, options)


@pytest.mark.parametrize(
    "f",
    [
        np.sum,
        lambda x: np.max(x, axis=0),
        lambda x: x.mean(axis=-1, keepdims=True),
        lambda x: np.var(x, axis=1, ddof=1) + x.std(),
        lambda x: x[1],
        lambda x: (x[0], x[:, 1:], x[..., None], x[-1, ::-1]),
        lambda x: x[[1, 0, 1]],
        lambda x: x[:, ROW > 0.7],
        lambda x: np.reshape(x, (3, 2), order="F").T,
        lambda x: np.multiply(x, ROW) + np.add(ROW, x),
        lambda x: (np.maximum(x, 0.0), np.maximum(x, -0.0), np.power(x, 2), np.power(x, 2.0)),
        lambda x: np.argmax(x, 1),
        lambda x: np.prod(x, 0),
        lambda x: np.any(x > 0.5, 1) * x.shape[0],
        lambda x: x.astype(np.float32) * x.astype("int8"),
        lambda x: np.divmod(x, 0.3),
        lambda x: np.matmul(x, x.T),
        lambda x: vmap(np.sum)(x),
        lambda x: vmap(lambda y: np.max(y) * np.sum(x), axis_name="i")(x),
    ],
)
@pytest.mark.parametrize("in_axes", [0, 1, -1])
def test_each_call_gives_the_same_results(f, in_axes):
    xs = np.moveaxis(X, 0, in_axes)
    first, *later = [vmap(f, in_axes=in_axes)(xs) for _ in range(COUNT)]
    each = [f(x) for x in X]
    for k, out in enumerate(first if isinstance(first, tuple) else [first]):
        expected = np.stack([e[k] if isinstance(e, tuple) else e for e in each])
        np.testing.assert_allclose(out, expected, rtol=1e-6)
        assert out.dtype == expected.dtype
    for outs in later:
        assert type(outs) is type(first)
        for out, one in zip(*(x if isinstance(x, tuple) else [x] for x in (outs, first)), strict=True):
            np.testing.assert_array_equal(out, one)
            assert out.dtype == one.dtype


def calls_of(function, *args, in_axes=0, **options):
    """Return how often `function` runs in ten calls of `vmap`, and their results."""
    count = []

    def counted(*args, **options):
        count.append(1)
        return function(*args, **options)

    outs = [vmap(lambda *xs: run(counted, *xs, **options), in_axes)(*args) for _ in range(10)]
    return len(count), outs


@pytest.mark.counts
def test_a_function_runs_until_its_plan_is_made():
    count, outs = calls_of(lambda x, k: lax.mul(lax.sin(x), lax.neg(x)) if k else x, X, k=3)
    assert count == 3
    for out in outs:
        np.testing.assert_array_equal(out, np.sin(X) * -X)


@pytest.mark.parametrize(
    ("function", "args", "in_axes"),
    [
        (lambda x: x, (X,), 0),  # its result is its operand
        (lambda x: lax.cond(True, lax.sin, lax.cos, x), (X,), 0),  # holds programs
        (lambda x: lax.add(x, np.ones((2, 3))), (X,), 0),  # captures an array
        (lambda x: lax.zeros_like(x), (X,), 0),  # its result is no tracer
        (lax.mul, (X, X[0]), (0, None)),  # may ask for the value of an array
    ],
)
def test_a_function_without_a_plan_runs_at_each_call(function, args, in_axes):
    count, outs = calls_of(function, *args, in_axes=in_axes)
    assert count >= 10
    expected = np.stack([function(*(a[i] if d == 0 else a for a, d in zip(args, [0, None]))) for i in range(4)])
    for out in outs:
        np.testing.assert_array_equal(out, expected)


def test_options_of_equal_hash_have_plans_of_their_own():
    for _ in range(COUNT):
        for factor in (1, 1.0, True, 0.0, -0.0):
            out = vmap(lambda x, k=factor: np.arctan2(k, x))(X)
            np.testing.assert_array_equal(out, np.arctan2(factor, X))


def test_an_operand_that_comes_twice_is_one_operand():
    for _ in range(COUNT):
        np.testing.assert_array_equal(vmap(lambda x: np.subtract(x, x))(X), np.zeros_like(X))
        np.testing.assert_array_equal(vmap(np.subtract)(X, 2.0 * X), -X)


def test_a_view_is_marked_in_each_call():
    def overwritten(x):
        view = x[1:]
        view += 1.0
        return x * 2.0

    for _ in range(COUNT):
        with pytest.raises(Exception, match=r"\+="):
            vmap(overwritten)(X)


def test_results_of_a_plan_share_no_memory_with_arguments():
    for _ in range(COUNT):
        xs = X.copy()
        out = vmap(lambda x: x[1])(xs)
        out[...] = 0.0
        np.testing.assert_array_equal(xs, X)


def test_a_rule_that_replaces_another_one_is_used_at_once():
    triple_p = Primitive("triple")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())
    triple_p.def_rule("batch", lambda args, dims: (triple_p.bind(*args), dims[0]))

    def triple(x):
        return triple_p.bind(x)

    for _ in range(COUNT):
        vmap(lambda x: run(triple, x))(X)
    triple_p.def_rule("batch", lambda args, dims: (-triple_p.bind(*args), dims[0]), override=True)
    np.testing.assert_array_equal(vmap(lambda x: run(triple, x))(X), -3.0 * X)


@pytest.mark.counts
@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
def test_operands_of_a_program_may_be_mapped_or_not(in_axes):
    program = jaxpr_as_fun(make_jaxpr(lambda x, y: (x * y, lax.sin(x), y))(ROW, ROW))
    xs = [np.stack([ROW, 2.0 * ROW]) if axis == 0 else ROW for axis in in_axes]
    x, y = [np.broadcast_to(x, (2, 3)) for x in xs]
    for _ in range(COUNT):
        outs = vmap(lambda x, y: tuple(run(program, x, y)), in_axes)(*xs)
        for got, want in zip(outs, (x * y, np.sin(x), y), strict=True):
            np.testing.assert_array_equal(got, want)
    assert [callable(known.code) for key, known in batches.known.items() if key[0] is program] == [True]


def test_a_program_with_an_operand_of_another_type_is_interpreted():
    program = jaxpr_as_fun(make_jaxpr(lambda x, y: x * y)(ROW, ROW))
    for _ in range(COUNT):
        (out,) = vmap(lambda x: run(program, x, 2.0 * np.ones(3, np.float32)[0].item()))(X[:, 0])
        np.testing.assert_array_equal(out, 2.0 * X[:, 0])


@pytest.mark.counts
def test_a_new_epoch_drops_all_plans():
    for _ in range(COUNT):
        vmap(np.sum)(X)
    assert batches.known
    advance_rule_epoch()
    assert not batches.known


def test_a_plan_made_while_a_rule_changes_is_not_kept():
    def impatient(x):
        advance_rule_epoch()
        return lax.sin(x)

    for _ in range(COUNT):
        np.testing.assert_array_equal(vmap(lambda x: run(impatient, x))(X), np.sin(X))
        assert not any(key[0] is impatient and type(plan) is not int for key, plan in batches.known.items())


def test_other_settings_and_named_axes_do_not_use_plans():
    for _ in range(COUNT):
        vmap(np.sum)(X)
    with config.enable_x64(False):
        assert vmap(np.sum)(X).dtype == np.float32
    out = vmap(lambda x: np.sum(x) - lax.psum(np.sum(x), "i"), axis_name="i")(X)
    np.testing.assert_allclose(out, X.sum((1, 2)) - X.sum())


def test_an_error_is_the_one_of_the_rules():
    def ratio(x):
        return np.log(x)

    texts = set()
    for _ in range(COUNT):
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError) as error:
            vmap(ratio)(X)
        texts.add(str(error.value))
        vmap(ratio)(X + 1.0)
    assert len(texts) == 1
