"""The table's second half: programs as users write them, each for a way in which operations or transformations meet."""

from __future__ import annotations

import numpy as np
from program import FLOATS, Program, always, numbers, scalar, tree_of

from calque_autodiff import grad, jvp, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

VECTOR, MATRIX = numbers((3,)), numbers((3, 4))
WEIGHTS = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
SHIFT = np.array([0.5, -1.0, 2.0], np.float32)


def mlp(params, x):
    hidden = lax.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"]


def attention(q, k, v):
    scores = lax.dot_general(q, k, (((1,), (1,)), ((), ()))) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v


def softmax(x):
    unnormalized = lax.exp(x - lax.stop_gradient(x.max(axis=-1, keepdims=True)))
    return unnormalized / unnormalized.sum(axis=-1, keepdims=True)


def logsumexp(x):
    highest = lax.stop_gradient(x.max(axis=-1, keepdims=True))
    return lax.log(lax.exp(x - highest).sum(axis=-1)) + lax.squeeze(highest, (-1,))


def cross_entropy(x, label):
    is_label = lax.eq(lax.broadcasted_iota(np.int32, (3, 4), 1), lax.broadcast_in_dim(label, (3, 4), (0,)))
    return (logsumexp(x) - lax.select(is_label, x, lax.zeros_like(x)).sum(axis=-1)).mean()


def layer_norm(x, gain):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * lax.rsqrt(x.var(axis=-1, keepdims=True) + 0.1) * gain


def pendulum(state):
    angle, speed = state[:1], state[1:]
    return lax.concatenate([speed, -lax.sin(angle)], 0)


def runge_kutta(state):
    h = 0.1
    k1 = pendulum(state)
    k2 = pendulum(state + h / 2 * k1)
    k3 = pendulum(state + h / 2 * k2)
    k4 = pendulum(state + h * k3)
    return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def box_blur(image):
    padded = lax.pad(image, lax.zeros_like(image, shape=()), ((1, 1, 0), (1, 1, 0)))
    n, m = image.shape
    return sum(padded[i : i + n, j : j + m] for i in range(3) for j in range(3)) / 9


def edges(image):
    dx, dy = image[:, 1:] - image[:, :-1], image[1:] - image[:-1]
    return lax.sqrt(dx[1:] * dx[1:] + dy[:, 1:] * dy[:, 1:] + 0.1)


def median(x):
    return lax.sort(x)[..., x.shape[-1] // 2]


def clipped_step(x, y):
    def shrink(x, y):
        return x * 0.5, lax.sin(y)

    def keep(x, y):
        return x, y * x

    return lax.cond((x * x).sum() > 3.0, shrink, keep, x, y)


def nested_conds(x):
    inner = lambda y: lax.cond(y[0] > y[1], lax.sin, lax.cos, y)
    return lax.cond(x[2] > 0, inner, lambda y: y * x, x)


def captured_cond(x, y):
    return lax.cond(x[0] > 0, lambda: y * x, lambda: y - 1.0)


def nested_jit(x, y):
    inner = jit(lambda a: lax.sin(a) * y)

    @jit
    def outer(a):
        return inner(a) + inner(a * 2.0), a

    return outer(x)


def jit_in_cond(x):
    return lax.cond(x[0] > 0, jit(lambda y: y * y), jit(lax.sin), x)


def cond_in_jit(x):
    return jit(lambda y: lax.cond(y[0] > 0, lambda z: z * y, lax.cos, y))(x)


def forwarded_arguments(x, y):
    """Return arguments untouched, twice, and from inside a jit: residuals and forwarded inputs must not be mixed up."""
    a, b, c = jit(lambda x, y: (y, x * y, x))(x, y)
    return a, b, c, a * c


def gradient_inside(x, y):
    return grad(lambda z: (lax.sin(z) * y).sum())(x) * y


def jvp_inside(x):
    return jvp(lambda z: lax.tanh(z) * z, (x,), (lax.cos(x),))


def vjp_inside(x, y):
    out, pull = vjp(lambda a, b: a * lax.exp(b), x, y)
    return pull(lax.sin(out))


def vmap_inside(x, y):
    return vmap(lambda row, s: row.sum() * s, in_axes=(1, 0))(x, y)


def hessian_diagonal(x):
    def second(e):
        return (jvp(grad(lambda z: (lax.exp(z) * z * z).sum()), (x,), (e,))[1] * e).sum()

    return vmap(second)(np.eye(3).astype(x.dtype))


def plain_loss(x, w):
    return np.mean(np.square(np.tanh(x @ w) - 0.5))


def plain_statistics(x):
    return np.sum(x, axis=0), np.std(x), np.max(x, axis=1), np.clip(x, -1.0, 1.0), np.argmax(x)


def plain_ufuncs(x, y):
    return np.hypot(x, y) + np.logaddexp(x, y) * np.exp2(x) - np.reciprocal(y * y + 1.0)


def plain_shapes(x):
    return np.transpose(np.reshape(x, (2, 6))) * 2.0, np.ravel(x)[::2], np.swapaxes(x, 0, 1)


def plain_projectile(speed, angle):
    g = 9.81
    return speed * np.cos(angle) * (2 * speed * np.sin(angle) / g), np.logical_and(speed > 1, angle < 1)


def nested_results(tree, x):
    return {"out": (tree["a"] * x, [tree["b"]["c"].sum(), None]), "n": 3}


def integer_results(x, n):
    order = lax.argmax(x, 0)
    return x * 2.0, order, n + 1, x > 0


def indexed(x):
    return x[1], x[::-1, 1:3], x[..., -1, None], x[-2:, ::2]


def polynomial(x):
    out = lax.zeros_like(x)
    for c in (1.0, -0.5, 0.25, 2.0):
        out = out * x + c
    return out


def whitened(x):
    centred = x - x.mean(axis=0)
    return centred.T @ centred / x.shape[0]


def newton_steps(x):
    for _ in range(3):
        x = 0.5 * (x + 2.0 / x)
    return x


def pairwise_distances(x):
    difference = lax.expand_dims(x, (1,)) - lax.expand_dims(x, (0,))
    return lax.sqrt((difference * difference).sum(axis=-1) + 0.1)


SUMS_OF_GROUPS = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), (1,), ())


def row(name, fun, *makers, dtypes=FLOATS, ulps=64.0):
    return Program(name, fun, makers, dtypes, ulps, by_array=True)


COMPOSITES: list[Program] = [
    # learning
    row("mlp", mlp, tree_of(w1=MATRIX, b1=numbers((4,)), w2=numbers((4, 2))), numbers((2, 3))),
    row("attention", attention, MATRIX, MATRIX, MATRIX),
    row("softmax", softmax, MATRIX),
    row("logsumexp", logsumexp, MATRIX),
    row("cross entropy", cross_entropy, MATRIX, lambda rng, dtype: rng.integers(0, 4, 3).astype(np.int32)),
    row("layer norm", layer_norm, MATRIX, numbers((4,))),
    row("ridge", lambda x, w: ((x @ w) ** 2).sum() + 0.1 * (w * w).sum(), MATRIX, numbers((4,))),
    # numerics
    row("runge kutta", runge_kutta, numbers((2,))),
    row("polynomial", polynomial, VECTOR),
    row("newton steps", newton_steps, numbers((3,), 0.5, 3.0)),
    row("covariance", whitened, MATRIX),
    row("pairwise distances", pairwise_distances, numbers((3, 2))),
    row("box blur", box_blur, numbers((4, 5))),
    row("edges", edges, numbers((3, 4))),
    row("median", median, numbers((2, 5))),
    row("hessian diagonal", hessian_diagonal, VECTOR),
    # control flow and calls
    row("clipped step", clipped_step, VECTOR, VECTOR),
    row("nested conds", nested_conds, VECTOR),
    row("captured cond", captured_cond, VECTOR, VECTOR),
    row("nested jit", nested_jit, VECTOR, VECTOR),
    row("jit in cond", jit_in_cond, VECTOR),
    row("cond in jit", cond_in_jit, VECTOR),
    row("forwarded arguments", forwarded_arguments, VECTOR, VECTOR),
    # transformations inside
    row("gradient inside", gradient_inside, VECTOR, VECTOR),
    row("jvp inside", jvp_inside, VECTOR),
    row("vjp inside", vjp_inside, VECTOR, VECTOR),
    row("vmap inside", vmap_inside, MATRIX, numbers((4,))),
    # plain NumPy
    row("plain loss", plain_loss, MATRIX, numbers((4, 2))),
    row("plain statistics", plain_statistics, MATRIX),
    row("plain ufuncs", plain_ufuncs, VECTOR, VECTOR),
    row("plain shapes", plain_shapes, MATRIX),
    row("plain projectile", plain_projectile, numbers((), 1.5, 3.0), numbers((), 0.2, 0.8)),
    # arguments and results
    row("nested results", nested_results, tree_of(a=VECTOR, b=tree_of(c=MATRIX)), numbers((3,))),
    row("integer results", integer_results, VECTOR, always("int32", (3,))),
    row("unused arguments", lambda x, y, n: x * 2.0, VECTOR, MATRIX, always("int32", (2,))),
    row("no use of any argument", lambda x: (np.ones(2, np.float32), 1.5, True), VECTOR),
    row("an argument as it is", lambda x, y: (x, y, x), VECTOR, VECTOR),
    row("weak scalars", lambda x, s, n: (x * s + n, s * n, lax.sin(s) * x), VECTOR, scalar(0.5), scalar(3)),
    row("closed-over arrays", lambda x: (x @ WEIGHTS.astype(x.dtype)) * SHIFT.astype(x.dtype), numbers((2, 4))),
    row("closed-over arrays of other types", lambda x: x * SHIFT + np.arange(3), VECTOR),
    row("indexed", indexed, MATRIX),
    row("mixed dtypes", lambda x, y, n: x * y + n, VECTOR, always("float32", (3,)), always("int32", (3,))),
    row("repeated operand", lambda x: lax.mul(x, x) + lax.sub(x, x) + lax.max(x, x), VECTOR),
    row(
        "groups of summands",
        lambda x, y: lax.ragged_dot_general(x, y, np.array([2, 0, 2]), SUMS_OF_GROUPS),
        numbers((2, 5)),
        numbers((2, 5, 3)),
    ),
    row("groups of rows", lambda x, y: lax.ragged_dot(x, y, np.array([2, 0, 2])), numbers((5, 2)), numbers((3, 2, 4))),
    row("batches of matrices", lax.batch_matmul, numbers((2, 3, 4)), numbers((2, 4, 2))),
    row("product in float64", lambda x, y: lax.mul(x, y, out_dtype=np.float64), VECTOR, VECTOR),
    row("upper half of a product", lambda n: lax.mulhi(n, n * n), always("int32", (3,))),
    row("reciprocal", lax.reciprocal, numbers((3,), 0.5, 3.0)),
    row("empty axis", lambda x, y: lax.concatenate([x, y[:0]], 0).sum(axis=0), numbers((0, 2)), numbers((3, 2))),
]
