"""Sharded programs that run in calque and in jax: each takes the library's modules, and gives a body with its specs.

`python tests/laws/twin_shards.py 4` prints what jax makes of them on four devices: one line for each program and each
`check_vma`, with the leaves of its results and of the cotangents of its arguments.

Read next: `test_sharded_beside_jax.py`, which compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(0)
ROWS, SQUARE, WEIGHTS = RNG.normal(size=(8, 3)), RNG.normal(size=(8, 8)), RNG.normal(size=(3, 3))


class Library(NamedTuple):
    """The modules and functions of one library."""

    np: Any
    lax: Any
    grad: Any
    shard_map: Any
    P: Any


class Twin(NamedTuple):
    """A program: `body(library)` on shards; letters stand for specs, "i" divides the first axis and "r" none."""

    body: Callable[[Library], Callable[..., Any]]
    in_specs: str
    out_specs: str
    args: tuple[Any, ...]


def psum_of_sines(lib):
    return lambda x: lib.lax.psum(lib.np.sin(x), "i")


def psum_of_equals(lib):
    return lambda w, x: lib.lax.psum(lib.lax.psum(w * w, "i") * x.sum(), "i")


def mean_loss(lib):
    return lambda w, x: lib.lax.pmean(lib.np.mean(lib.np.tanh(x @ w) ** 2), "i")


def softmax(lib):
    def body(x):
        unnormalized = lib.np.exp(x - lib.lax.stop_gradient(lib.lax.pmax(lib.lax.stop_gradient(x), "i")))
        return unnormalized / lib.lax.psum(unnormalized, "i")

    return body


def gathered(lib):
    return lambda w, x: lib.np.tanh(x @ lib.lax.all_gather(w, "i", tiled=True))


def scattered(lib):
    return lambda x: lib.lax.psum_scatter(lib.np.sin(x).T @ x, "i", scatter_dimension=0, tiled=True)


def exchanged(lib):
    return lambda x: lib.np.sin(lib.lax.all_to_all(x, "i", 1, 0, tiled=True))


def passed_on(lib):
    def body(x):
        size = lib.lax.axis_size("i")
        return x * lib.lax.ppermute(lib.np.sin(x), "i", [(k, (k + 1) % size) for k in range(size)])

    return body


def scanned(lib):
    def body(w, x):
        def step(carry, row):
            carry = lib.np.sin(carry + lib.lax.psum(row.sum(), "i"))
            return carry, carry * row

        return lib.lax.scan(step, w[0, 0], x.T)

    return body


def gradient_inside(lib):
    """The gradient of a sum over the shards, taken in the body, in the shard's own value and in a common one."""

    def body(w, x):
        loss = lambda w, x: lib.lax.psum(lib.np.sum(lib.np.sin(x @ w)), "i")
        w_bar, x_bar = lib.grad(loss, argnums=(0, 1))(w, x)
        return lib.lax.pmean(lib.np.sin(w_bar), "i"), x_bar

    return body


def gradients_of_collectives(lib):
    """The gradients, taken in the body, of nonlinear functions of what shards exchange."""

    def body(x):
        np, lax = lib.np, lib.lax
        size = lax.axis_size("i")
        collectives = [
            lambda x: lax.psum(x, "i"),
            lambda x: lax.pmean(x, "i") * x,
            lambda x: lax.all_gather(x, "i"),
            lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
            lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
            lambda x: lax.ppermute(x, "i", [(k, k + 1) for k in range(size - 1)]),
            lambda x: lax.psum(lax.psum(x, "i") * x, "i"),
        ]
        return tuple(lib.grad(lambda x, f=f: np.sum(np.sin(f(x * x))))(x) for f in collectives)

    return body


def positions(lib):
    return lambda w, x: x @ w * lib.lax.axis_index("i") + lib.lax.axis_size("i")


TWINS = {
    "psum_of_sines": Twin(psum_of_sines, "i", "r", (ROWS,)),
    "psum_of_equals": Twin(psum_of_equals, "ri", "r", (WEIGHTS, ROWS)),
    "mean_loss": Twin(mean_loss, "ri", "r", (WEIGHTS, ROWS)),
    "softmax": Twin(softmax, "i", "i", (ROWS,)),
    "gathered": Twin(gathered, "ii", "i", (ROWS, SQUARE)),
    "scattered": Twin(scattered, "i", "i", (SQUARE,)),
    "exchanged": Twin(exchanged, "i", "i", (SQUARE,)),
    "passed_on": Twin(passed_on, "i", "i", (ROWS,)),
    "scanned": Twin(scanned, "ri", "ri", (WEIGHTS, ROWS)),
    "gradient_inside": Twin(gradient_inside, "ri", "ri", (WEIGHTS, ROWS)),
    "gradients_of_collectives": Twin(gradients_of_collectives, "i", "iiiiiii", (SQUARE,)),
    "positions": Twin(positions, "ri", "i", (WEIGHTS, ROWS)),
}


def sharded(twin: Twin, lib: Library, mesh: Any, check_vma: bool) -> Callable[..., tuple[Any, ...]]:
    """Return the program over a mesh with the axis "i", with a tuple of results."""
    one = lib.shard_map(
        twin.body(lib), mesh=mesh, in_specs=specs_of(twin.in_specs, lib),
        out_specs=specs_of(twin.out_specs, lib) if len(twin.out_specs) > 1 else specs_of(twin.out_specs, lib)[0],
        check_vma=check_vma,
    )  # fmt: skip
    return one if len(twin.out_specs) > 1 else lambda *args: (one(*args),)


def specs_of(letters: str, lib: Library) -> tuple[Any, ...]:
    return tuple(lib.P("i") if letter == "i" else lib.P() for letter in letters)


def cotangent(x: Any) -> Any:
    return np.cos(np.arange(x.size)).reshape(x.shape)


def value_and_cotangents(fun: Callable[..., Any], vjp: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the results, then the cotangents of the arguments, as nested lists."""
    outs, pull = vjp(fun, *args)
    bars = pull(tuple(map(cotangent, outs)))
    return [np.asarray(x).tolist() for x in (*outs, *bars)]


def print_all_of_jax(size: int) -> None:
    """Print a line for each program and each `check_vma`."""
    import jax  # noqa: PLC0415 -- only in the process that this script is

    jax.config.update("jax_enable_x64", True)
    lib = Library(jax.numpy, jax.lax, jax.grad, jax.shard_map, jax.sharding.PartitionSpec)
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:size]), ("i",))
    for name, twin in TWINS.items():
        for check_vma in (True, False):
            fun = jax.jit(sharded(twin, lib, mesh, check_vma))
            print(repr((name, check_vma, value_and_cotangents(fun, jax.vjp, twin.args))))


if __name__ == "__main__":
    print_all_of_jax(int(sys.argv[1]))
