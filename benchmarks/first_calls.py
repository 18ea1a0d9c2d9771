"""Rows: the first calls of a jitted training step in a process, until they are as fast as later ones.

One idea: a fresh process calls the step from the first call on, each with the results of the one before, and waits for
them.  The time is the processor's, in the thread that calls: the clock's has the interrupts of a shared machine, and
one of them would be the longest call.
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

EARLY, WARM = slice(1, 16), slice(40, 60)
LAUNCH = """
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


def by_a_warm_call(effort: Effort, choose: Callable[[list[float]], float]) -> Samples:
    """Return the chosen one of the early calls of each process, divided by a warm call of it."""
    return {
        library: [choose(times[EARLY]) / median(times[WARM]) for times in runs]
        for library, runs in launches(effort).items()
    }


@functools.cache
def launches(effort: Effort) -> dict[str, list[list[float]]]:
    """Return the times of the calls of each launch, by library; the libraries take turns."""
    libraries = [library for library in ("calque", "jax") if installed(library)]
    rounds = [{library: launch(library) for library in libraries} for _ in range(effort.launches)]
    return {library: [each[library] for each in rounds] for library in libraries}


def launch(library: str) -> list[float]:
    """Return the microseconds of the calls in a fresh process."""
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", LAUNCH, library]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    times: list[float] = json.loads(printed)
    return times
