"""Steps of gradient descent in two processes with two devices each; `test_processes.py` runs this file twice.

Arguments: the port of the coordinator, and the number of this process.  The output is the losses, as a list.
"""

import sys

import numpy as np

import calque
from calque import config, distributed, lax
from calque.sharding import NamedSharding, PartitionSpec

STEPS, RATE = 4, 0.1
X = np.linspace(-1.0, 1.0, 24).reshape(8, 3)
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.25


def loss(w, x, y):
    """Return the mean square of the errors of a line."""
    errors = lax.dot(x, w) - y
    return lax.reduce_sum(errors * errors, (0,)) / 8


def step(w, x, y):
    """Return the loss, and the weights after a step."""
    value, slope = calque.value_and_grad(loss)(w, x, y)
    return value, w - RATE * slope


def losses(step, w, x, y):
    """Return the losses of some steps."""
    values = []
    for _ in range(STEPS):
        value, w = step(w, x, y)
        values.append(float(value))
    return values


if __name__ == "__main__":
    config.cpu_devices(2)
    distributed.initialize(f"localhost:{sys.argv[1]}", 2, number := int(sys.argv[2]))
    rows = NamedSharding(calque.make_mesh((4,), "rows"), PartitionSpec("rows"))
    x, y = (calque.make_array_from_process_local_data(rows, z[4 * number : 4 * number + 4]) for z in (X, Y))
    print("losses", losses(calque.jit(step), np.zeros(3), x, y), flush=True)
