"""Sharded programs against what they mean on one device: values, derivatives and batches, without any device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_close, check_differences, directions, inner
from many_devices import outcomes_of
from sharded_program import SIZES
from sharded_programs import BACKWARDS, CLOSE, PROGRAMS, pulled
from transformations import batch_of, check_stack, is_mapped

from calque_autodiff import jvp, linearize, vjp
from calque_batching import vmap
from calque_core import (
    AbstractMesh,
    check_jaxpr,
    dce_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxpr_equal,
    lax,
    make_jaxpr,
    shard_map,
)
from calque_core import PartitionSpec as P
from calque_core.extend import marked
from calque_jet import jet

SCRIPT = Path(__file__).with_name("sharded_on_devices.py")


def each(programs, sizes=SIZES, sizes_again=None):
    """Test each program, on one size and with one `check_vma` in the usual run.

    `sizes_again` are the sizes for the second value of `check_vma`; the same, by default.
    """
    chosen = (sizes, sizes if sizes_again is None else sizes_again)
    cases = [(p, size, check) for p in programs for check, each_size in zip(p.checked, chosen) for size in each_size]
    ids = [f"{program.name}-{size}-{'checked' if check else 'unchecked'}" for program, size, check in cases]
    every = pytest.mark.parametrize(("program", "size", "check"), cases, ids=ids)
    return lambda law: pytest.mark.sampled(keep=0.0, rows=["program"])(every(law))


def test_the_names_of_the_rows_differ():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names) >= 40


@each(PROGRAMS)
def test_value(program, size, check):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    assert_close(example(*example.leaves), meaning(*meaning.leaves), CLOSE)


@each(PROGRAMS, sizes=[4])
def test_stage(program, size, check):
    example = program.sharded(size, check)
    jaxpr = make_jaxpr(example)(*example.leaves)
    check_jaxpr(jaxpr)
    outs = example(*example.leaves)
    assert_close(eval_jaxpr(jaxpr, jaxpr.consts, *example.leaves), outs, 0)
    assert jaxpr_equal(jaxpr, make_jaxpr(jaxpr_as_fun(jaxpr))(*jaxpr.in_avals))
    for i in range(len(outs)):
        smaller, used = dce_jaxpr(jaxpr, [i == k for k in range(len(outs))])
        check_jaxpr(smaller)
        assert_close(eval_jaxpr(smaller, smaller.consts, *marked(example.leaves, used)), outs[i : i + 1], 0)


# Derivatives


@each(PROGRAMS, sizes=[4])
def test_forward(program, size, check):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    dots = directions(example.leaves, 1)
    outs, out_dots = jvp(example, tuple(example.leaves), tuple(dots))
    assert_close(outs, meaning(*meaning.leaves), CLOSE)
    check_differences(out_dots, meaning, meaning.leaves, dots)
    linear = linearize(example, *example.leaves)[1]
    assert_close(linear(*dots), out_dots, CLOSE)


@each(BACKWARDS, sizes=[4])
def test_adjoint(program, size, check):
    example = program.sharded(size, check)
    dots = directions(example.leaves, 1)
    outs, out_dots = jvp(example, tuple(example.leaves), tuple(dots))
    cts = directions(outs, 2)
    bars = vjp(example, *example.leaves)[1](cts)
    pushed, scale = inner(cts, out_dots)
    pulled, _ = inner(bars, dots)
    assert abs(pushed - pulled) <= CLOSE * max(scale, 1.0)


@each(BACKWARDS)
def test_gradient(program, size, check):
    """The adjoint law holds for a wrong derivative and its adjoint; a factor of the number of shards is seen here."""
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    cts = directions(meaning(*meaning.leaves), 2)
    assert_close(pulled(example, cts)(*example.leaves), pulled(meaning, cts)(*meaning.leaves), CLOSE)


@each(BACKWARDS, sizes=[4])
def test_second_derivative(program, size, check):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    cts, dots = directions(meaning(*meaning.leaves), 2), tuple(directions(meaning.leaves, 3))
    forward_over_reverse = [jvp(pulled(f, cts), tuple(f.leaves), dots)[1] for f in (example, meaning)]
    assert_close(*forward_over_reverse, CLOSE)
    reverse_over_reverse = [vjp(pulled(f, cts), *f.leaves)[1](list(dots)) for f in (example, meaning)]
    assert_close(*reverse_over_reverse, CLOSE)


@each(PROGRAMS, sizes=[4])
def test_taylor_series(program, size, check):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    leaves, is_smooth = example.leaves, [np.asarray(x).dtype.kind in "fc" for x in example.leaves]
    smooth = [x for x, s in zip(leaves, is_smooth) if s]
    series = [directions(smooth, 1), directions(smooth, 2)]

    def along(fun):
        def of_smooth(*xs):
            rest = iter(xs)
            return fun(*[next(rest) if s else x for x, s in zip(leaves, is_smooth)])

        return jet(of_smooth, tuple(smooth), tuple([a, b] for a, b in zip(*series)))

    assert_close(along(example), along(meaning), CLOSE)


# Batches


@each(PROGRAMS, sizes=[4])
@pytest.mark.parametrize("axis", [0, -1])
def test_batch(program, size, check, axis):
    example = program.sharded(size, check)
    mapped = [is_mapped(x) for x in example.leaves]
    pairs = [
        np.stack([x, x[..., ::-1] if np.ndim(x) else -x], axis) if m else x for x, m in zip(example.leaves, mapped)
    ]
    batched = vmap(example, in_axes=tuple(axis if m else None for m in mapped), axis_name="batch")
    rows = [example(*[np.take(x, k, axis) if m else x for x, m in zip(pairs, mapped)]) for k in range(2)]
    assert_close(batched(*pairs), [np.stack(column) for column in zip(*rows)], CLOSE)


@each(BACKWARDS, sizes=[4])
def test_gradient_of_a_batch(program, size, check):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    mapped = [is_mapped(x) for x in example.leaves]
    pairs = [np.stack([x, x]) if m else x for x, m in zip(example.leaves, mapped)]
    cts = directions(meaning(*meaning.leaves), 2)
    batched = vmap(pulled(example, cts), in_axes=tuple(0 if m else None for m in mapped))(*pairs)
    want = pulled(meaning, cts)(*meaning.leaves)
    assert_close(batched, [np.stack([np.asarray(x)] * 2) for x in want], CLOSE)


# Pairs of transformations

PAIRS = [
    ("vmap", "vjp"), ("vjp", "vmap"), ("jvp", "vmap"), ("vjp", "checkpoint"), ("checkpoint", "linearize"),
    ("vmap", "vmap"),
]  # fmt: skip


@each([program for program in BACKWARDS if True in program.checked], sizes=[4])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs(program, size, check, pair):
    example, meaning = program.sharded(size, check), program.on_one_device(size)
    levels = pair.count("vmap")
    check_stack(example, pair, batch_of(example.program, "float64", levels), meaning)


# Compilation


@pytest.fixture(scope="module")
def outcomes(request):
    """Return the outcomes of the chosen cases of `test_compiled`, which one process checks on eight devices."""
    chosen = [item.callspec.id for item in request.session.items if item.originalname == "test_compiled"]
    return outcomes_of(SCRIPT, *chosen)


@each(PROGRAMS, sizes_again=[4])
def test_compiled(program, size, check, outcomes, request):
    claim = request.node.callspec.id
    assert outcomes[claim] == "ok", outcomes[claim]


def test_a_batch_divided_by_a_mesh_axis_has_the_derivatives_of_one_that_is_whole():
    mesh = AbstractMesh((2, 4), ("b", "i"))
    body = lambda x, w: lax.psum(lax.sin(x * w), "i") * w
    element = shard_map(body, mesh=mesh, in_specs=(P("i"), P()), out_specs=P())
    x, w = np.linspace(-1.0, 1.0, 32).reshape(4, 8), 0.7
    pulls = [
        vjp(vmap(element, (0, None), **options), x, w)[1](np.ones((4, 2))) for options in ({}, {"spmd_axis_name": "b"})
    ]
    for whole, divided in zip(*pulls):
        np.testing.assert_allclose(divided, whole, 1e-12)
