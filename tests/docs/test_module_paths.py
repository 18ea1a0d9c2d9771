"""The page on the facade lists each module path that it has for the sake of jax's names."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import calque

PAGE = Path(__file__).parents[2] / "docs" / "calque.md"
OURS = "__main__", "doctor", "exporting", "jacobians", "line_search", "minimizing", "missing", "ode", "testing"
NO_PATHS_OF_JAX = {f"calque.{name}" for name in OURS}


def test_the_page_lists_each_module_of_the_facade():
    found = {module.name for module in pkgutil.walk_packages(calque.__path__, "calque.")} - NO_PATHS_OF_JAX
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert {line.split("`")[1] for line in lines if line.startswith("| `calque.")} == found
