"""Every program with branches and loops against what Python computes, and every pair of transformations of it."""

from __future__ import annotations

import numpy as np
import plain
import pytest
from agreement import assert_close, assert_same, assert_within, types_of
from branches import BRANCHES
from loops import COUNTED, WHILES
from scans import MAPPINGS, SCANS, STOPPED
from transformations import TRANSFORMATIONS, batch_of, check_stack, is_mapped, looped

from calque_batching import vmap
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_xla_backend import jit

ROWS = [*BRANCHES, *SCANS, *MAPPINGS, *COUNTED, *WHILES]
NAMES = [name for name in TRANSFORMATIONS if name != "make_jaxpr"]  # which is in `jit`


def each_row(rows):
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def test_the_table_has_many_rows_of_different_names():
    assert len({row.name for row in ROWS}) == len(ROWS) >= 60


@pytest.mark.sampled(keep=0.1, rows=["row"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each_row(ROWS)
def test_a_program_computes_what_python_computes(row, dtype):
    example, ulps = row.on(lax).example(dtype), row.on(lax).ulps
    want = row.on(plain).example(dtype)(*example.leaves)
    outs = example(*example.leaves)
    assert_within(outs, want, ulps, by_array=True)
    jaxpr = make_jaxpr(example)(*example.leaves)
    check_jaxpr(jaxpr)
    assert [a.strip_weak_type().str_short() for a in jaxpr.out_avals] == types_of(outs)
    assert_same(eval_jaxpr(jaxpr, jaxpr.consts, *example.leaves), outs)
    assert_within(jit(example)(*example.leaves), want, ulps, by_array=True)


@pytest.mark.sampled(keep=0.15, rows=["row"])
@pytest.mark.parametrize("outer", NAMES)
@each_row(ROWS)
def test_pairs_of_transformations(row, outer, sample):
    example, by_python = row.on(lax).example("float64"), row.on(plain).example("float64")
    for name in sample(NAMES, 0.2):
        leaves = batch_of(row.on(lax), "float64", (outer == "vmap") + (name == "vmap"))
        # A checkpointed branch is a program, batched before it is evaluated: it meets what the condition spares others.
        invalid = "ignore" if "checkpoint" in (outer, name) else "warn"
        try:
            with np.errstate(invalid=invalid):
                check_stack(example, (outer, name), leaves, by_python)
        except BaseException as error:
            error.add_note(f"This is {outer}({name}({row.name})).")
            raise


@pytest.mark.sampled(keep=1.0, rows=["row"])
@each_row([*ROWS, STOPPED])
def test_derivatives_are_those_of_the_steps_that_python_runs(row, sample):
    example, by_python = row.on(lax).example("float64"), row.on(plain).example("float64")
    for name in sample(["jvp", "linearize", "vjp"], 0.2):
        functions = (example, TRANSFORMATIONS["jit"](example, ()), by_python)
        transformed = [TRANSFORMATIONS[name](fun, ()) for fun in functions]
        evaluated, compiled, want = [fun(*example.leaves) for fun in transformed]
        assert_close(evaluated, want, 1e-12)
        assert_close(compiled, want, 1e-12)


@pytest.mark.sampled(keep=1.0, rows=["row"])
@each_row(ROWS)
def test_batch_of_each_argument_along_each_axis(row):
    program = row.on(lax)
    rows = [program.example("float64", seed).leaves for seed in range(3)]
    by_python = row.on(plain).example("float64")
    for i, x in enumerate(rows[0]):
        for axis in range(np.ndim(x) + 1) if is_mapped(x) else ():
            axes = [axis if i == j else None for j in range(len(rows[0]))]
            xs = [np.stack([leaves[i] for leaves in rows], axis) if i == j else leaf for j, leaf in enumerate(rows[0])]
            front = [np.moveaxis(leaf, axis, 0) if i == j else leaf for j, leaf in enumerate(xs)]
            got = vmap(program.example("float64"), in_axes=tuple(axes))(*xs)
            assert_within(got, looped(by_python, [a is not None for a in axes])(*front), program.ulps, by_array=True)


@pytest.mark.sampled(keep=1.0, rows=["row"])
@each_row(ROWS)
def test_batch_of_none(row):
    example = row.on(lax).example("float64")
    mapped = [is_mapped(x) for x in example.leaves]
    xs = [np.empty((0, *np.shape(x)), np.asarray(x).dtype) if m else x for x, m in zip(example.leaves, mapped)]
    outs = vmap(example, in_axes=tuple(0 if m else None for m in mapped))(*xs)
    want = [np.empty((0, *np.shape(x)), np.asarray(x).dtype) for x in example(*example.leaves)]
    assert types_of(outs) == types_of(want)
