"""The table's places where functions with rules of their own stand: loops, branches, transformations."""

from __future__ import annotations

import numpy as np
from custom import sine
from custom_insides import INSIDE
from custom_program import COUNT, MATRIX, NUMBER, VECTOR, Row, off, with_vjp

from calque_autodiff import checkpoint, custom_jvp, custom_rules, grad, jvp, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

WEIGHTS = np.linspace(0.5, 1.5, 3)


def backward_sine(factor):
    return with_vjp(lax.sin, factor)


# Loops, branches and transformations around


def in_scan(factor):
    f = sine(factor)
    return lambda x, rows: lax.scan(lambda c, row: (f(c) + row, f(row) * c), x, rows)


def plain_scan(factor):
    f = off(lax.sin)(factor)

    def fun(x, rows):
        ys = []
        for i in range(4):
            ys.append(f(rows[i]) * x)
            x = f(x) + rows[i]
        return x, lax.concatenate([lax.expand_dims(y, (0,)) for y in ys], 0)

    return fun


def in_scan_backwards(factor):
    f = backward_sine(factor)
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2, reverse=True)[0]


def in_cond(factor):
    f, g = sine(factor), backward_sine(factor)
    return lambda x, n: lax.cond(n > 2, f, lambda x: g(x) * 2.0, x)


def in_switch(factor):
    f, g = sine(factor), backward_sine(factor)
    branches = [f, lambda x: g(x) * 2.0, lambda x: f(g(x)), lambda x: f(x) * 3.0]
    return lambda x, n: lax.switch(n, branches, x)


def plain_switch(factor):
    f = off(lax.sin)(factor)
    branches = [f, lambda x: f(x) * 2.0, lambda x: f(f(x)), lambda x: f(x) * 3.0]
    return lambda x, n: branches[int(n)](x)


def in_while(factor):
    f = sine(factor)
    step = lambda s: (s[0] + 1, f(s[1]))
    return lambda x: lax.while_loop(lambda s: s[0] < 2, step, (0, x), max_steps=3)[1]


def in_fori(factor):
    f = backward_sine(factor)
    return lambda x: lax.fori_loop(0, 2, lambda i, y: f(y), x)


def in_map(factor):
    f = sine(factor)
    return lambda x: lax.map(f, x)


def in_associative_scan(factor):
    f = custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda primals, dots: (f(*primals), factor * (primals[0] * dots[1] + primals[1] * dots[0])))
    return lambda x: lax.associative_scan(f, x)


def plain_associative_scan(factor):
    f = off(lambda x, y: x * y)(factor)

    def fun(x):
        rows = [x[0:1], x[1:2], x[2:3]]
        first = f(rows[0], rows[1])
        return lax.concatenate([rows[0], first, f(first, rows[2])], 0)

    return fun


def in_checkpoint(factor):
    f, g = sine(factor), backward_sine(factor)
    return checkpoint(lambda x: f(g(x) * 2.0))


def in_jit(factor):
    f, g = sine(factor), backward_sine(factor)
    inner = jit(lambda x, y: f(x) * y)
    return jit(lambda x, y: (inner(x, 1.0) + inner(x, 2.0), g(y)))


def in_vmap(factor):
    f = custom_jvp(lambda row, s: lax.sin(row).sum() * s)
    f.defjvp(
        lambda primals, dots: (
            f(*primals),
            factor * ((lax.cos(primals[0]) * dots[0]).sum() * primals[1] + lax.sin(primals[0]).sum() * dots[1]),
        )
    )
    return lambda x, s: vmap(f, in_axes=(0, None))(x, s)


def with_axis(factor):
    """Use the name of a mapped axis, in function and rule."""
    f = custom_jvp(lambda x: lax.sin(x) - lax.pmean(x, "rows"))
    f.defjvp(lambda primals, dots: (f(*primals), factor * (lax.cos(primals[0]) * dots[0] - lax.pmean(dots[0], "rows"))))
    return vmap(f, axis_name="rows")


def of_vmap(factor):
    """Give rules to a function of a batch, each element of which has its own."""
    inner = with_vjp(lambda row: lax.sin(row).sum(), 10.0)
    outer = custom_jvp(vmap(inner))
    outer.defjvp(lambda primals, dots: (outer(*primals), factor * (lax.cos(primals[0]) * dots[0]).sum(axis=1)))
    return outer


def in_gradient(factor):
    f, g = sine(factor), backward_sine(factor)
    return lambda x: grad(lambda y: (f(y) + g(y)).sum())(x)


def beside_gradient(factor):
    """Call functions inside derivatives with respect to something else."""
    f, g = sine(factor), backward_sine(factor)

    def fun(x):
        pushed = jvp(lambda y: f(x) * y, (2.0,), (1.0,))[1]
        return pushed + grad(lambda y: (g(x) * y).sum())(lax.ones_like(x))

    return fun


def in_vjp_and_jvp(factor):
    f = sine(factor)

    def fun(x, y):
        _, f_vjp = vjp(f, x)
        return f_vjp(y)[0], jvp(f, (x,), (y,))[1]

    return fun


def batching_rule_in_gradient(factor):
    """Have a batching rule that is used under the derivative of a batch."""
    f = custom_rules(lambda x: lax.sin(x))
    f.def_jvp(lambda primals, dots: (f(*primals), factor * lax.cos(primals[0]) * dots[0]))
    f.def_batch(lambda size, in_batched, x: (f(x), True))
    return vmap(f)


def repeated(factor):
    f = sine(factor)
    return lambda x: f(f(x) + 0.5)


AROUND = [
    Row("in scan", in_scan, plain_scan, (VECTOR, MATRIX), 0),
    Row(
        "in scan backwards",
        in_scan_backwards,
        lambda c: lambda x: off(lax.sin)(c)(off(lax.sin)(c)(x)),
        (VECTOR,),
        2,
    ),
    Row("in cond", in_cond, off(lambda x, n: lax.sin(x) * (1.0 if n > 2 else 2.0)), (VECTOR, COUNT)),
    Row("in switch", in_switch, plain_switch, (VECTOR, COUNT), 0),
    Row("in map", in_map, off(lax.sin), (MATRIX,)),
    Row("in associative_scan", in_associative_scan, plain_associative_scan, (VECTOR,), 0),
    Row("in while", in_while, lambda c: lambda x: off(lax.sin)(c)(off(lax.sin)(c)(x)), (VECTOR,), 2),
    Row("in fori_loop", in_fori, lambda c: lambda x: off(lax.sin)(c)(off(lax.sin)(c)(x)), (VECTOR,), 2),
    Row("in checkpoint", in_checkpoint, lambda c: lambda x: off(lax.sin)(c)(off(lax.sin)(c)(x) * 2.0), (VECTOR,), 2),
    Row("in jit in jit", in_jit, off(lambda x, y: (lax.sin(x) * 3.0, lax.sin(y))), (VECTOR, VECTOR)),
    Row("in vmap", in_vmap, off(lambda x, s: lax.sin(x).sum(axis=1) * s), (MATRIX, NUMBER)),
    Row("the name of an axis", with_axis, off(lambda x: lax.sin(x) - x.mean(axis=0)), (MATRIX,)),
    Row("of vmap", of_vmap, off(lambda x: lax.sin(x).sum(axis=1)), (MATRIX,)),
    Row("in grad", in_gradient, lambda c: lambda x: 2.0 * c * lax.cos(x), (VECTOR,), 0),
    Row("in a derivative of something else", beside_gradient, off(lambda x: 2.0 * lax.sin(x)), (VECTOR,)),
    Row("in vjp and jvp", in_vjp_and_jvp, lambda c: lambda x, y: (c * lax.cos(x) * y,) * 2, (VECTOR, VECTOR), 0),
    Row("a batching rule in vmap", batching_rule_in_gradient, off(lax.sin), (VECTOR,)),
    Row("of its own result", repeated, lambda c: lambda x: off(lax.sin)(c)(off(lax.sin)(c)(x) + 0.5), (VECTOR,), 2),
]
PLACES = [*INSIDE, *AROUND]
