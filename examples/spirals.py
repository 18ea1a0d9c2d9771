"""Separate two spirals by a network of equinox that optax trains: a program written for jax.

Without its first import it runs on jax itself, with the same losses to rounding.

Run: python examples/spirals.py
"""

import calque_as_jax  # noqa: F401, I001  makes the modules named jax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gallery import plt, save

POINTS, NOISE, STEPS, TURNS = 300, 0.03, 400, 1.75


@jax.jit
def spirals(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return points of two spirals, and which one each is on.  Shapes: [n, 2], [n]."""
    angle_key, noise_key = jax.random.split(key)
    labels = jnp.arange(POINTS) % 2
    radius = 0.1 + 0.9 * jnp.sqrt(jax.random.uniform(angle_key, (POINTS,)))
    angle = 2 * jnp.pi * TURNS * radius + jnp.pi * labels
    x = radius[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return x + NOISE * jax.random.normal(noise_key, x.shape), labels


def cross_entropy(model: eqx.Module, x: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.mean(optax.sigmoid_binary_cross_entropy(jax.vmap(model)(x), labels))


def main() -> None:
    data_key, held_key, model_key = jax.random.split(jax.random.PRNGKey(0), 3)
    x, labels = spirals(data_key)
    held_x, held_labels = map(np.asarray, spirals(held_key))
    model = eqx.nn.MLP(2, "scalar", 32, 3, jax.nn.tanh, key=model_key)
    optimiser = optax.adam(optax.cosine_decay_schedule(1e-2, STEPS))
    state = optimiser.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model: eqx.Module, state: optax.OptState) -> tuple:
        loss, grads = eqx.filter_value_and_grad(cross_entropy)(model, x, labels)
        updates, state = optimiser.update(grads, state)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(STEPS):
        model, state, loss = step(model, state)
        losses.append(float(loss))
    fitted = int(np.argmax(np.array(losses) < 0.01))
    predict = eqx.filter_jit(lambda x: jax.nn.sigmoid(jax.vmap(model)(x)))
    right = np.mean((np.asarray(predict(held_x)) > 0.5) == held_labels)
    print(f"loss at steps 1, 10 and 100: {losses[0]:.6f}, {losses[9]:.6f}, {losses[99]:.6f}")
    print(f"{100 * right:.1f} % of the points held out are on the right side")
    figure, (left, curve) = plt.subplots(1, 2, figsize=(7.2, 3.4))
    grid = np.linspace(-1.2, 1.2, 161, dtype=np.float32)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    chance = np.asarray(predict(plane)).reshape(161, 161)
    left.contourf(grid, grid, chance, levels=[0, 0.5, 1], colors=["C0", "C1"], alpha=0.25)
    for label in (0, 1):
        left.plot(*held_x[held_labels == label].T, f"C{label}.", markersize=3)
    left.set(xlabel="x (radius of the spirals)", ylabel="y (radius of the spirals)", aspect="equal")
    left.set_title(f"{100 * right:.0f} % of new points are separated")
    curve.semilogy(losses)
    curve.set(xlabel="step", ylabel="cross entropy (nats)", title=f"Below 0.01 after {fitted} steps")
    save(figure, __file__)
    if right < 0.95 or not fitted:
        raise SystemExit("the network does not separate the spirals: something is wrong")


if __name__ == "__main__":
    main()
