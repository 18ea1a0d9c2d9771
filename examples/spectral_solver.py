"""Forecast chaos from noisy sensors: the Kuramoto-Sivashinsky equation by `fft`, and derivatives through its solver.

The equation u_t = -u u_x - u_xx - u_xxxx models flame fronts; its solver is plain NumPy under `lax.scan`.  Each reading
refines the state at time 0 from which the simulation passes through all readings, as weather services do (4D-Var):
`linearize` and `linear_transpose` multiply by the Jacobian of the whole simulation and by its transpose.

Run: python examples/spectral_solver.py
"""

import numpy as np
from conjugate_gradients import conjugate_gradients
from gallery import plt, save

from calque import jit, lax, linear_transpose, linearize

POINTS, LENGTH, DT, NOW, END, NOISE = 96, 24 * np.pi, 0.125, 40, 100, 0.3
READ = np.s_[::8, ::4]  # readings: 24 sensors, once in a unit of time
k = 2 * np.pi * np.fft.rfftfreq(POINTS, LENGTH / POINTS)
h = DT * (k**2 - k**4)
z = h[:, None] + np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)  # a circle around h: means over it avoid 0 / 0
phi1, phi2 = np.mean((np.exp(z) - 1) / z, axis=1).real, np.mean((np.exp(z) - 1 - z) / z**2, axis=1).real
nonlinear = lambda v: -0.5j * k * np.fft.rfft(np.fft.irfft(v) ** 2)  # the spectrum of -u u_x = -(u^2)_x / 2


def step(v: np.ndarray, _: None) -> tuple[np.ndarray, np.ndarray]:
    """Advance the spectrum by DT, exactly in the linear terms.  Source: Cox & Matthews (2002), ETD2RK."""
    start = nonlinear(v)
    predicted = np.exp(h) * v + DT * phi1 * start
    v = predicted + DT * phi2 * (nonlinear(predicted) - start)
    return v, np.fft.irfft(v)


def simulate(u: np.ndarray, time: int) -> np.ndarray:
    """Return the states of all steps.  Shapes: u [x] -> [t, x]."""
    return lax.scan(step, np.fft.rfft(u), None, length=int(time / DT))[1]


@jit
def refine(w: np.ndarray, climate: np.ndarray, readings: np.ndarray, time: int) -> np.ndarray:
    """Return w after a step of Gauss-Newton.  The state is climate * w in Fourier space; a priori w is white noise."""

    def misfit(w: np.ndarray) -> np.ndarray:
        errors = simulate(np.fft.irfft(climate * np.fft.rfft(w)), NOW)[READ] - readings
        return np.concatenate([np.where(np.arange(NOW) < time, errors.T / NOISE, 0.0).ravel(), w])

    residual, jacobian = linearize(misfit, w)
    adjoint = linear_transpose(jacobian, w)
    return w - conjugate_gradients(lambda p: adjoint(jacobian(p))[0], adjoint(residual)[0], tolerance=0.1)


def main() -> None:
    rng, run, w = np.random.default_rng(0), jit(simulate, static_argnames="time"), np.zeros(POINTS)
    past = run(rng.normal(size=POINTS), 300)[800:]
    climate = np.sqrt(np.mean(np.abs(np.fft.rfft(past)) ** 2, axis=0) / POINTS)
    truth = run(past[-1], END)
    readings = truth[READ][:NOW] + NOISE * rng.normal(size=(NOW, POINTS // 4))
    for time in range(1, NOW + 1):
        w = refine(w, climate, readings, time)
    forecast = run(np.fft.irfft(climate * np.fft.rfft(w)), END)
    error = np.sqrt(np.mean((forecast - truth) ** 2, axis=1)) / truth.std()
    good = int(DT * np.argmax(error > 0.5)) - NOW
    print(f"relative error {error[8 * NOW]:.3f} at the last reading, below 0.5 for {good} units of time after it")
    figure, axes = plt.subplots(1, 4, sharex=True, sharey=True, figsize=(8.0, 4.4))
    panels = {"truth": truth, "24 noisy sensors": readings, "fit and forecast": forecast, "error": forecast - truth}
    for axis, (title, u) in zip(axes, panels.items()):
        x, t = np.linspace(0, LENGTH, u.shape[1]), np.linspace(0, NOW if u is readings else END, len(u))
        axis.contourf(x, t, u, np.linspace(-2.5, 2.5, 6), cmap="RdBu_r", extend="both")
        axis.axhline(NOW, color="black", linewidth=0.8)
        axis.set(title=title, xlabel="position", ylim=(0, END))
    axes[0].set(ylabel="time")
    figure.suptitle(f"24 noisy sensors foretell chaos for {good} units of time", x=0.02, ha="left")
    save(figure, __file__)
    if good < 20:
        raise SystemExit("the forecast is lost too early: something is wrong")


if __name__ == "__main__":
    main()
