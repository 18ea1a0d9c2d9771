"""Random programs to store, one for each seed: steps in random calls and loops, or a row under transformations.

One idea: steps show how programs nest, rows of the table which equations there are; half of the seeds give each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from program import Program, always, numbers
from test_laws import PROGRAMS
from test_random_programs import BINARY, CALLS, KINDS, SHAPE, UNARY, composed
from transformations import TRANSFORMATIONS, batch_of, is_mapped

from calque_autodiff import checkpoint
from calque_core import lax
from calque_xla_backend import jit

LOOPS = {
    "scan": lambda f: lambda x, y, n: lax.scan(lambda c, row: (f(c, c * row, n), row.sum()), x, y)[0],
    "fori": lambda f: lambda x, y, n: lax.fori_loop(0, n, lambda i, c: f(c, y, i + n), x),
    "while": lambda f: (
        lambda x, y, n: lax.while_loop(lambda c: c[1] < n, lambda c: (f(c[0], y, c[1]), c[1] + 1), (x, n - 2))[0]
    ),
    "switch": lambda f: lambda x, y, n: lax.switch(n, [lambda x, y, n: y, f, lambda x, y, n: x, f], x, y, n),
    "checkpoint": checkpoint,
}
NESTED = CALLS | LOOPS
MAKERS = (numbers(SHAPE), numbers(SHAPE), lambda rng, dtype: np.int32(3), always("float64", (2,)))
TRANSFORMS = TRANSFORMATIONS | {"jit": lambda fun, mapped: jit(fun)}  # options of `jit` are not stored


class Stored(NamedTuple):
    """A function of leaves, with leaves, and how far apart two ways to evaluate it may be."""

    name: str
    fun: Callable[..., list[Any]]
    leaves: Sequence[Any]
    ulps: float


def program_of(seed: int) -> Stored:
    """Return the program of a seed."""
    rng = random.Random(seed)
    return row_under_transformations(rng) if seed % 2 else steps_in_calls(rng)


def steps_in_calls(rng: random.Random) -> Stored:
    """Return a program of steps; half of the programs have no rules, which the text and the source refuse."""
    kinds = sorted(KINDS) if rng.random() < 0.5 else []
    chosen = [
        (rng.choice(sorted(NESTED)), [_step(rng, kinds) for _ in range(rng.randint(1, 5))])
        for _ in range(rng.randint(1, 3))
    ]
    example = Program("steps", composed(chosen, NESTED), MAKERS).example("float64")
    return Stored(str(chosen), example, example.leaves, 4096)  # many steps, of which XLA compiles some


def _step(rng: random.Random, kinds: Sequence[str]) -> tuple[Any, ...]:
    table = rng.choice((UNARY, BINARY))
    kind = rng.choice(kinds) if kinds and rng.random() < 0.3 else None
    operands = [rng.randrange(10) for _ in range(1 if table is UNARY else 2)]
    return (kind, rng.choice(sorted(table)), *operands)


def row_under_transformations(rng: random.Random) -> Stored:
    """Return a row of the table under at most two transformations."""
    program = rng.choice(PROGRAMS)
    dtype = rng.choice(list(program.dtypes))
    names = [rng.choice(sorted(TRANSFORMS)) for _ in range(rng.randint(0, 2))]
    fun: Any = program.example(dtype)
    mapped = [is_mapped(x) for x in fun.leaves]
    for name in names:
        fun = TRANSFORMS[name](fun, mapped)
    ulps = max(64, 4 * program.ulps_in(dtype))
    return Stored(f"{names} of {program.name}, {dtype}", fun, batch_of(program, dtype, names.count("vmap")), ulps)
