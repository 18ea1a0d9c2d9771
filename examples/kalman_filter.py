"""A Kalman filter that learns the variances of its noise, and a smoother that is the derivative of the filter.

Data: the flow of the Nile at Aswan, 1871 to 1970.  Model: the flow is a level plus noise, and the level is a random
walk.  Source: Durbin & Koopman (2012), chapter 2, where the two variances are 15099 and 1469.

Run: python examples/kalman_filter.py
"""

import numpy as np
from gallery import plt, save

import calque

TEXT = """1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100 1210 1150
1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824 702 1120 1100 832 764 821
768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040 860 874
848 890 744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746 919 718 714 740"""
YEARS, FLOW = np.arange(1871, 1971), np.array(TEXT.split(), np.float64)


def kalman_filter(log_variances: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the level given the flow so far, and the log density of each flow given those before.  Shapes: [n]."""
    noise, drift = np.exp(log_variances)

    def step(state: tuple, y: np.ndarray) -> tuple:
        mean, variance = state[0], state[1] + drift
        surprise, spread = y - mean, variance + noise
        gain = variance / spread
        mean, variance = mean + gain * surprise, (1.0 - gain) * variance
        return (mean, variance), (mean, -0.5 * (np.log(2.0 * np.pi * spread) + surprise**2 / spread))

    return calque.lax.scan(step, (np.float64(0.0), np.float64(1e7)), flow)[1]


def log_likelihood(log_variances: np.ndarray, flow: np.ndarray) -> np.ndarray:
    return np.sum(kalman_filter(log_variances, flow)[1])


@calque.jit
def newton_step(x: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Return the log variances `x` after a step of Newton's method: second derivatives through the scan."""
    return x - np.linalg.solve(*(d(log_likelihood)(x, flow) for d in (calque.hessian, calque.grad)))


@calque.jit
def smooth(log_variances: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of the level given all years.  Shapes: flow [n] -> [n], [n]."""
    # Tweedie's formula: if y = x + noise of variance v, then x given y has the mean y + v d log p(y) / dy and the
    # variance v + v^2 d^2 log p(y) / dy^2.  So the filter's derivatives replace the smoother's backward recursion.
    v = np.exp(log_variances[0])
    slope, curvature = (d(log_likelihood, argnums=1)(log_variances, flow) for d in (calque.grad, calque.hessian))
    return flow + v * slope, np.sqrt(v + v**2 * np.diag(curvature))


def draw(filtered: np.ndarray, smoothed: np.ndarray, deviation: np.ndarray) -> None:
    figure, axes = plt.subplots()
    axes.fill_between(YEARS, smoothed - 2.0 * deviation, smoothed + 2.0 * deviation, color="C0", alpha=0.18)
    axes.plot(YEARS, FLOW, "o", color="C5", label="measured")
    axes.plot(YEARS, filtered, color="C1", linewidth=1.2, label="filter: level given the past")
    axes.plot(YEARS, smoothed, color="C0", linewidth=2.4, label="smoother: level given all years, ± 2 s.d.")
    axes.legend()
    axes.set(xlabel="year", ylabel="flow ($10^8$ m³ a year)", title="Around 1899 the Nile lost a fifth of its flow")
    save(figure, __file__)


def main() -> None:
    start = learned = np.log([1e4, 1e4])
    for _ in range(8):
        learned = newton_step(learned, FLOW)
    noise, drift = np.exp(learned)
    before, after = log_likelihood(start, FLOW), log_likelihood(learned, FLOW)
    print(f"log likelihood {before:.2f} -> {after:.2f}, variances: noise {noise:.0f}, drift {drift:.0f}")
    draw(kalman_filter(learned, FLOW)[0], *smooth(learned, FLOW))
    if abs(noise - 15099) > 5 or abs(drift - 1469) > 5:
        raise SystemExit("these are not the variances of the book: something is wrong")


if __name__ == "__main__":
    main()
