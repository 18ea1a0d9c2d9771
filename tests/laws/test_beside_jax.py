"""Importing jax before or after calque changes nothing on either side."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")

OURS = """
import numpy as np
from calque_autodiff import grad
from calque_core import lax
from calque_xla_backend import jit
x = np.linspace(0.0, 1.0, 5)
function = jit(lambda x: lax.sin(x) * 2.0)
print("ours", repr(function(x)), repr(function(function(x))))
print("ours", repr(grad(lambda x: function(x).sum())(x)), np.add(x, x).dtype)
"""
THEIRS = """
import jax, jax.numpy as jnp, numpy as np
y = np.linspace(0.0, 1.0, 5)
theirs = jax.jit(lambda y: jnp.sin(y) * 2.0)
print("theirs", repr(theirs(y)), repr(jax.grad(lambda y: theirs(y).sum())(jnp.asarray(y))), jax.config.jax_enable_x64)
print("theirs", jax.jit(lambda y: jax.pure_callback(np.negative, y, y))(jnp.asarray(y)))
with jax.enable_x64(True):
    print("theirs", repr(theirs(y)))
"""


def side(name, *scripts):
    """Run scripts one after the other in a process of their own; return what one side printed."""
    text = "\n".join(["", *scripts])
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=True)
    kept, mine = [], False
    for line in run.stdout.splitlines():
        mine = line.startswith(name) or (mine and not line.startswith(("ours", "theirs")))
        kept += [line] if mine else []
    assert kept
    return kept


@pytest.mark.parametrize(("name", "alone"), [("ours", OURS), ("theirs", THEIRS)])
def test_neither_side_notices_the_other(name, alone):
    want = side(name, alone)
    assert side(name, OURS, THEIRS) == want
    assert side(name, THEIRS, OURS) == want
    assert side(name, OURS, THEIRS, OURS, THEIRS) == want * 2


@pytest.mark.sampled(keep=0.0)
@pytest.mark.parametrize("bits", ["32", "64"])
@pytest.mark.parametrize("first", ["calque", "jax"])
def test_both_are_right_in_turns_and_take_arrays_of_the_other(first, bits, is_drawn):
    script = Path(__file__).parent / "neighbours.py"
    rounds = "3" if is_drawn("three rounds", 0.0) else "1"
    command = [sys.executable, "-W", "ignore", script, first, bits, rounds]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "both are right\n"), run.stderr
