"""Programs of loops, branches, calls and checkpoints inside one another: functions of an array [3] that give a number.

Read next: `test_residual_bytes.py`, which says how much each derivative keeps.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from calque_autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_jvp,
    custom_linear_solve,
    custom_vjp,
    linear_call,
)
from calque_core import hoist_tracers, lax, stage, typeof
from calque_core.lax import cond, jit_p, scan, while_loop

W = np.linspace(-0.3, 0.4, 9).reshape(3, 3)
XS = np.linspace(0.1, 0.5, 12).reshape(4, 3)


def called(f):
    """Return `f`, a function of arrays that returns one, as a program inside the program around it."""

    def call(*args):
        jaxpr, captured = hoist_tracers(stage(lambda *xs: [f(*xs)], [typeof(x) for x in args], user_fun=f))
        return jit_p.bind(*captured, *args, jaxpr=jaxpr, name="called", compiler=None)[0]

    return call


def step(w, x):
    """Return a step of a network."""
    return lax.tanh(lax.dot(w, x))


def total(x):
    """Return the sum of squares."""
    return lax.reduce_sum(x * x)


def looped(body, x, length=4):
    """Return the total of a carry after steps of `body`."""
    return total(scan(lambda c, _: (body(c), None), x, None, length=length)[0])


def branched(x, *branches):
    """Return the total of what the branch gives that the first element chooses."""
    return total(cond(x[0] > -5.0, *branches, x))


@custom_vjp
def by_backward(x):
    return lax.sin(x) * x


by_backward.defvjp(lambda x: (lax.sin(x) * x, (lax.sin(x) + x * lax.cos(x),)), lambda kept, ct: (ct * kept[0],))


@custom_vjp
def by_both(x):
    return lax.sin(x) * x


by_both.defvjp(lambda x: (lax.sin(x) * x, x), lambda x, ct: (ct * (lax.sin(x) + x * lax.cos(x)),), jvp="fwd")


@custom_jvp
def by_forward(x):
    return lax.sin(x) * x


by_forward.defjvp(lambda xs, dots: (by_forward(*xs), dots[0] * (lax.sin(xs[0]) + xs[0] * lax.cos(xs[0]))))


def counted(body, x, **how):
    """Return the total of a carry after five steps of a `while` loop."""
    return total(while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, body(c[1])), (0, x), **how)[1])


def squared_inside(c):
    """Compute with a product that does not depend on the carry."""
    return called(lambda w, c: step(lax.dot(w, w), c))(W, c)


def hidden(x):
    """Return two layers, the first of which is named."""
    return lax.sin(checkpoint_name(lax.exp(lax.sin(x)), "hidden")) * x


def scaled(c):
    return linear_call(lambda s, x: s * x, lambda s, ct: s * ct, lax.cos(c), c)


def solved(x):
    """Solve an equation whose operator is diagonal, and depends on the argument."""
    return custom_linear_solve(lambda y: (2.0 + x * x) * y, x, lambda _, b: b / (2.0 + x * x), symmetric=True)


POLICIES = {
    "nothing": None,
    "everything": checkpoint_policies.everything_saveable,
    "dots": checkpoint_policies.dots_saveable,
    "names": checkpoint_policies.save_only_these_names("hidden"),
    "all but names": checkpoint_policies.save_any_names_but_these("hidden"),
}


def rematted(policy, body=lambda x: step(W, hidden(x))):
    """Return a checkpoint of layers under a policy."""
    return checkpoint(body, policy=POLICIES[policy])


def with_matrix(make):
    """Return the program that `make(w)` gives, where the matrix `w` depends on the argument."""
    return lambda x: make(W * x)(x)


PROGRAMS = {
    "jit": lambda x: total(called(partial(step, W))(x)),
    "jit of jit": lambda x: total(called(lambda x: called(hidden)(x) * x)(x)),
    "jit of operands": lambda x: called(lambda x, y: total(x * y))(x, lax.sin(x)),
    "cond": lambda x: branched(x, hidden, lambda x: x),
    "cond of operands": lambda x: branched(x, lambda x: x * x, lambda x: x * lax.sin(x)),
    "cond of jit": lambda x: branched(x, called(partial(step, W)), called(lax.sin)),
    "jit of cond": lambda x: called(lambda x: branched(x, hidden, lax.sin))(x),
    "scan": lambda x: looped(lambda c: step(W, c), x),
    "scan of inputs": lambda x: total(scan(lambda c, y: (lax.sin(c * y), c * y), x, XS * x)[1]),
    "scan of a moving matrix": with_matrix(lambda w: lambda x: looped(lambda c: step(w, c), x)),
    "scan of jit": lambda x: looped(called(lambda c: step(W, c)), x),
    "scan of jit of operands": with_matrix(lambda w: lambda x: looped(lambda c: called(step)(w, c), x)),
    "scan of fixed work in jit": lambda x: looped(squared_inside, x),
    "scan of cond": lambda x: looped(lambda c: cond(c[0] > 0.0, partial(step, W), lax.sin, c), x),
    "scan of cond of operands": with_matrix(
        lambda w: lambda x: looped(lambda c: cond(c[0] > 0.0, step, lambda w, c: lax.sin(c), w, c), x)
    ),
    "scan of scan": lambda x: looped(lambda c: scan(lambda d, _: (step(W, d), None), c, None, length=2)[0], x),
    "jit of scan of jit": lambda x: called(lambda x: looped(called(partial(step, W)), x))(x),
    "scan of checkpoint, nothing": lambda x: looped(rematted("nothing"), x),
    "scan of checkpoint, everything": lambda x: looped(rematted("everything"), x),
    "scan of checkpoint, dots": lambda x: looped(rematted("dots"), x),
    "scan of checkpoint, names": lambda x: looped(rematted("names"), x),
    "scan of checkpoint, all but names": lambda x: looped(rematted("all but names"), x),
    "checkpoint of scan, dots": lambda x: rematted("dots", lambda x: looped(partial(step, W), x))(x),
    "checkpoint of jit and cond, names": lambda x: rematted(
        "names", lambda x: branched(x, called(hidden), called(partial(step, W)))
    )(x),
    "while": lambda x: counted(lax.sin, x),
    "while with max_steps": lambda x: counted(lambda c: step(W, c), x, max_steps=7),
    "while with checkpoints": lambda x: counted(called(lambda c: step(W, c)), x, checkpoints=2),
    "custom_vjp": lambda x: total(by_backward(x)),
    "custom_vjp in jit": lambda x: total(called(by_backward)(x)),
    "custom_vjp in scan": lambda x: looped(by_backward, x),
    "custom_vjp with jvp, in scan": lambda x: looped(by_both, x),
    "custom_vjp in cond in scan": lambda x: looped(lambda c: cond(c[0] > 0.0, by_backward, lax.sin, c), x),
    "custom_jvp in jit in scan": lambda x: looped(called(by_forward), x),
    "linear_call in scan": lambda x: looped(scaled, x),
    "solve in jit": lambda x: total(called(solved)(x)),
}
