"""Taylor rules of windows, against nested series of order 1, and these against central differences."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from calque_core import lax

RULES = Path(__file__).parents[3] / "packages" / "jet" / "tests" / "test_rules.py"
check_jet = runpy.run_path(str(RULES))["check_jet"]
pytestmark = pytest.mark.sampled(keep=0.3)

FUNCTIONS = {
    "reduce_window sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), None, "SAME"),
    "reduce_window max": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), None, "SAME"),
    "reduce_window min": lambda x: lax.reduce_window(x, np.inf, lax.min, (1, 2)),
    "reduce_window product": lambda x: lax.reduce_window(x, 1.5, lax.mul, (2, 2)),
    "select_and_gather_add": lambda x: lax.select_and_gather_add(x, x, lax.ge_p, (2, 2)),
    "select_and_scatter_add": lambda x: lax.select_and_scatter_add(x, x, lax.ge_p, (1, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_array(name, spaced):
    check_jet(FUNCTIONS[name], spaced((2, 3), -0.7, 0.8))


def test_convolutions_of_two_series(spaced):
    check_jet(lambda x, k: lax.conv(x, k, (1,), "SAME"), spaced((1, 2, 3)), spaced((2, 2, 2), seed=1))
