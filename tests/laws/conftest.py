"""Lets the tests of this folder share their tables: each file is imported by path, which finds no neighbours."""

from __future__ import annotations

import gc
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Scripts; they need jax, SciPy, or several devices.
collect_ignore = ["communication.py", "data_parallel.py", "neighbours.py", "record_random.py", "scipy_functions.py"]
collect_ignore += ["soak.py", "divided_arrays.py"]

# Modules about our rules and NumPy's answers, and about this suite: where two Pythons run the laws, one of them asks.
# Each of the two asks about interrupts, tracebacks, depth, state, processes, and what each jaxlib compiles by itself.
DIVIDED = ["array_api/*", "signal/*", "test_*_beside_scipy", "test_bugs_of_c*", "test_caches_of_*", "test_checkpoint"]
DIVIDED += ["test_compilation_cache", "test_custom_*", "test_fft", "test_idioms", "test_implicit", "test_indexing"]
DIVIDED += ["test_interoperation", "test_lists", "test_map_in_batches", "test_matrix_derivatives", "test_missing_rules"]
DIVIDED += ["test_named_axes", "test_numpy_programs", "test_python_scalars", "test_random*", "test_real_problems"]
DIVIDED += ["test_sampling", "test_scipy*", "test_settings_*", "test_special_functions"]


def pytest_itemcollected(item):
    if item.path.is_relative_to(Path(__file__).parent):
        module = item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
        if any(fnmatch(module, name) for name in DIVIDED):
            item.add_marker("divided")


@pytest.fixture
def few_objects():
    """Let searches for garbage and for leaks pass over the objects made before the test: 0.1 s for each search."""
    gc.freeze()
    yield
    gc.unfreeze()
