"""Long runs leave nothing behind: `soak.py` counts programs, device arrays and memory in a process of its own.

A run without `--full` draws one or two of the runs, and makes them short.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "soak.py"
MEGABYTE = 2**20
SHORT = {"calls": "10 1000", "drops": "1", "errors": "2", "train": "300", "threads": "20", "forks": "2"}
LONG = {"calls": "200 10000", "drops": "20", "errors": "50", "train": "10000", "threads": "200", "forks": "20"}
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs use fork and pages of memory")


def soak(name: str, is_long: bool):
    """Return the figures of a run."""
    command = [sys.executable, SCRIPT, name, *(LONG if is_long else SHORT)[name].split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_calls(figures, is_long):
    assert figures["signatures"] == (200 if is_long else 10)  # arrays on the host and on the device share one
    assert (figures["programs"], figures["arrays"]) == (0, 0)
    assert figures["blocks"] < 5000  # caches; a block for each call of a long run is more
    assert figures["bytes"] < MEGABYTE


def check_drops(figures, is_long):
    grown = {name: (row["programs"], row["arrays"], row["tables"]) for name, row in figures.items()}
    assert grown == dict.fromkeys(figures, (0, 0, 0))
    assert len(figures) > 10
    assert sum(row["bytes"] for row in figures.values()) < (64 if is_long else 24) * MEGABYTE


def check_errors(figures, is_long):
    assert (figures["programs"], figures["arrays"]) == (0, 0)


def check_train(figures, is_long):
    assert (figures["programs"], figures["arrays"]) == (0, 0)
    assert figures["blocks"] < 5000
    assert figures["bytes"] < MEGABYTE


def check_threads(figures, is_long):
    """A program keeps memory for the arguments of as many calls as ran at once, and of two more (`calls/arena.py`)."""
    assert figures["wrong"] == []
    assert (figures["programs"], figures["arrays"]) == (0, figures["in arenas"])


def check_forks(figures, is_long):
    assert figures["codes"] == [0] * int((LONG if is_long else SHORT)["forks"])


CHECKS = [check_calls, check_drops, check_errors, check_train, check_threads, check_forks]


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_a_long_run_leaves_nothing_behind(check, is_drawn):
    is_long = is_drawn("long", 0.0)
    check(soak(check.__name__.removeprefix("check_"), is_long), is_long)
