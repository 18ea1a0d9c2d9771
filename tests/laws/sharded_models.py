"""The second half of the table of sharded programs: models divided among shards, and programs inside bodies."""

from __future__ import annotations

import numpy as np
from program import numbers, tree_of
from sharded_program import GRID, over, parts, row

from calque_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp
from calque_batching import vmap
from calque_core import PartitionSpec as P
from calque_core import lax, shard_map
from calque_pytree import tree_map
from calque_xla_backend import jit

ROWS, SQUARE, VECTOR = numbers((8, 3)), numbers((8, 8)), numbers((8,))
PARAMS = tree_of(w1=numbers((3, 4)), b1=numbers((4,)), w2=numbers((4, 3)))
TARGETS = numbers((8, 3), -1.0, 1.0)


# Models on one device


def mlp_loss(params, x, y):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] - y) ** 2)


def softmax(x):
    unnormalized = np.exp(x - x.max(-1, keepdims=True))
    return unnormalized / unnormalized.sum(-1, keepdims=True)


def two_layers(x, w, v):
    return np.tanh(x @ w) @ v


def normalized(x, gain):
    centred = x - x.mean(0)
    return centred / np.sqrt((centred**2).mean(0) + 0.1) * gain


def layers(x, w):
    for k in range(len(w)):
        x = np.tanh(w[k] * x)
    return x


def sine_steps(carry, xs):
    for x in xs:
        carry = np.sin(carry + x)
    return carry


# The same models in shards


def data_parallel_gradient(params, x, y):
    own = tree_map(lambda w: lax.pvary(w, "i"), params)
    return lax.pmean(grad(mlp_loss)(own, x, y), "i")


def typed_gradient(params, x, y):
    """Differentiate a mean over the shards in parameters that all shards share: the types sum the gradients."""
    return grad(lambda p: lax.pmean(mlp_loss(p, x, y), "i"))(params)


def training_step(params, x, y):
    gradient = data_parallel_gradient(params, x, y)
    return tree_map(lambda w, g: w - 0.1 * g, params, gradient)


def column_then_row(x, w, v):
    return lax.psum(np.tanh(x @ w) @ v, "i")


def in_two_directions(a, b):
    """Multiply sections of two matrices that both have sections along both axes."""
    rows = lax.all_gather(a, "y", axis=1, tiled=True)
    columns = lax.all_gather(b, "x", axis=0, tiled=True)
    return rows @ columns


def by_reduce_scatter(x, w):
    return lax.psum_scatter(x @ w, "i", scatter_dimension=0, tiled=True)


def gathered_loss(w, x):
    return np.mean(np.tanh(x @ lax.all_gather(w, "i", tiled=True)) ** 2)


def fully_sharded_loss(w, x):
    return lax.pmean(gathered_loss(w, x), "i")


def fully_sharded_gradient(w, x):
    """Differentiate in the shard's own rows: the transpose of the gathering sums and scatters."""
    return grad(gathered_loss)(w, x) / lax.axis_size("i")


def pipeline(w, xs):
    """Pass five batches through the shards, of which each applies its own layers."""
    size, place = lax.axis_size("i"), lax.axis_index("i")

    def step(value, t):
        fresh = lax.dynamic_index_in_dim(xs, np.minimum(t, len(xs) - 1), 0, keepdims=False)
        out = layers(np.where(place == 0, fresh, value), w)
        return lax.ppermute(out, "i", [(i, i + 1) for i in range(size - 1)]), out

    _, outs = lax.scan(step, np.zeros(3), np.arange(len(xs) + size - 1))
    return lax.psum(np.where(place == size - 1, outs[size - 1 :], 0.0), "i")


def sharded_softmax(x):
    highest = lax.pmax(x.max(-1, keepdims=True), "i")
    unnormalized = np.exp(x - highest)
    return unnormalized / lax.psum(unnormalized.sum(-1, keepdims=True), "i")


def sharded_normalized(x, gain):
    centred = x - lax.pmean(x.mean(0), "i")
    return centred / np.sqrt(lax.pmean((centred**2).mean(0), "i") + 0.1) * gain


def ring_attention(q, k, v):
    """Pass keys and values round the ring; every shard adds up the numerators and denominators of its queries."""
    size = lax.axis_size("i")
    numerator = denominator = 0.0
    for _ in range(size):
        weights = np.exp(q @ k.T)
        numerator, denominator = numerator + weights @ v, denominator + weights.sum(1, keepdims=True)
        k, v = lax.ppermute((k, v), "i", [(i, (i + 1) % size) for i in range(size)])
    return numerator / denominator


def attention(mesh, q, k, v):
    weights = np.exp(q @ k.T)
    return weights @ v / weights.sum(1, keepdims=True)


# Programs inside bodies


def scanned(start, xs):
    """Carry a value that all shards share."""

    def step(carry, x):
        carry = np.sin(carry + lax.psum(x.sum(), "i"))
        return carry, carry * x

    return lax.scan(step, start, xs)


def scanned_meaning(mesh, start, xs):
    ys = []
    for x in xs:
        start = np.sin(start + x.sum())
        ys.append(start * x)
    return start, np.stack(ys)


def own_scan(xs):
    """Carry a value that starts the same on all shards and then varies."""
    return lax.scan(lambda carry, x: (np.sin(carry + x), None), np.zeros((len(xs), 3)), np.moveaxis(xs, 1, 0))[0]


def common_choice(x):
    is_positive = lax.psum(np.sum(x), "i") > 0
    return lax.cond(is_positive, lambda x: lax.psum(np.sin(x), "i"), lambda x: lax.psum(x**2, "i"), x)


def own_choice(x):
    return lax.cond(np.sum(x) > 0, np.sin, lambda x: x * np.exp(x), x)


def own_choice_meaning(mesh, x):
    return np.concatenate([np.sin(y) if y.sum() > 0 else y * np.exp(y) for y in parts(x, mesh)])


def halved(x):
    return lax.while_loop(lambda x: lax.pmax(np.max(np.abs(x)), "i") > 0.5, lambda x: np.sin(x) / 2, x)


def halved_meaning(mesh, x):
    while np.max(np.abs(x)) > 0.5:
        x = np.sin(x) / 2
    return x


def own_halves(x):
    """Loop as often as the shard needs."""
    return lax.while_loop(lambda x: np.max(np.abs(x)) > 0.5, lambda x: np.sin(x) / 2, x)


def own_halves_meaning(mesh, x):
    return np.concatenate([halved_meaning(mesh, y) for y in parts(x, mesh)])


def by_columns(x):
    return vmap(lambda column: np.sin(column) * lax.psum(column.sum(), "i"), in_axes=1, out_axes=1)(x)


def named_columns(x):
    def column(x):
        return x * lax.psum(np.sin(x), ("i", "column")) + lax.psum(x, "column")

    return vmap(column, in_axes=1, out_axes=1, axis_name="column")(x)


def named_columns_meaning(mesh, x):
    sections = parts(x, mesh)
    both, columns = np.sin(sections).sum((0, 2)), sections.sum(2)
    return (sections * both[None, :, None] + columns[:, :, None]).reshape(x.shape)


@custom_jvp
def damped(x):
    return lax.psum(np.tanh(x), "i")


@damped.defjvp
def damped_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return damped(x), lax.psum(x_dot / np.cosh(x) ** 2, "i")


@custom_vjp
def clipped(x):
    return np.sin(x)


clipped.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),), jvp="fwd")


def clipped_sum(x):
    return lax.psum(clipped(x) * x, "i")


@checkpoint
def rematerialized(x):
    return np.sin(lax.psum(np.sin(x), "i")) * np.sin(x)


@jit
def compiled(x):
    return lax.psum(np.sin(x), "i") * x


def pushed_inside(x):
    """Differentiate forwards inside the body, along the value itself."""
    return jvp(lambda x: lax.psum(x**3, "i"), (x,), (x,))[1]


def shards_in_steps(mesh, check_vma):
    """Call the same sharded program at each step of a loop."""
    step = over(lambda c, x: lax.pmean(np.mean(np.sin(c + x)), "i"), (P(), P("i")), P())(mesh, check_vma)
    return lambda start, xs: lax.scan(lambda carry, x: (step(carry, x), carry), start, xs)


def steps_meaning(mesh, start, xs):
    carries = []
    for x in xs:
        carries.append(start)
        start = np.mean(np.sin(start + x))
    return start, np.stack(carries)


def shards_in_branches(mesh, check_vma):
    divided = over(lambda x: lax.psum(np.sin(x), "i"), P("i"), P())(mesh, check_vma)
    return lambda x: lax.cond(x[0, 0] < 5.0, divided, lambda x: x[: 8 // mesh.size], x)


def shards_rematerialized(mesh, check_vma):
    return checkpoint(over(lambda x: np.sin(np.sin(x) * lax.psum(np.sin(x), "i")), P("i"), P("i"))(mesh, check_vma))


def nested(mesh, check_vma):
    """Divide along "x", and inside that along "y"."""

    def body(x):
        inner = shard_map(
            lambda x: lax.psum(np.sin(x), "y"),
            mesh=mesh,
            in_specs=P(None, "y"),
            out_specs=P(),
            axis_names={"y"},
            check_vma=check_vma,
        )
        return inner(x * x)

    return shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=check_vma)


MODELS = [
    row(
        "data_parallel_loss", over(lambda p, x, y: lax.pmean(mlp_loss(p, x, y), "i"), (P(), P("i"), P("i")), P()),
        lambda mesh, *args: mlp_loss(*args), PARAMS, ROWS, TARGETS,
    ),
    row(
        "data_parallel_gradient", over(data_parallel_gradient, (P(), P("i"), P("i")), P()),
        lambda mesh, *args: grad(mlp_loss)(*args), PARAMS, ROWS, TARGETS,
    ),
    row(
        "typed_gradient", over(typed_gradient, (P(), P("i"), P("i")), P()),
        lambda mesh, *args: grad(mlp_loss)(*args), PARAMS, ROWS, TARGETS, checked=(True,),
    ),
    row(
        "training_step", over(training_step, (P(), P("i"), P("i")), P()),
        lambda mesh, p, x, y: tree_map(lambda w, g: w - 0.1 * g, p, grad(mlp_loss)(p, x, y)), PARAMS, ROWS, TARGETS,
    ),
    row(
        "column_then_row", over(column_then_row, (P(), P(None, "i"), P("i")), P()),
        lambda mesh, *args: two_layers(*args), ROWS, numbers((3, 8)), numbers((8, 2)),
    ),
    row(
        "in_two_directions", over(in_two_directions, P("x", "y"), P("x", "y")), lambda mesh, a, b: a @ b, SQUARE,
        SQUARE, axes=GRID,
    ),
    row(
        "by_reduce_scatter", over(by_reduce_scatter, (P(None, "i"), P("i")), P("i")), lambda mesh, x, w: x @ w, SQUARE,
        ROWS,
    ),
    row(
        "fully_sharded_loss", over(fully_sharded_loss, P("i"), P()),
        lambda mesh, w, x: np.mean(np.tanh(x @ w) ** 2), ROWS, SQUARE,
    ),
    row(
        "fully_sharded_gradient", over(fully_sharded_gradient, P("i"), P("i")),
        lambda mesh, w, x: grad(lambda w: np.mean(np.tanh(x @ w) ** 2))(w), ROWS, SQUARE,
    ),
    row(
        "pipeline", over(pipeline, (P("i"), P()), P()), lambda mesh, w, xs: layers(xs, w), VECTOR, numbers((5, 3)),
    ),
    row("softmax", over(sharded_softmax, P(None, "i"), P(None, "i")), lambda mesh, x: softmax(x), SQUARE),
    row("normalized", over(sharded_normalized, (P("i"), P()), P("i")), lambda mesh, *args: normalized(*args), ROWS,
        numbers((3,))),
    row("ring_attention", over(ring_attention, P("i"), P("i")), attention, ROWS, ROWS, ROWS),
    # Programs inside
    row("scan", over(scanned, (P(), P(None, "i")), (P(), P(None, "i"))), scanned_meaning, numbers(()), numbers((3, 8))),
    row("own_scan", over(own_scan, P("i"), P("i")),
        lambda mesh, xs: sine_steps(np.zeros((8, 3)), np.moveaxis(xs, 1, 0)), numbers((8, 4, 3))),
    row("common_choice", over(common_choice, P("i"), P()), lambda mesh, x: parts(
        np.sin(x) if x.sum() > 0 else x**2, mesh).sum(0), ROWS),
    row("own_choice", over(own_choice, P("i"), P("i")), own_choice_meaning, ROWS),
    row("common_loop", over(halved, P("i"), P("i")), halved_meaning, ROWS),
    row("own_loop", over(own_halves, P("i"), P("i")), own_halves_meaning, ROWS),
    row("vmap", over(by_columns, P("i"), P("i")), lambda mesh, x: np.sin(x) * x.sum(0), ROWS),
    row("named_vmap", over(named_columns, P("i"), P("i")), named_columns_meaning, ROWS),
    row("jit", over(compiled, P("i"), P("i")), lambda mesh, x: (
        parts(x, mesh) * parts(np.sin(x), mesh).sum(0)).reshape(x.shape), ROWS),
    row("custom_jvp", over(damped, P("i"), P()), lambda mesh, x: parts(np.tanh(x), mesh).sum(0), ROWS),
    row("custom_vjp", over(clipped_sum, P("i"), P()), lambda mesh, x: parts(np.sin(x) * x, mesh).sum(0), ROWS),
    row("checkpoint", over(rematerialized, P("i"), P("i")), lambda mesh, x: (
        np.sin(parts(x, mesh)) * np.sin(parts(np.sin(x), mesh).sum(0))).reshape(x.shape), ROWS),
    row("jvp_inside", over(pushed_inside, P("i"), P()), lambda mesh, x: parts(3 * x**3, mesh).sum(0), ROWS),
    # Inside programs
    row("in_scan", shards_in_steps, steps_meaning, numbers(()), numbers((3, 8))),
    row("in_cond", shards_in_branches, lambda mesh, x: parts(np.sin(x), mesh).sum(0), ROWS),
    row("in_checkpoint", shards_rematerialized, lambda mesh, x: np.sin(
        np.sin(parts(x, mesh)) * parts(np.sin(x), mesh).sum(0)).reshape(x.shape), ROWS),
    row("nested", nested, lambda mesh, x: np.sin(x * x).reshape(8, mesh.shape["y"], -1).sum(1), SQUARE, axes=GRID),
]  # fmt: skip
