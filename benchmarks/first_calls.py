"""Rows: the first calls of a jitted training step, and of a gradient, in a process, until later ones are no faster.

One idea: a fresh process calls the step from the first call on, each with the results of the one before, and waits for
them.  The time is the processor's, in the thread that calls: the clock's has the interrupts of a shared machine, and
one of them would be the longest call.  A gradient's process imports what a user's would, and no kit, whose imports
would leave less to the first call.
Read next: `second_process.py`, the first call of all.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from kits import Kit, installed
from measure import Effort, Samples
from table import row

EARLY, WARM, TEN = slice(1, 16), slice(40, 60), slice(10)
STEPS = """
import json, sys, time
from kits import kit
from first_calls import nested_step
library = kit(sys.argv[1])
step, params, batch = nested_step(library)
times = []
for _ in range(60):
    started = time.thread_time()
    params, loss = library.block_until_ready(step(params, batch))
    times.append((time.thread_time() - started) * 1e6)
print(json.dumps(times))
"""
GRADIENTS = """
import json, sys, time
if sys.argv[1] == "calque":
    import numpy
    from calque import grad
else:
    import autograd.numpy as numpy
    from autograd import grad

random, sizes = numpy.random.default_rng(0), [8, 16, 16, 1]
layers = [(random.normal(size=shape), numpy.zeros(shape[1])) for shape in zip(sizes, sizes[1:])]
x, y = random.normal(size=(32, 8)), random.normal(size=(32, 1))

def loss(layers):
    h = x
    for w, b in layers[:-1]:
        h = numpy.tanh(h @ w + b)
    w, b = layers[-1]
    return numpy.mean((h @ w + b - y) ** 2)

times = []
for _ in range(60):
    started = time.thread_time()
    grad(loss)(layers)
    times.append((time.thread_time() - started) * 1e6)
print(json.dumps(times))
"""


def nested_step(kit: Kit) -> tuple[Any, Any, Any]:
    """Return a jitted step over 193 arrays in 12 layers, their initial values on the device, and a batch."""
    leaf = np.ones(8, np.float32)

    def layer():
        return {part: {f"w{i}": leaf for i in range(8)} for part in ("attention", "mlp")}

    def step(params, batch):
        loss = (params["embed"] * batch["y"]).sum()
        return kit.tree_map(lambda p: p - 0.1 * batch["x"], params), loss

    params = {"layers": {f"layer{i}": layer() for i in range(12)}, "embed": leaf}
    return kit.jit(step), kit.tree_map(kit.device_put, params), kit.tree_map(kit.device_put, {"x": leaf, "y": leaf})


@row("step of 193 nested arrays: calls 2 to 16, the middle one by a warm one", "x", needs="calque_xla_backend")
def middle_call(effort: Effort) -> Samples:
    return by_a_warm_call(effort, median)


@row("step of 193 nested arrays: calls 2 to 16, the longest one by a warm one", "x", needs="calque_xla_backend")
def longest_call(effort: Effort) -> Samples:
    return by_a_warm_call(effort, max)


@row("step of 193 nested arrays: a warm call", "us", needs="calque_xla_backend")
def warm_call(effort: Effort) -> Samples:
    return {library: [median(times[WARM]) for times in runs] for library, runs in launches(effort).items()}


@row("grad of three layers of a network: the first 10 calls", "us", autograd=1.0)
def first_gradients(effort: Effort) -> Samples:
    return {library: [sum(times[TEN]) for times in runs] for library, runs in gradients(effort).items()}


@row("grad of three layers of a network: the longest call after the second, by the second", "x")
def longest_gradient(effort: Effort) -> Samples:
    return {library: [max(times[2:]) / times[1] for times in runs] for library, runs in gradients(effort).items()}


def by_a_warm_call(effort: Effort, choose: Callable[[list[float]], float]) -> Samples:
    """Return the chosen one of the early calls of each process, divided by a warm call of it."""
    return {
        library: [choose(times[EARLY]) / median(times[WARM]) for times in runs]
        for library, runs in launches(effort).items()
    }


@functools.cache
def launches(effort: Effort) -> dict[str, list[list[float]]]:
    """Return the times of the steps of each launch, by library."""
    return in_turns(effort, STEPS, ("calque", "jax"))


@functools.cache
def gradients(effort: Effort) -> dict[str, list[list[float]]]:
    """Return the times of the gradients of each launch, by library."""
    return in_turns(effort, GRADIENTS, ("calque", "autograd"))


def in_turns(effort: Effort, program: str, libraries: tuple[str, ...]) -> dict[str, list[list[float]]]:
    """Return the times of the calls of each launch, by library; the installed libraries take turns."""
    present = [library for library in libraries if installed(library)]
    rounds = [{library: launch(program, library) for library in present} for _ in range(effort.launches)]
    return {library: [each[library] for each in rounds] for library in present}


def launch(program: str, library: str) -> list[float]:
    """Return the microseconds of the calls in a fresh process."""
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", program, library]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    times: list[float] = json.loads(printed)
    return times
