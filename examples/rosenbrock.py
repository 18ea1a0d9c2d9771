"""Descend Rosenbrock's valley by four optimisers of optax: a program written for jax.

Run: python examples/rosenbrock.py
"""

import calque_as_jax  # noqa: F401, I001  makes the modules named jax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gallery import plt, save

START, STEPS, CLOSE = (-1.2, 1.0), 4000, 1e-6
OPTIMISERS = {
    "gradient descent": optax.sgd(2e-3),
    "momentum": optax.sgd(5e-4, momentum=0.95, nesterov=True),
    "Adam": optax.adam(2e-2),
    "L-BFGS": optax.lbfgs(),
}


def valley(x: jax.Array) -> jax.Array:
    """Source: Rosenbrock (1960); the minimum, 0, is at (1, 1)."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def path(optimiser: optax.GradientTransformationExtraArgs) -> tuple[jax.Array, jax.Array]:
    """Return the point and the value before each step.  Shapes: [steps, 2], [steps]."""
    optimiser = optax.with_extra_args_support(optimiser)

    def step(carry: tuple, _: None) -> tuple:
        x, state = carry
        value, grad = jax.value_and_grad(valley)(x)
        updates, state = optimiser.update(grad, state, x, value=value, grad=grad, value_fn=valley)
        return (optax.apply_updates(x, updates), state), (x, value)

    x = jnp.array(START)
    return jax.lax.scan(step, (x, optimiser.init(x)), None, length=STEPS)[1]


def main() -> None:
    paths = {name: jax.jit(path, static_argnums=0)(optimiser) for name, optimiser in OPTIMISERS.items()}
    needed = {name: int(np.argmax(values < CLOSE)) or None for name, (_, values) in paths.items()}
    for name, steps in needed.items():
        print(f"{name}: {'more than ' + str(STEPS) if steps is None else steps} steps to a value below {CLOSE}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4))
    x, y = np.linspace(-1.6, 1.4, 200), np.linspace(-0.6, 1.8, 200)
    heights = valley(jnp.stack(jnp.meshgrid(x, y)))
    left.contour(x, y, heights, levels=np.logspace(-1, 3, 9), colors="0.8", linewidths=0.7)
    for number, (name, (points, values)) in enumerate(paths.items()):
        left.plot(*points.T, f"C{number}", linewidth=1)
        right.loglog(1 + np.arange(STEPS), np.maximum(values, 1e-12), f"C{number}", label=name)
    left.plot(1, 1, "k*")
    left.set(xlabel="x (no unit)", ylabel="y (no unit)", title="All follow one valley")
    right.axhline(CLOSE, color="0.7", linewidth=0.7)
    right.set(xlabel="step", ylabel="value above the minimum (no unit)")
    right.set_title(f"L-BFGS: {needed['L-BFGS']} steps, Adam: {needed['Adam']}")
    right.legend(loc="lower left")
    save(figure, __file__)
    if needed["Adam"] is None or not 10 < (needed["L-BFGS"] or STEPS) < 60:
        raise SystemExit("an optimiser does not reach the minimum: something is wrong")


if __name__ == "__main__":
    main()
