"""Rows: tracing to a jaxpr, differentiating while tracing, and lowering.

One idea: cost per equation of a long program, and the same on a network whose equations are not all alike.
Read next: `compiled.py`, for what comes of the program.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import Kit, fresh, kits
from measure import Effort, Prepared, Samples, race
from programs import lax_chain, numpy_chain, transformer_input, transformer_loss, transformer_params
from table import row

LENGTH = 200
X = np.float32(2.0)
BOTH = ("calque", "jax")


@row("make_jaxpr, per equation: lax", "us", budget=2, jax=10)
def make_jaxpr_lax(effort: Effort) -> Samples:
    return race_traces(effort, {k: lax_chain(k, LENGTH) for k in kits(*BOTH)}, LENGTH)


@row("make_jaxpr, per equation: numpy", "us", budget=2, jax=18)
def make_jaxpr_numpy(effort: Effort) -> Samples:
    return race_traces(effort, {k: numpy_chain(k.numpy, LENGTH) for k in kits(*BOTH)}, LENGTH)


@row("make_jaxpr, per equation: plain NumPy", "us", budget=2, jax=18)
def make_jaxpr_plain_numpy(effort: Effort) -> Samples:
    modules = {k: np if k.name == "calque" else k.numpy for k in kits(*BOTH)}
    return race_traces(effort, {k: numpy_chain(xp, LENGTH) for k, xp in modules.items()}, LENGTH)


@row("make_jaxpr(grad(f)), per operation of f: lax", "us", budget=10, jax=104)
def make_jaxpr_grad_lax(effort: Effort) -> Samples:
    return race_traces(effort, {k: k.grad(lax_chain(k, LENGTH)) for k in kits(*BOTH)}, LENGTH)


@row("make_jaxpr(grad(f)), per operation of f: numpy", "us", budget=10, jax=104)
def make_jaxpr_grad_numpy(effort: Effort) -> Samples:
    return race_traces(effort, {k: k.grad(numpy_chain(k.numpy, LENGTH)) for k in kits(*BOTH)}, LENGTH)


@row("make_jaxpr(grad(f)), per operation of f: 1,000 operations", "us", budget=10, jax=104)
def make_jaxpr_grad_1000(effort: Effort) -> Samples:
    """Beside the rows of 200 and of 10,000 operations: the cost of an equation does not grow with their number."""
    return race_traces(effort, {k: k.grad(lax_chain(k, 1_000)) for k in kits(*BOTH)}, 1_000)


@row("make_jaxpr(grad(f)), per operation of f: 10,000 operations", "us")
def make_jaxpr_grad_10000(effort: Effort) -> Samples:
    """Ours alone: jax's takes a second and more for one program."""
    return race_traces(effort, {k: k.grad(lax_chain(k, 10_000)) for k in kits("calque")}, 10_000)


@row("make_jaxpr(vmap(f)), per operation of f: 200 operations", "us")
def make_jaxpr_vmap_200(effort: Effort) -> Samples:
    return race_batched_traces(effort, LENGTH, *BOTH)


@row("make_jaxpr(vmap(f)), per operation of f: 10,000 operations", "us")
def make_jaxpr_vmap_10000(effort: Effort) -> Samples:
    return race_batched_traces(effort, 10_000, "calque")


@row("make_jaxpr(grad(f)), per level of 5 nested jits", "us")
def nested_jits_5(effort: Effort) -> Samples:
    return race_nested_jits(effort, 5)


@row("make_jaxpr(grad(f)), per level of 40 nested jits", "us")
def nested_jits_40(effort: Effort) -> Samples:
    """Beside the row of 5: the cost of a level does not grow with the depth."""
    return race_nested_jits(effort, 40)


def race_nested_jits(effort: Effort, depth: int) -> Samples:
    traces = {k.name: lambda k=k: k.make_jaxpr(k.grad(nested_jits(k, depth)))(X) for k in kits(*BOTH)}
    return race(effort, traces, per=depth, unit=1e-6)


def nested_jits(kit: Kit, depth: int) -> Any:
    """Return a new function of `depth` jitted functions, each of which doubles what the next returns.

    Only the last has a residual: a level that hands many residuals on has as many operands.
    """
    f = fresh(kit.lax.sin)
    for _ in range(depth):
        f = kit.jit(lambda x, inner=f: kit.lax.mul(inner(x), X))
    return f


def race_batched_traces(effort: Effort, length: int, *libraries: str) -> Samples:
    functions = {k: k.vmap(lax_chain(k, length)) for k in kits(*libraries)}
    traces = {k.name: lambda k=k, f=f: k.make_jaxpr(fresh(f))(np.full(3, X)) for k, f in functions.items()}
    return race(effort, traces, per=length, unit=1e-6)


@row("grad, 6 times, of 5 steps of sin(x) * x: equations", "eqns")
def nested_grad_equations(effort: Effort) -> Samples:
    return {k.name: [k.count_eqns(k.make_jaxpr(nested_grad(k, 6))(X))] for k in kits(*BOTH)}


def nested_grad(kit: Kit, depth: int) -> Any:
    """Return the derivative of order `depth` of five steps of sin(x) * x."""

    def f(x: Any) -> Any:
        for _ in range(5):
            x = kit.lax.mul(kit.lax.sin(x), x)
        return x

    for _ in range(depth):
        f = kit.grad(f)
    return f


def race_traces(effort: Effort, functions: dict, per: int) -> Samples:
    traces = {k.name: lambda k=k, f=f: k.make_jaxpr(fresh(f))(X) for k, f in functions.items()}
    return race(effort, traces, per=per, unit=1e-6)


@row("12-layer transformer: trace", "ms", budget=3, jax=19)
def transformer_trace(effort: Effort) -> Samples:
    return race_transformers(effort, {k: transformer_loss(k.numpy) for k in kits(*BOTH)})


@row("12-layer transformer: trace of grad", "ms", budget=15, jax=133)
def transformer_grad_trace(effort: Effort) -> Samples:
    return race_transformers(effort, {k: k.grad(transformer_loss(k.numpy)) for k in kits(*BOTH)})


def race_transformers(effort: Effort, functions: dict) -> Samples:
    args = transformer_params(), transformer_input()
    traces = {k.name: lambda k=k, f=f: k.make_jaxpr(fresh(f))(*args) for k, f in functions.items()}
    return race(effort, traces, per=1, unit=1e-3)


@row("12-layer transformer: equations", "eqns")
def transformer_equations(effort: Effort) -> Samples:
    return {k.name: [count_equations(k, transformer_loss(k.numpy))] for k in kits(*BOTH)}


@row("12-layer transformer: equations of grad", "eqns")
def transformer_grad_equations(effort: Effort) -> Samples:
    return {k.name: [count_equations(k, k.grad(transformer_loss(k.numpy)))] for k in kits(*BOTH)}


def count_equations(kit: Kit, f: object) -> int:
    return kit.count_eqns(kit.make_jaxpr(f)(transformer_params(), transformer_input()))


@row("lowering, per equation: chain", "us", budget=3, jax=10, needs="calque_xla_backend")
def lowering_chain(effort: Effort) -> Samples:
    return race_lowerings(effort, {k: (lax_chain(k, LENGTH), (X,)) for k in kits(*BOTH)})


@row("lowering, per equation: grad of transformer", "us", budget=3, jax=10, needs="calque_xla_backend")
def lowering_transformer(effort: Effort) -> Samples:
    """The divisor is each library's own number of equations, as they are what it lowers."""
    args = transformer_params(), transformer_input()
    return race_lowerings(effort, {k: (k.grad(transformer_loss(k.numpy)), args) for k in kits(*BOTH)})


def race_lowerings(effort: Effort, programs: dict) -> Samples:
    lowerings = {k.name: Prepared(partial(k.prepare_lowering, f, *args), k.lower) for k, (f, args) in programs.items()}
    equations = {k.name: k.count_eqns(k.make_jaxpr(f)(*args)) for k, (f, args) in programs.items()}
    times = race(effort, lowerings, per=1, unit=1e-6)
    return {name: [t / equations[name] for t in rounds] for name, rounds in times.items()}
