"""Compiled programs for several devices communicate no more than jax's: the programs of `communication.py`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="the peer of this test")

SCRIPT = Path(__file__).with_name("communication.py")
PROGRAMS = next(node for node in ast.parse(SCRIPT.read_text()).body if isinstance(node, ast.ClassDef))
NAMES = [node.name for node in PROGRAMS.body if isinstance(node, ast.FunctionDef)][3:]


@pytest.fixture(scope="module")
def traffic():
    """Return the number and bytes of each kind of collective, ours and jax's, by program."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return {name: (ours, theirs) for name, ours, theirs in map(ast.literal_eval, done.stdout.splitlines())}


def test_there_are_ten_programs_or_more():
    assert len(NAMES) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_a_program_has_no_more_collectives_and_bytes_than_in_jax(name, traffic):
    ours, theirs = traffic[name]
    assert theirs
    for kind, (count, size) in ours.items():
        assert kind in theirs
        assert count <= theirs[kind][0]
        assert size <= theirs[kind][1]


def test_a_gathered_weight_has_a_gradient_by_one_reduce_scatter_and_no_second_gather(traffic):
    ours, _ = traffic["the_gradient_through_gathered_weights"]
    assert ours["all-gather"][0] == ours["reduce-scatter"][0] == 1
    assert "all-gather" not in traffic["a_sum_of_which_each_keeps_its_part"][0]
