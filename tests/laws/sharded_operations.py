"""Rows of the table of operations for programs over a mesh, of one position: this process has one device.

Programs over several positions are in `sharded_programs.py`.
"""

from __future__ import annotations

from program import COMPLEX, FLOATS, Program, numbers
from sharded_pmaps import mapped

from calque_core import AbstractMesh, lax, shard_map
from calque_core import PartitionSpec as P

FIELD = (*FLOATS, *COMPLEX)
ONE = AbstractMesh((1,), ("i",))
X = numbers((2, 3))


def over(body, in_specs, out_specs):
    return shard_map(body, mesh=ONE, in_specs=in_specs, out_specs=out_specs)


SHARDED = {
    "shard_map": [
        Program("shard_map", over(lambda x: lax.mul(lax.sin(x), lax.psum(x, "i")), P("i"), P("i")), (X,), FIELD, 8),
        Program(
            "shard_map of equals", over(lambda x, y: lax.mul(x, lax.exp(y)), (P("i"), P()), P("i")), (X, X), FIELD, 8
        ),
    ],
    "pvary": [Program("pvary", over(lambda x: lax.sin(lax.pvary(x, "i")), P(), P("i")), (X,), FIELD, 8)],
    "all_gather_invariant": [
        Program(
            "all_gather_invariant", over(lambda x: lax.all_gather_invariant(lax.sin(x), "i", tiled=True), P("i"), P()),
            (X,), FIELD, 8,
        )
    ],
    "xla_pmap": [
        Program(
            "xla_pmap", mapped(lambda x: lax.mul(lax.sin(x), lax.psum(x, "i")), "i", 1), (numbers((1, 3)),), FIELD, 8
        )
    ],
    "sharding_constraint": [
        Program(
            "sharding_constraint", lambda x: lax.sharding_constraint_p.bind(lax.sin(x), mesh=ONE, spec=P("i")), (X,),
            FIELD, 8,
        )
    ],
}  # fmt: skip
