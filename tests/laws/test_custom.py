"""Every function with rules of its own: that its rules are what every pair of transformations uses."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close, unit_roundoff
from custom import CUSTOM
from custom_backwards import BACKWARD_RULES, REVERSE_RULES
from custom_batches import BATCHES
from custom_insides import REVERSE_INSIDE
from custom_places import PLACES
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from transformations import PLAIN, TRANSFORMATIONS, batch_of, is_mapped

ROWS = [*CUSTOM, *BACKWARD_RULES, *BATCHES, *PLACES]
REVERSE = [*REVERSE_RULES, *REVERSE_INSIDE]
FACTOR = 2.0
FORWARDS = ("jvp", "linearize")
DERIVATIVES = (*FORWARDS, "vjp")
BACKWARDS = [name for name in TRANSFORMATIONS if name not in FORWARDS]


def each_row(rows):
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def test_the_table_has_many_rows_of_different_names():
    assert len({row.name for row in [*ROWS, *REVERSE]}) == len(ROWS) + len(REVERSE) >= 60


@each_row([*ROWS, *REVERSE])
def test_the_factor_is_seen(row):
    right, wrong = (derivative_of(row.on(row.plain(factor))) for factor in (1.0, FACTOR))
    if row.calls:
        np.testing.assert_allclose(wrong, FACTOR**row.calls * right, rtol=1e-12)
    else:
        assert not wrong.size or not np.allclose(wrong, right, rtol=0.2)


def derivative_of(program):
    """Return the cotangents of a program's arguments, in one row."""
    example = program.example(program.widest)
    got = TRANSFORMATIONS["vjp"](example, ())(*example.leaves)
    outs = example(*example.leaves)
    return np.concatenate([np.ravel(x) for x in got[len(outs) :]])


@pytest.mark.sampled(keep=0.15, rows=["row"])
@pytest.mark.parametrize("outer", TRANSFORMATIONS)
@each_row(ROWS)
def test_the_rules_are_what_is_used(row, outer, sample):
    for inner in sample(list(TRANSFORMATIONS), 0.2):
        check_rules(row, (outer, inner))


@pytest.mark.sampled(keep=0.15, rows=["row"])
@pytest.mark.parametrize("outer", BACKWARDS)
@each_row(REVERSE)
def test_the_rules_backwards_are_what_is_used(row, outer, sample):
    for inner in sample(BACKWARDS, 0.2):
        check_rules(row, (outer, inner))


stacks = st.lists(st.sampled_from(sorted(TRANSFORMATIONS)), min_size=3, max_size=4)


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.sampled_from(ROWS), stacks)
def test_the_rules_are_what_is_used_by_random_stacks(is_drawn, row, names):
    assume(sum(name in DERIVATIVES for name in names) <= 3)
    if is_drawn((row.name, names), 0.1):
        check_rules(row, names)


def check_rules(row, names, factor=FACTOR):
    """Compare a stack of transformations, outermost first, with the same of the program without rules."""
    program, plain = row.on(row.ruled(factor)), row.on(row.plain(factor))
    leaves = batch_of(program, program.widest, names.count("vmap"))
    fun, want = program.example(program.widest), plain.example(plain.widest)
    mapped = [is_mapped(x) for x in fun.leaves]
    for name in reversed(names):
        fun, want = TRANSFORMATIONS[name](fun, mapped), PLAIN[name](want, mapped)
    try:
        assert_close(fun(*leaves), want(*leaves), 3000 * unit_roundoff(leaves))
    except BaseException as error:
        error.add_note(f"This is {'('.join(names)}({row.name}{')' * len(names)}.")
        raise


@each_row(REVERSE)
def test_forward_mode_needs_a_rule(row):
    program = row.on(row.ruled(1.0))
    example = program.example(program.widest)
    for outer in FORWARDS:
        for inner in ("jit", "checkpoint", "vmap", "make_jaxpr"):
            leaves = batch_of(program, program.widest, inner == "vmap")
            mapped = [is_mapped(x) for x in example.leaves]
            fun = TRANSFORMATIONS[outer](TRANSFORMATIONS[inner](example, mapped), mapped)
            with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to .* only a vjp rule"):
                fun(*leaves)
