"""The table's programs with a name for the result of each equation, under each transformation."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close, unit_roundoff
from composites import COMPOSITES
from operations import OPERATIONS
from program import Example
from transformations import QUICKLY, TRANSFORMATIONS, batch_of, is_mapped

from calque_core import Literal, make_jaxpr
from calque_harvest import call_and_reap, harvest, sow
from calque_xla_backend import jit

PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]
CASES = [(program, name) for program in PROGRAMS for name in TRANSFORMATIONS]


def named(example: Example, name_it=sow):
    """Return the program with a name for each result of its equations; `name_it` is `sow`, or notes the values."""
    jaxpr = make_jaxpr(example)(*example.leaves)

    def run(*leaves):
        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *leaves)))
        for i, eqn in enumerate(jaxpr.eqns):
            operands = [x.val if type(x) is Literal else values[x] for x in eqn.invars]
            outs = eqn.primitive.bind(*operands, **eqn.params)
            for j, (v, out) in enumerate(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs])):
                values[v] = name_it(out, name=f"{i}.{j} {eqn.primitive}")
        return [x.val if type(x) is Literal else values[x] for x in jaxpr.outvars]

    return run


def noted(example):
    """Return the function that returns the values of all names."""

    def run(*leaves):
        values = {}
        named(example, lambda value, name: values.setdefault(name, value))(*leaves)
        return values

    return run


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize(("program", "name"), CASES, ids=[f"{p.name}-{name}" for p, name in CASES])
def test_each_transformation_gives_each_value_once(program, name):
    example = program.example(program.widest)
    mapped, is_batch = [is_mapped(x) for x in example.leaves], name == "vmap"
    leaves = batch_of(program, program.widest, 1) if is_batch else example.leaves
    f = named(example)
    outs, reaps = call_and_reap(TRANSFORMATIONS[name](f, mapped))(*leaves)
    plain = TRANSFORMATIONS[name](named(example, lambda x, name: x), mapped)(*leaves)
    tolerance = 3000 * unit_roundoff([*leaves, *outs])
    assert_close(outs, plain, tolerance)
    rows = [[x[i] if m else x for x, m in zip(leaves, mapped)] for i in range(2)] if is_batch else [leaves]
    values_of = jit(noted(example), compiler_options=QUICKLY) if name == "jit" else noted(example)
    expected = [values_of(*row) for row in rows]
    assert reaps.keys() == expected[0].keys()
    for key in reaps:
        column = [values[key] for values in expected]
        is_one = not is_batch or np.shape(reaps[key]) == np.shape(column[0])  # it depends on no element
        assert_close([reaps[key]], [column[0] if is_one else np.stack(column)], tolerance)


@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_planting_each_value_changes_nothing(program):
    example = program.example(program.widest)
    outs, reaps = call_and_reap(named(example))(*example.leaves)
    again, rest = harvest(named(example))(reaps, *example.leaves)
    assert rest == {}
    assert_close(again, outs, 0.0)
