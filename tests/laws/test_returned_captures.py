"""A captured array that a function returns comes out of every transformation in other memory, eagerly too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calque as C  # noqa: N812
from calque_core import eval_jaxpr, interpret, lax, make_jaxpr
from calque_core.memory.captures import is_writable
from calque_pytree import tree_leaves

total = lax.reduce_sum


def without_jit(call: Callable[[], Any]) -> Any:
    with C.disable_jit():
        return call()


def of_program(x, c):
    jaxpr = make_jaxpr(lambda v: c)(x)
    return eval_jaxpr(jaxpr, jaxpr.consts, x), interpret(jaxpr, {}, x)


RETURNED: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "jvp": lambda x, c: C.jvp(lambda v: c, (x,), (x,)),
    "linearize": lambda x, c: C.linearize(lambda v: c, x)[0],
    "a linear function": lambda x, c: C.linearize(lambda v: lax.mul(v, c), x)[1](x),
    "vjp": lambda x, c: C.vjp(lambda v: c, x)[0],
    "a pullback": lambda x, c: C.vjp(lambda v: total(lax.mul(v, c)), x)[1](1.0),
    "aux of vjp": lambda x, c: C.vjp(lambda v: (v, c), x, has_aux=True)[2],
    "grad": lambda x, c: C.grad(lambda v: total(lax.mul(v, c)))(x),
    "aux of grad": lambda x, c: C.grad(lambda v: (total(v), c), has_aux=True)(x)[1],
    "vmap": lambda x, c: C.vmap(lambda v: c, out_axes=None)(x),
    "checkpoint": lambda x, c: C.checkpoint(lambda v: c)(x),
    "checkpoint, in a dict": lambda x, c: C.checkpoint(lambda v: {"view": c[1:], "same": (c, c)})(x),
    "grad of checkpoint": lambda x, c: C.grad(lambda v: (total(v), C.checkpoint(lambda v: c)(v)), has_aux=True)(x)[1],
    "cond": lambda x, c: C.lax.cond(True, lambda v: c, lambda v: v, x),
    "switch": lambda x, c: C.lax.switch(0, [lambda v: c, lambda v: v], x),
    "switch of one": lambda x, c: C.lax.switch(0, [lambda v: c], x),
    "scan": lambda x, c: C.lax.scan(lambda carry, _: (c, c), x, None, length=1),
    "while_loop": lambda x, c: C.lax.while_loop(lambda v: total(v) < 1.0, lambda v: c, x),
    "fori_loop": lambda x, c: C.lax.fori_loop(0, 2, lambda i, v: c, x),
    "a solver": lambda x, c: C.lax.custom_linear_solve(lambda v: v, x, lambda matvec, b: c),
    "a root": lambda x, c: C.custom_root(lambda v: v - c, x, lambda f, v: c, lambda g, b: b),
    "linear_call": lambda x, c: C.linear_call(lambda _, v: c, lambda _, ct: ct, (), x),
    "a program": of_program,
    "jit, inline": lambda x, c: C.jit(lambda v: c, inline=True)(x),
    "cond without jit": lambda x, c: without_jit(lambda: C.lax.cond(True, lambda v: c, lambda v: v, x)),
    "scan without jit": lambda x, c: without_jit(lambda: C.lax.scan(lambda v, _: (c, c), x, None, length=1)),
    "a loop without jit": lambda x, c: without_jit(lambda: C.lax.fori_loop(0, 2, lambda i, v: c, x)),
}


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("name", RETURNED)
def test_a_result_shares_no_writable_memory_with_what_the_function_captured(name, size):
    x, c = np.zeros(size), np.full(size, 2.0)
    results = [out for out in tree_leaves(RETURNED[name](x, c)) if isinstance(out, np.ndarray) and is_writable(out)]
    for i, out in enumerate(results):
        assert not any(np.shares_memory(out, other) for other in (x, c, *results[:i]))
    assert c.flags.writeable
    assert x.flags.writeable
