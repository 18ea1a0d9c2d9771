"""A `check` fails on several devices, with its index and its message: `python checked_devices.py CLAIM ...`."""

from __future__ import annotations

import numpy as np
import pytest
from many_devices import COUNT, report

import calque
from calque import CheckError, P, lax

X = np.array([1.0, 2.0, -3.0, 4.0])


def square(x):
    calque.check(x > 0, "x is {}, not positive", x)
    return x * x


def total(x):
    return lax.psum(square(x), "i") * np.ones_like(x)


def on_mesh(f):
    return calque.shard_map(f, mesh=calque.make_mesh((4,), "i"), in_specs=P("i"), out_specs=P("i"))


def placed(f):
    row = lambda: calque.NamedSharding(calque.make_mesh((4,), "i"), P("i"))
    return lambda x: calque.jit(f)(calque.device_put(x, row()))


# claim -> (a function of X, the index of its error)
CLAIMS = {
    "divided array": (placed(square), (2,)),
    "divided array, branch": (placed(lambda x: lax.cond(x[0] > 0, square, lambda x: x, x)), (2,)),
    "divided array, loop": (placed(lambda x: lax.map(square, x)), ()),
    "shard_map": (lambda x: on_mesh(square)(x), (0,)),
    "jit of shard_map": (lambda x: calque.jit(on_mesh(square))(x), (0,)),
    "shard_map, sum": (lambda x: calque.jit(on_mesh(total))(x), (0,)),
    "grad of shard_map": (lambda x: calque.grad(lambda x: np.sum(on_mesh(square)(x)))(x), (0,)),
    "vmap of shard_map": (lambda x: calque.vmap(on_mesh(square))(x[None]), (0, 0)),
    "pmap": (lambda x: calque.pmap(square)(x), ()),
    "pmap, sum": (lambda x: calque.pmap(total, axis_name="i")(x), ()),
}


def check(claim: str) -> None:
    run, index = CLAIMS[claim]
    for _ in range(2):  # the call after an error, too
        run(np.abs(X))
        with pytest.raises(CheckError, match=r"x is -3\.0, not positive") as caught:
            run(X)
        assert caught.value.index == index


if __name__ == "__main__":
    calque.config.cpu_devices(COUNT)
    report(check)
