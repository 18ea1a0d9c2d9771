"""Every operation on shards: types say that one operand differs among the shards, and all other operands do not.

One idea: two shards compute the same, so that values are two copies, and the cotangent of an argument that both share
is the sum of two equal ones.  A rule that forgets along which axes a value varies sums one time too few or too many.
"""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_close, directions, unit_roundoff
from composites import COMPOSITES
from custom import CUSTOM
from operations import OPERATIONS

from calque_autodiff import jvp, vjp
from calque_core import AbstractMesh, check_jaxpr, float0, lax, make_jaxpr, shard_map, typeof
from calque_core import PartitionSpec as P

MESH = AbstractMesh((2,), ("shard",))
# In a body, the gradient in a value that all shards share is the sum of all gradients.
DIFFERENTIATED = {"gradient inside", "vjp inside", "two passes over a checkpoint"}
PROGRAMS = [row for rows in OPERATIONS.values() for row in rows]
PROGRAMS += [*COMPOSITES, *(row.right for row in CUSTOM)]
PROGRAMS = [program for program in PROGRAMS if program.name not in DIFFERENTIATED]


def each(programs):
    cases = [(p, i) for p in programs for i in range(len(p.example(p.widest).leaves))]
    every = pytest.mark.parametrize(("program", "leaf"), cases, ids=[f"{p.name}-{i}" for p, i in cases])
    return lambda law: pytest.mark.sampled(keep=0.1)(every(law))


def on_shards(example, leaf):
    """Return the program on two shards, which share all leaves; by its type, one leaf is another on each shard."""

    def body(*leaves):
        varied = [lax.pvary(x, "shard") if i == leaf else x for i, x in enumerate(leaves)]
        return [lax.expand_dims(y, (0,)) for y in example(*varied)]

    return shard_map(body, mesh=MESH, in_specs=P(), out_specs=P("shard"))


def copies(xs):
    return [np.stack([np.asarray(x)] * 2) for x in xs]


@each(PROGRAMS)
def test_values(program, leaf):
    example = program.example(program.widest)
    sharded, outs = on_shards(example, leaf), example(*example.leaves)
    tolerance = 100 * unit_roundoff([*example.leaves, *outs])
    assert_close(sharded(*example.leaves), copies(outs), tolerance)
    check_jaxpr(make_jaxpr(sharded)(*example.leaves))


@each([p for p in PROGRAMS if p.widest in ("float64", "complex128") and p.example(p.widest).floating])
def test_derivatives(program, leaf):
    example = program.example(program.widest)
    sharded, dots = on_shards(example, leaf), tuple(directions(example.leaves, 1))
    outs, out_dots = jvp(example, tuple(example.leaves), dots)
    assert_close(jvp(sharded, tuple(example.leaves), dots)[1], copies(out_dots), 1e-12)
    cts = directions(outs, 2)
    twice = [x if typeof(x).dtype == float0 else 2 * x for x in vjp(example, *example.leaves)[1](cts)]
    assert_close(list(vjp(sharded, *example.leaves)[1](copies(cts))), twice, 1e-11)
