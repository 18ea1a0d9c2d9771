"""Find the currents at which a nerve cell fires, by solutions of diffrax under `vmap`: a program written for jax.

The equations of FitzHugh and Nagumo have a limit cycle where their equilibrium is unstable; the two currents at which
it changes are known in closed form.  Source: FitzHugh (1961), Impulses and physiological states.

Run: python examples/neuron.py
"""

import calque_as_jax  # noqa: F401, I001  makes the modules named jax
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from gallery import plt, save

A, B, RATE = 0.7, 0.8, 0.08
TIMES = np.linspace(0.0, 400.0, 2001)
SETTLED = len(TIMES) // 2  # the first half is the way to the cycle


def field(t: jax.Array, y: jax.Array, current: jax.Array) -> jax.Array:
    v, w = y
    return jnp.stack([v - v**3 / 3 - w + current, RATE * (v + A - B * w)])


def voltage(current: jax.Array) -> jax.Array:
    """Return the voltage at each of the times, by a solver that chooses its steps."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        TIMES[0],
        TIMES[-1],
        0.1,
        jnp.array([-1.0, -0.5]),
        current,
        saveat=diffrax.SaveAt(ts=TIMES),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    )
    return solution.ys[:, 0]


def thresholds() -> list[float]:
    """Return the two currents at which the trace of the Jacobian at the equilibrium is zero."""
    v = np.sqrt(1 - RATE * B) * np.array([-1.0, 1.0])
    return [float(x) for x in (v + A) / B - v + v**3 / 3]


def main() -> None:
    currents = jnp.linspace(0.0, 1.8, 46)
    voltages = np.asarray(jax.jit(jax.vmap(voltage))(currents))
    late = voltages[:, SETTLED:]
    spikes = [TIMES[np.nonzero(is_spike)[0]] for is_spike in (late[:, :-1] < 0.5) & (late[:, 1:] >= 0.5)]
    rate = np.array([100 / np.mean(np.diff(times)) if len(times) > 1 else 0.0 for times in spikes])
    fires = np.asarray(currents)[rate > 0]
    low, high = thresholds()
    print(f"it fires at currents from {fires[0]:.2f} to {fires[-1]:.2f}; unstable from {low:.3f} to {high:.3f}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4))
    for number, index in enumerate((5, 15, 42)):
        left.plot(TIMES, voltages[index] - 5 * number, label=f"current {currents[index]:.1f}")
    left.set(xlabel="time (no unit)", ylabel="voltage (no unit), shifted", title="Rest, spikes, rest")
    left.set(xlim=(0, 200), ylim=(-11.5, 3.5))
    left.legend(loc="upper right")
    right.axvspan(low, high, color="0.93")
    right.plot(currents, rate, "C1o-", markersize=3)
    right.set(xlabel="current (no unit)", ylabel="spikes in 100 units of time")
    right.set_title("It fires in the unstable range")
    save(figure, __file__)
    if abs(fires[0] - low) > 0.06 or abs(fires[-1] - high) > 0.06:
        raise SystemExit("the cell does not fire where theory says: something is wrong")


if __name__ == "__main__":
    main()
