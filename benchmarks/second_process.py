"""Rows: the first call of a function in a process, when an earlier process has made the same call.

One idea: fresh processes take turns, each with a folder of compiled programs that the first launch of its library has
filled; calque uses such a folder by default, jax if it is told to.  The time is that of the call alone.
Read next: `memory.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kits import installed
from measure import Effort, Samples
from table import row

CALL = """
import sys, time
import numpy as np
from kits import kit
from programs import transformer_input, transformer_loss, transformer_params
library = kit(sys.argv[1])
f, args = library.jit(library.grad(transformer_loss(library.numpy))), (transformer_params(), transformer_input())
started = time.perf_counter()
np.asarray(f(*args)["head"]["w"])
print((time.perf_counter() - started) * 1e3)
"""
FOLDERS = {"calque": "CALQUE_CACHE", "jax": "JAX_COMPILATION_CACHE_DIR"}
OFF = {"CALQUE_CACHE": "off", "JAX_ENABLE_COMPILATION_CACHE": "false"}
ALL_PROGRAMS = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@row("first call, second process: transformer's gradient", "ms", budget=0.25, jax=1.0, needs="calque_xla_backend")
def beside_jax(effort: Effort) -> Samples:
    """Jax compiles, as it does by default."""
    return calls(effort, ("calque",))


@row("first call, second process, jax with a cache on disk", "ms", needs="calque_xla_backend")
def beside_jax_with_its_cache(effort: Effort) -> Samples:
    return calls(effort, ("calque", "jax"))


def calls(effort: Effort, cached: tuple[str, ...]) -> Samples:
    """Return the time of each launch, by library; the `cached` libraries load what an earlier launch stored."""
    libraries = [library for library in FOLDERS if installed(library)]
    figures: Samples = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        for library in cached:
            call(library, Path(folder, library))
        for _ in range(max(1, effort.launches // 2)):
            for library in libraries:
                figures[library].append(call(library, Path(folder, library) if library in cached else None))
    return figures


def call(library: str, folder: Path | None) -> float:
    """Return the milliseconds of the first call in a fresh process, with or without a folder of programs."""
    programs = OFF if folder is None else ALL_PROGRAMS | {FOLDERS[library]: str(folder)}
    command, here = [sys.executable, "-c", CALL, library], str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": here, **programs}
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)
