"""Rows: what importing costs, in time and memory.

One idea: a library is imported in a fresh process, after NumPy; the libraries take turns, and the middle launch counts.
The time is the processor's, in the thread that imports: that of the clock doubles on a machine with other work, and in
the process NumPy's BLAS has threads that spin for 50 ms after they start, whatever is imported meanwhile.
Read next: `eager.py`.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile

from kits import installed
from measure import Effort, Samples
from table import row

LIBRARIES = ("calque_core", "calque", "jax", "autograd")
FIRST_GRADIENTS = {  # of a function of a NumPy program; what an import leaves to the first use is paid here
    "calque": "import numpy as np, calque; calque.grad(lambda x: np.sin(x) * x)(1.0)",
    "jax": "import jax, jax.numpy as jnp; jax.grad(lambda x: jnp.sin(x) * x)(1.0)",
    "autograd": "import autograd, autograd.numpy as np; autograd.grad(lambda x: np.sin(x) * x)(1.0)",
}
FIRST_FUNCTIONS = {  # and of a function that no array has as a method
    "calque": "import numpy as np, calque; calque.grad(lambda x: np.sum(np.concatenate([x, x])))(np.ones(3))",
    "jax": "import jax, jax.numpy as jnp; jax.grad(lambda x: jnp.sum(jnp.concatenate([x, x])))(jnp.ones(3))",
    "autograd": (
        "import autograd, autograd.numpy as np; autograd.grad(lambda x: np.sum(np.concatenate([x, x])))(np.ones(3))"
    ),
}
PROGRAMS = {
    "import": {library: f"import {library}" for library in LIBRARIES},
    "gradient": FIRST_GRADIENTS,
    "function": FIRST_FUNCTIONS,
}
LAUNCH = """
import sys, time
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith("VmRSS"))
started = time.thread_time()
import numpy
numpy_time, numpy_memory = time.thread_time() - started, resident()
exec(sys.argv[2])
assert "jaxlib" not in sys.modules or sys.argv[1] == "jax", "importing without using the backend loaded jaxlib"
print((time.thread_time() - started) * 1e3, numpy_time * 1e3, resident(), numpy_memory)
"""


@row("import calque_core, beyond NumPy: time", "ms", budget=15, autograd=14, jax=262)
def import_core_time(effort: Effort) -> Samples:
    return {as_column(lib): [total - numpy for total, numpy, _, _ in runs] for lib, runs in core_launches(effort)}


@row("import calque_core, beyond NumPy: memory", "MB")
def import_core_memory(effort: Effort) -> Samples:
    return {as_column(lib): [total - numpy for *_, total, numpy in runs] for lib, runs in core_launches(effort)}


@row("import the facade, with NumPy: time", "ms", budget=80, jax=312)
def import_facade_time(effort: Effort) -> Samples:
    return {as_column(lib): [total for total, *_ in runs] for lib, runs in facade_launches(effort)}


@row("import the facade, with NumPy: memory", "MB", budget=35, jax=149)
def import_facade_memory(effort: Effort) -> Samples:
    return {as_column(lib): [total for *_, total, _ in runs] for lib, runs in facade_launches(effort)}


@row("import the facade and take a first gradient, beyond NumPy: time", "ms")
def first_gradient_time(effort: Effort) -> Samples:
    return {lib: [total - numpy for total, numpy, _, _ in runs] for lib, runs in launches(effort, "gradient").items()}


@row("import the facade and differentiate numpy.concatenate, beyond NumPy: time", "ms")
def first_function_time(effort: Effort) -> Samples:
    return {lib: [total - numpy for total, numpy, _, _ in runs] for lib, runs in launches(effort, "function").items()}


def core_launches(effort: Effort) -> list:
    return [(lib, runs) for lib, runs in launches(effort).items() if lib != "calque"]


def facade_launches(effort: Effort) -> list:
    return [(lib, runs) for lib, runs in launches(effort).items() if lib in ("calque", "jax")]


@functools.cache
def launches(effort: Effort, program: str = "import") -> dict[str, list[tuple[float, ...]]]:
    """Return the figures of each launch, by library; the first one of each, which compiles to bytecode, is left out."""
    programs = PROGRAMS[program]
    libraries = [lib for lib in programs if installed(lib)]
    figures: dict[str, list[tuple[float, ...]]] = {lib: [] for lib in libraries}
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(1 + effort.launches):
            for lib in libraries:
                figures[lib].append(launch(lib, programs[lib], bytecode))
    return {lib: runs[1:] for lib, runs in figures.items()}


def launch(library: str, program: str, bytecode: str) -> tuple[float, ...]:
    """Run a program that imports a library in a fresh process; return time, NumPy's part, memory, NumPy's part.

    The folder `bytecode` gives all libraries theirs, also a checkout under PYTHONDONTWRITEBYTECODE.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", LAUNCH, library, program]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    return tuple(map(float, printed.split()))


def as_column(library: str) -> str:
    return "calque" if library == "calque_core" else library
