"""The text of a traced program does not depend on how often such a program was traced before.

One idea: from the third trace on, operations are copied from earlier traces.  So four traces of one program, the first
of them after all earlier traces are forgotten, have one text: a user may keep it as a snapshot.

Read next: `test_laws.py`, whose tables these are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from idioms import EDGES, GROUPS
from program import Program
from test_laws import PROGRAMS
from test_nn_beside_jax import CASES, X
from transformations import is_mapped

import calque
from calque_autodiff import grad, jvp, linearize
from calque_batching import vmap
from calque_core import float0, lax, make_jaxpr, typeof
from calque_core.engine import advance_rule_epoch
from calque_xla_backend import jit

Value = Any
Function = Callable[..., list[Value]]

COUNT = 4  # the third meeting of an operation makes its copies, the fourth only uses them
IDIOMS = [row for group in GROUPS.values() for row in group if row.name not in EDGES]
ROWS = [
    *PROGRAMS,
    *(Program(f"idiom {row.name}", row.fun, row.makers) for row in IDIOMS),
    *(Program(f"nn {name}", lambda x, f=f: f(calque.nn, x), (lambda rng, dtype: X,)) for name, f in CASES.items()),
]


def is_floating(x: Value) -> bool:
    return typeof(x).dtype.kind in "fc"


def gradient(fun: Function) -> Function:
    """Return the derivative of the sum of the real parts of all results, in all floating arguments."""

    def loss(*xs: Value) -> Value:
        sums = [lax.reduce_sum(lax.real(y)) for y in fun(*xs) if is_floating(y)]
        return sum((lax.convert_element_type(x, "float64") for x in sums), np.float64(0.0))

    def run(*xs: Value) -> list[Value]:
        argnums = [i for i, x in enumerate(xs) if is_floating(x)]
        return list(grad(loss, argnums=argnums)(*xs))

    return run


def along_itself(x: Value) -> Value:
    """Return the argument as its own tangent."""
    return lax.convert_element_type(x, typeof(x).dtype) if is_floating(x) else np.zeros(typeof(x).shape, float0)


def pushed(fun: Function) -> Function:
    def run(*xs: Value) -> list[Value]:
        outs, out_dots = jvp(fun, xs, tuple(map(along_itself, xs)))
        return list(filter(is_floating, [*outs, *out_dots]))

    return run


def linearized(fun: Function) -> Function:
    def run(*xs: Value) -> list[Value]:
        outs, f_lin = linearize(fun, *xs)
        return list(filter(is_floating, [*outs, *f_lin(*map(along_itself, xs))]))

    return run


TRANSFORMATIONS: dict[str, Callable[[Function], Function]] = {
    "trace": lambda fun: fun,
    "grad": gradient,
    "jvp": pushed,
    "linearize": linearized,
    "vmap": vmap,
    "grad of grad": lambda fun: gradient(gradient(fun)),
    "vmap of grad": lambda fun: vmap(gradient(fun)),
    "grad of vmap": lambda fun: gradient(vmap(fun)),
    "jvp of grad": lambda fun: pushed(gradient(fun)),
    "grad of jit": lambda fun: gradient(jit(fun)),
    "grad of grad of jit": lambda fun: gradient(gradient(jit(fun))),
}
CASES_OF_ROWS = [(row, name) for row in ROWS for name in TRANSFORMATIONS]


def texts(fun: Function, transformation: str, leaves: Sequence[Value]) -> list[str]:
    """Return the texts of `COUNT` traces of a transformed function, after all copies are forgotten."""

    def text() -> str:
        return str(make_jaxpr(TRANSFORMATIONS[transformation](lambda *xs: fun(*xs)))(*leaves))

    text()  # the first trace of a process loads modules late, and finds fewer programs of loops to be the same
    advance_rule_epoch()
    return [text() for _ in range(COUNT)]


def test_a_jvp_along_a_python_number_has_one_text():
    advance_rule_epoch()
    negative = lambda x: jvp(lambda y: -y, (x * 1,), (x,))
    assert len({str(make_jaxpr(negative)(2.0)) for _ in range(COUNT)}) == 1


@pytest.mark.sampled(keep=0.01, rows=["transformation"])
@pytest.mark.parametrize(("row", "transformation"), CASES_OF_ROWS, ids=[f"{row.name}-{t}" for row, t in CASES_OF_ROWS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # an idiom's own arithmetic
def test_every_trace_of_a_program_has_one_text(row, transformation):
    example = row.example(row.widest)
    leaves = [*example.leaves]
    if "vmap" in transformation:
        leaves = [np.stack([x, x]) if is_mapped(x) else np.array([x, x]) for x in leaves]
    assert len(set(texts(example, transformation, leaves))) == 1
