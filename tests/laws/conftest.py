"""Lets the tests of this folder share their tables: each file is imported by path, which finds no neighbours."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Scripts; they need jax, SciPy, or several devices.
collect_ignore = ["communication.py", "data_parallel.py", "neighbours.py", "record_random.py", "scipy_functions.py"]
collect_ignore += ["soak.py", "divided_arrays.py"]

# Where two Pythons run the laws, each module is asked by one of them, another one each day.  Each of the two asks about
# interrupts, tracebacks, depth, state and processes, and about what each jaxlib compiles by itself; the rows of the
# table of programs are divided between them one by one.
WHOLE = ["test_captured_memory", "test_debugging", "test_depth", "test_device_arrays", "test_evaluators_agree"]
WHOLE += ["test_interrupts", "test_late_imports", "test_laws", "test_leaks", "test_linalg_compiled", "test_loads"]
WHOLE += ["test_positions", "test_processes", "test_sharded", "test_state", "test_traced_texts"]
WHOLE += ["test_triangular_compiled", "test_tridiagonal_compiled"]


def pytest_itemcollected(item):
    if item.path.is_relative_to(Path(__file__).parent):
        module = item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
        if module not in WHOLE:
            item.add_marker("divided")


@pytest.fixture
def few_objects():
    """Let searches for garbage and for leaks pass over the objects made before the test: 0.1 s for each search."""
    gc.freeze()
    yield
    gc.unfreeze()
