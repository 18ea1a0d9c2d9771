"""Lets the tests of this folder share their tables: each file is imported by path, which finds no neighbours."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Scripts; they need jax, SciPy, or several devices.
collect_ignore = ["communication.py", "data_parallel.py", "neighbours.py", "record_random.py", "scipy_functions.py"]
collect_ignore += ["soak.py"]


@pytest.fixture
def few_objects():
    """Let searches for garbage and for leaks pass over the objects made before the test: 0.1 s for each search."""
    gc.freeze()
    yield
    gc.unfreeze()
