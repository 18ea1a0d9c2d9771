"""Rows: the most memory that an eager gradient holds at once.

One idea: each library runs the chain in a process of its own (this file, run as a script), once reading how far the
process grew and once counting what Python allocates; torch, and jax in part, allocate elsewhere.  Six megabytes for
10,000 scalars are 600 bytes for each.
Read next: `imports.py`, the other rows that need fresh processes.
"""

from __future__ import annotations

import functools
import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path

from kits import Function, installed, kit
from measure import Effort, Samples
from programs import lax_chain
from table import row


@row("eager grad of a scalar chain, peak per operation: process", "B", budget=600, autograd=840, jax=5600)
def resident(effort: Effort) -> Samples:
    return {lib: [launch(lib, effort.chain)[0]] for lib in ("calque", "autograd", "jax", "torch") if installed(lib)}


@row("eager grad of a scalar chain, peak per operation: tracemalloc", "B", budget=600, autograd=840, jax=5600)
def allocated(effort: Effort) -> Samples:
    return {lib: [launch(lib, effort.chain)[1]] for lib in ("calque", "autograd", "jax") if installed(lib)}


@functools.cache
def launch(library: str, length: int) -> list[float]:
    """Return both peaks, in bytes per operation, that a fresh process measured."""
    command = [sys.executable, __file__, library, str(length)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(peak) / length for peak in printed.split()]


def peak_resident(gradient: Function) -> int:
    """Return by how much the process grew, from before the gradient to its largest."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = status("VmRSS")
    gradient()
    return status("VmHWM") - before


def peak_allocated(gradient: Function) -> int:
    """Return by how much Python's allocations grew in computing the gradient."""
    tracemalloc.start()
    gradient()
    return tracemalloc.get_traced_memory()[1]


def warm_gradient(library: str, length: int) -> Function:
    """Return a call for the gradient of the long chain, after that of a short one, which loads what is loaded late."""
    library_kit = kit(library)
    library_kit.grad(lax_chain(library_kit, 10))(library_kit.scalar(2.0))
    return lambda: library_kit.grad(lax_chain(library_kit, length))(library_kit.scalar(2.0))


def status(field: str) -> int:
    """Return a figure of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


if __name__ == "__main__":
    long_gradient = warm_gradient(sys.argv[1], int(sys.argv[2]))
    print(peak_resident(long_gradient), peak_allocated(long_gradient))
