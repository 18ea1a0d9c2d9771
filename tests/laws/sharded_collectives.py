"""The first half of the table of sharded programs: each collective, and each way to divide values among shards."""

from __future__ import annotations

import numpy as np
from program import always, numbers, scalar, tree_of
from sharded_program import GRID, copies, over, parts, row

from calque_core import PartitionSpec as P
from calque_core import lax, shard_map

ROWS, SQUARE = numbers((8, 3)), numbers((8, 8))
TABLE = np.linspace(-1.0, 1.0, 3)


def ring(size, step=1):
    return [(i, (i + step) % size) for i in range(size)]


def shifted(x, step):
    """Return a body's value with the values of neighbours: each shard gets its neighbour's, the first gets zeros."""
    return lax.ppermute(
        x, "i", [(i, i + step) for i in range(lax.axis_size("i")) if 0 <= i + step < lax.axis_size("i")]
    )


def shifted_meaning(mesh, x):
    sections = parts(np.sin(x), mesh)
    return np.concatenate([np.zeros_like(sections[:1]), sections[:-1]]).reshape(x.shape)


def ring_sum(x):
    """Sum over the shards by passing values round the ring."""
    size = lax.axis_size("i")
    total = piece = np.sin(x)
    for _ in range(size - 1):
        piece = lax.ppermute(piece, "i", ring(size))
        total = total + piece
    return total


def ring_positions(x):
    return x * lax.axis_index("i")


def grid_positions(x):
    return x * (1.0 + lax.axis_index(("x", "y")))


def positions_of_rows(mesh, x):
    return np.repeat(np.arange(mesh.size), len(x) // mesh.size)[:, None]


def running_sum(x):
    """Sum the rows before each row, with one collective for the sums of whole shards."""
    sums = lax.all_gather(x.sum(0), "i")
    is_before = np.arange(len(sums)) < lax.axis_index("i")
    return np.cumsum(x, 0) + np.where(is_before[:, None], sums, 0.0).sum(0)


def experts(x, w):
    """Send slots of rows to the shards, multiply there, and send them back."""
    slots = x.reshape(lax.axis_size("i"), -1, 3)
    sent = lax.all_to_all(slots, "i", 0, 0)
    back = lax.all_to_all(np.tanh(sent * w.sum(0)), "i", 0, 0)
    return back.reshape(x.shape)


def experts_meaning(mesh, x, w):
    slots = x.reshape(mesh.size, mesh.size, -1, 3)
    return np.tanh(slots * parts(w, mesh).sum(1)[None, :, None, :]).reshape(x.shape)


def halo(x):
    """Exchange border rows with both neighbours, three times: steps of a diffusion."""
    for _ in range(3):
        whole = np.concatenate([shifted(x[-1:], 1), x, shifted(x[:1], -1)])
        x = x + 0.1 * (whole[:-2] - 2 * x + whole[2:])
    return x


def halo_meaning(mesh, x):
    for _ in range(3):
        border = np.zeros_like(x[:1])
        whole = np.concatenate([border, x, border])
        x = x + 0.1 * (whole[:-2] - 2 * x + whole[2:])
    return x


def reduced_and_kept(tree):
    return {"sum": lax.psum(tree["a"].sum(0), "i"), "own": (np.sin(tree["a"]), tree["a"] * tree["b"]), "b": tree["b"]}


def closed_over(mesh, check_vma):
    """Close over an array, and over a value that may be traced."""

    def fun(x, factor):
        def body(x):
            return lax.psum(np.sin(x * TABLE) * factor, "i")

        return shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P(), check_vma=check_vma)(x)

    return fun


def resharded(mesh, check_vma):
    """Divide the rows first, then the columns."""

    def fun(x):
        by_rows = over(np.sin, P("i"), P("i"))(mesh, check_vma)
        by_columns = over(lambda x: x * np.cumsum(x, 0), P(None, "i"), P(None, "i"))(mesh, check_vma)
        return by_columns(by_rows(x))

    return fun


def grid_sections(mesh, x, axis=0):
    """Return the sections of an axis along "x", then along "y"."""
    sections = np.stack(np.split(x, mesh.size, axis))
    return sections.reshape(*mesh.axis_sizes, *sections.shape[1:])


COLLECTIVES = [
    row(
        "psum", over(lambda x: lax.psum(np.sin(x), "i"), P("i"), P()), lambda mesh, x: parts(np.sin(x), mesh).sum(0),
        ROWS,
    ),
    row(
        "pmean", over(lambda x: lax.pmean(np.sin(x), "i"), P("i"), P()),
        lambda mesh, x: parts(np.sin(x), mesh).mean(0), ROWS,
    ),
    row(
        "pmax", over(lambda x: lax.pmax(np.sin(x), "i"), P("i"), P()), lambda mesh, x: parts(np.sin(x), mesh).max(0),
        ROWS,
    ),
    row(
        "pmin", over(lambda x: x * lax.pmin(x, "i"), P("i"), P("i")),
        lambda mesh, x: (parts(x, mesh) * parts(x, mesh).min(0)).reshape(x.shape), ROWS,
    ),
    row(
        "all_gather", over(lambda x: np.sin(lax.all_gather(x, "i")) * x, P("i"), P(None, "i")),
        lambda mesh, x: np.concatenate(
            [np.sin(parts(x, mesh)) * own for own in parts(x, mesh)], 1
        ), ROWS,
    ),
    row(
        "all_gather_tiled", over(lambda x: lax.all_gather(np.sin(x), "i", axis=1, tiled=True), P(None, "i"), P("i")),
        lambda mesh, x: copies(np.sin(x), mesh), SQUARE,
    ),
    row(
        "all_gather_invariant", over(lambda x: np.sin(lax.all_gather_invariant(x, "i", tiled=True)), P("i"), P()),
        lambda mesh, x: np.sin(x), ROWS, checked=(True,),
    ),
    row(
        "psum_scatter",
        over(
            lambda x: lax.psum_scatter(np.sin(x), "i", scatter_dimension=1, tiled=True), P("i"), P(None, "i")
        ),
        lambda mesh, x: parts(np.sin(x), mesh).sum(0), SQUARE,
    ),
    row(
        "all_to_all", over(lambda x: lax.all_to_all(np.sin(x), "i", 1, 0, tiled=True), P("i"), P(None, "i")),
        lambda mesh, x: np.sin(x), SQUARE,
    ),
    row(
        "ppermute", over(lambda x: lax.ppermute(np.sin(x), "i", ring(lax.axis_size("i"))), P("i"), P("i")),
        lambda mesh, x: np.roll(np.sin(x), 8 // mesh.size, 0), ROWS,
    ),
    row("ppermute_to_some", over(lambda x: shifted(np.sin(x), 1), P("i"), P("i")), shifted_meaning, ROWS),
    row(
        "pshuffle",
        over(lambda x: lax.pshuffle(np.sin(x), "i", [*range(lax.axis_size("i"))][::-1]), P("i"), P("i")),
        lambda mesh, x: parts(np.sin(x), mesh)[::-1].reshape(x.shape), ROWS,
    ),
    row(
        "pbroadcast",
        over(lambda x: lax.pbroadcast(np.sin(x), "i", lax.axis_size("i") - 1), P("i"), P("i")),
        lambda mesh, x: copies(np.sin(parts(x, mesh)[-1]), mesh), ROWS,
    ),
    row(
        "axis_index", over(ring_positions, P("i"), P("i")), lambda mesh, x: x * positions_of_rows(mesh, x), ROWS,
    ),
    row(
        "axis_size", over(lambda x: x**2 / lax.axis_size("i"), P("i"), P("i")), lambda mesh, x: x**2 / mesh.size, ROWS,
    ),
    row(
        "pvary", over(lambda x: np.sin(lax.pvary(x, "i")), P(), P("i")), lambda mesh, x: copies(np.sin(x), mesh), ROWS,
    ),
    row("ring_sum", over(ring_sum, P("i"), P("i")), lambda mesh, x: copies(parts(np.sin(x), mesh).sum(0), mesh), ROWS),
    # The same value on all shards
    row("psum_of_equals", over(lambda x: lax.psum(x**2, "i"), P(), P()), lambda mesh, x: mesh.size * x**2, ROWS),
    row("pmax_of_equals", over(lambda x: lax.pmax(x**2, "i"), P(), P()), lambda mesh, x: x**2, ROWS),
    row("without_collectives", over(lambda x: np.sin(x) * x, P(), P()), lambda mesh, x: np.sin(x) * x, ROWS),
    row(
        "equals_with_own", over(lambda s, x: (np.exp(s) * x, np.exp(s)), (P(), P("i")), (P("i"), P())),
        lambda mesh, s, x: (np.exp(s) * x, np.exp(s)), numbers(()), ROWS,
    ),
    row("equals_side_by_side", over(np.sin, P(), P("i")), lambda mesh, x: copies(np.sin(x), mesh), ROWS),
    row(
        "scalars", over(lambda s, x: s * np.exp(s) * lax.psum(np.exp(x.sum()), "i"), (P(), P("i")), P()),
        lambda mesh, s, x: s * np.exp(s) * np.exp(parts(x, mesh).sum((1, 2))).sum(), scalar(0.3), ROWS,
    ),
    # Several axes
    row(
        "psum_of_both", over(lambda x: lax.psum(np.sin(x), ("x", "y")), P("x", "y"), P()),
        lambda mesh, x: np.sin(x).reshape(mesh.shape["x"], 8 // mesh.shape["x"], mesh.shape["y"], -1).sum((0, 2)),
        SQUARE, axes=GRID,
    ),
    row(
        "psum_of_one", over(lambda x: lax.psum(np.sin(x), "y"), P("x", "y"), P("x")),
        lambda mesh, x: np.sin(x).reshape(8, mesh.shape["y"], -1).sum(1), SQUARE, axes=GRID,
    ),
    row(
        "psum_twice", over(lambda x: lax.psum(np.sin(lax.psum(x, "y")) * x, "x"), P("x", "y"), P(None, "y")),
        lambda mesh, x: (
            np.tile(np.sin(x.reshape(8, mesh.shape["y"], -1).sum(1)), (1, mesh.shape["y"])) * x
        ).reshape(mesh.shape["x"], -1, 8).sum(0), SQUARE, axes=GRID,
    ),
    row(
        "two_names_of_an_axis", over(lambda x: lax.psum(np.sin(x), "y"), P(("x", "y")), P("x")),
        lambda mesh, x: grid_sections(mesh, np.sin(x)).sum(1).reshape(-1, 3), ROWS, axes=GRID,
    ),
    row(
        "positions_of_both", over(grid_positions, P(("x", "y")), P(("x", "y"))),
        lambda mesh, x: x * (1.0 + positions_of_rows(mesh, x)), ROWS, axes=GRID,
    ),
    row(
        "all_gather_of_both",
        over(lambda x: lax.all_gather(np.sin(x), ("x", "y"), tiled=True), P(("x", "y")), P(("x", "y"))),
        lambda mesh, x: copies(np.sin(x), mesh), ROWS, axes=GRID,
    ),
    row(
        "partly_manual", over(lambda x: lax.psum(np.sin(x) * x[::-1], "x"), P("x"), P(), axis_names={"x"}),
        lambda mesh, x: (np.sin(y := x.reshape(mesh.shape["x"], -1, 3)) * y[:, ::-1]).sum(0), ROWS, axes=GRID,
    ),
    # Exchanges in patterns
    row("running_sum", over(running_sum, P("i"), P("i")), lambda mesh, x: np.cumsum(x, 0), ROWS),
    row("halo", over(halo, P("i"), P("i")), halo_meaning, ROWS),
    row("experts", over(experts, P("i"), P("i")), experts_meaning, numbers((64, 3)), ROWS),
    # Arguments and results
    row(
        "several_results", over(reduced_and_kept, ({"a": P("i"), "b": P()},), {"sum": P(), "own": P("i"), "b": P()}),
        lambda mesh, t: {"sum": t["a"].sum(0), "own": (np.sin(t["a"]), t["a"] * t["b"]), "b": t["b"]},
        tree_of(a=ROWS, b=numbers((3,))),
    ),
    row("closed_over", closed_over, lambda mesh, x, f: parts(np.sin(x * TABLE) * f, mesh).sum(0), ROWS, numbers((3,))),
    row("resharded", resharded, lambda mesh, x: np.sin(x) * np.cumsum(np.sin(x), 0), SQUARE),
    row(
        "integers", over(lambda k, x: (lax.psum(k, "i"), x * lax.pmax(k, "i")), (P("i"), P("i")), (P(), P("i"))),
        lambda mesh, k, x: (
            parts(k, mesh).sum(0, dtype=k.dtype), (parts(x, mesh) * parts(k, mesh).max(0)).reshape(x.shape)
        ),
        always("int32", (8, 3)), ROWS,
    ),
    row(
        "bools", over(lambda b, x: lax.psum(np.where(b, x, x**2), "i"), (P("i"), P("i")), P()),
        lambda mesh, b, x: parts(np.where(b, x, x**2), mesh).sum(0), always("bool", (8, 3)), ROWS,
    ),
    row(
        "complex", over(lambda z: lax.psum(z * np.conj(z) + np.exp(z), "i"), P("i"), P()),
        lambda mesh, z: parts(z * np.conj(z) + np.exp(z), mesh).sum(0), always("complex128", (8, 3)),
    ),
]  # fmt: skip
