"""Random programs with named values, and the same programs by hand: Python loops, and a dict of lists.

One idea: a program is a list of parts, each a straight function inside a call, a branch or a loop, under a scope of its
own.  The reference runs the same steps on NumPy arrays and notes the named values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from transformations import QUICKLY

from calque_autodiff import checkpoint, custom_jvp, jvp
from calque_core import lax
from calque_harvest import nest, sow
from calque_xla_backend import jit as compile_with

jit = partial(compile_with, compiler_options=QUICKLY)
SHAPE = (2, 3)
STEPS = 3
Values = dict[str, list[Any]]

UNARY = {
    "sin": lax.sin,
    "tanh": lax.tanh,
    "exp": lambda x: lax.exp(lax.tanh(x)),
    "square": lambda x: 0.3 * x * x,
    "mean": lambda x: x * 0.5 + lax.broadcast_in_dim(lax.reduce_sum(x) * 0.1, SHAPE, ()),
    "constant": lambda x: x * np.linspace(0.5, 1.0, 6).reshape(SHAPE),
    "forget": lambda x: lax.tanh(np.linspace(-1.0, 1.0, 6).reshape(SHAPE)),
}
ROWS = np.linspace(0.2, 0.8, STEPS)


def with_rule(f):
    ruled = custom_jvp(f)
    ruled.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return ruled


def scanned(f, x, n):
    return lax.scan(lambda c, a: (f(c) * a, None), x, ROWS)[0]


def looped(f, x, n):
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, f(c[1]) * 0.5), (0, x))[1]


def repeated(f, x, n):
    for a in ROWS:
        x = f(x) * a
    return x


def counted(f, x, n):
    for _ in range(n):
        x = f(x) * 0.5
    return x


def simple(f, x, n):
    return f(x)


# Each kind: the mode of its names, how the program runs a function of one array, and how the reference does.
KINDS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "plain": ("strict", simple, simple),
    "jit": ("strict", lambda f, x, n: jit(f)(x), simple),
    "checkpoint": ("strict", lambda f, x, n: checkpoint(f)(x), simple),
    "cond": ("strict", lambda f, x, n: lax.cond(n > 2, f, lambda x: f(x), x), simple),
    "platform": ("strict", lambda f, x, n: lax.platform_dependent(x, cpu=f, default=f), simple),
    "custom_jvp": ("strict", lambda f, x, n: with_rule(f)(x), simple),
    "scan": ("append", scanned, repeated),
    "scan, last": ("clobber", scanned, repeated),
    "checkpoint of scan": ("append", lambda f, x, n: checkpoint(lambda x: scanned(f, x, n))(x), repeated),
    "scan of checkpoint": ("append", lambda f, x, n: scanned(checkpoint(f), x, n), repeated),
    "jit of scan": ("append", lambda f, x, n: jit(lambda x: scanned(f, x, n))(x), repeated),
    "scan of jit": ("append", lambda f, x, n: scanned(jit(f), x, n), repeated),
    "while": ("clobber", looped, counted),
}

steps = st.lists(st.tuples(st.sampled_from(sorted(UNARY)), st.booleans()), min_size=1, max_size=4)
parts = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), steps), min_size=1, max_size=3)
Parts = list[tuple[str, list[tuple[str, bool]]]]


def straight(body, named):
    """Return the function of the steps; `named(value, i)` names the value of step i."""

    def fun(x):
        for i, (name, is_named) in enumerate(body):
            x = x + UNARY[name](x) if i % 2 else UNARY[name](x)
            x = named(x, i) if is_named else x
        return x

    return fun


def program(chosen: Parts, name: Callable[..., Any] = sow) -> Callable[..., Any]:
    """Return the program of the parts; `name` is `sow`, or the identity."""

    def fun(x, n):
        for k, (kind, body) in enumerate(chosen):
            mode, run, _ = KINDS[kind]
            f = straight(body, lambda x, i, mode=mode: name(x, name=f"v{i}", mode=mode))
            x = nest(lambda x, f=f, run=run: run(f, x, n), scope=f"part{k}")(x)
        return x

    return fun


def by_hand(chosen: Parts, x: Any, n: int) -> tuple[Any, Values]:
    """Return the result of the program and the values of its names, without calque's control flow."""
    noted: Values = {}
    modes = {}

    def note(k, mode):
        def named(x, i):
            modes[f"part{k}/v{i}"] = mode
            noted.setdefault(f"part{k}/v{i}", []).append(x)
            return x

        return named

    for k, (kind, body) in enumerate(chosen):
        mode, _, run = KINDS[kind]
        x = run(straight(body, note(k, mode)), x, n)
    return x, {name: np.stack(xs) if modes[name] == "append" else xs[-1] for name, xs in noted.items()}
