"""Checks that `pmap` means what `vmap` means, under every transformation: `python pmapped.py CLAIM ...`.

A claim is the name of a program and the name of a transformation: "normalized-grad".
"""

from __future__ import annotations

from functools import partial

import numpy as np
from many_devices import COUNT, report

import calque
from calque import lax
from calque_pytree import tree_leaves, tree_map

X = np.random.default_rng(0).standard_normal((4, 3))
Y = np.random.default_rng(1).standard_normal((4, 3))


# Programs of one element, with the in_axes and out_axes of their map.


def normalized(x, y):
    return x / lax.psum(x * x, "i") + y


def shifted(x, y):
    return lax.ppermute(x, "i", [(k, (k + 1) % 4) for k in range(4)]) * y + lax.axis_index("i")


def gathered(x, y):
    everything = lax.all_gather(x, "i")
    return (everything @ y).sum() * everything[0]


def scattered(x, y):
    return lax.psum_scatter(calque.numpy.stack([x, y, x * y, x]), "i") * x


def exchanged(x, y):
    return lax.all_to_all(calque.numpy.stack([x, y, x * y, x]), "i", 0, 0).sum(0) * y


def looped(x, y):
    return lax.scan(lambda c, _: (calque.numpy.sin(lax.pmean(c, "i") * c), c.sum()), x * y, None, length=3)[0]


def branched(x, y):
    return lax.cond(lax.pmax(x.sum(), "i") > 0, lambda: lax.psum(x * y, "i"), lambda: x)


def jitted(x, y):
    return calque.jit(lambda x: lax.psum(x * x, "i"))(x) * y


def rematerialized(x, y):
    return calque.checkpoint(lambda x: calque.numpy.sin(lax.psum(x, "i")) * x)(x) * y


PROGRAMS = (
    normalized, shifted, gathered, scattered, exchanged, looped, branched, jitted, rematerialized,
)  # fmt: skip


# Transformations of the mapped function, which take its map.


def total(f, *args):
    return sum(calque.numpy.sum(calque.numpy.cos(x)) for x in tree_leaves(f(*args)))


TRANSFORMATIONS = {
    "call": lambda f: f(X, Y),
    "jit": lambda f: calque.jit(f)(X, Y),
    "grad": lambda f: calque.grad(partial(total, f), argnums=(0, 1))(X, Y),
    "jitgrad": lambda f: calque.jit(calque.grad(partial(total, f), argnums=(0, 1)))(X, Y),
    "jvp": lambda f: calque.jvp(f, (X, Y), (Y, X)),
    "vjp": lambda f: calque.vjp(f, X, Y)[1](np.cos(X)),
    "linearize": lambda f: calque.linearize(f, X, Y)[1](Y, X),
    "vmap": lambda f: calque.vmap(f, in_axes=(1, None))(np.stack([X, Y], 1), Y),
    "vmapgrad": lambda f: calque.vmap(calque.grad(partial(total, f)))(np.stack([X, Y]), np.stack([Y, X])),
    "gradgrad": lambda f: calque.grad(lambda x: total(calque.grad(partial(total, f)), x, Y))(X),
}


def check(claim: str) -> None:
    program, transformation = claim.split("-")
    f, transform = {each.__name__: each for each in PROGRAMS}[program], TRANSFORMATIONS[transformation]
    got, want = transform(calque.pmap(f, axis_name="i")), transform(calque.vmap(f, axis_name="i"))
    assert tree_map(np.shape, got) == tree_map(np.shape, want)
    for x, y in zip(tree_leaves(got), tree_leaves(want), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    calque.config.cpu_devices(COUNT)
    report(check)
