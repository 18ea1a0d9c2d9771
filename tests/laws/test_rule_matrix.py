"""No silent hole: each primitive has a rule of each kind, or says why it has none."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import calque_autodiff
import calque_batching
import calque_jet
import calque_xla_backend
from calque_core import Primitive, lax, rule_matrix
from calque_core.kits.matrix import FAMILIES, KINDS, standard_primitives, state_of

READERS = (calque_autodiff, calque_jet, calque_batching, calque_xla_backend)  # imported for the rules that they bring


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("primitive", standard_primitives(), ids=str)
def test_there_is_a_rule_or_a_reason(primitive, kind):
    state = state_of(primitive, kind)
    assert state == "rule" or len(state.removeprefix("hole: ").split()) > 2, state


@pytest.mark.parametrize("kind", ["impl", "abstract_eval"])
def test_types_and_evaluation_have_no_holes(kind):
    assert {state_of(p, kind) for p in standard_primitives()} == {"rule"}


def test_a_silent_hole_is_seen():
    primitive = Primitive("unheard_of")
    assert [state_of(primitive, kind) for kind in KINDS] == ["missing"] * len(KINDS)
    assert rule_matrix([primitive]).splitlines()[1].split() == ["unheard_of", *"-" * len(KINDS)]


def test_the_table_is_of_the_primitives_of_lax_and_of_the_families():
    modules = [lax, *map(importlib.import_module, FAMILIES)]
    named = [getattr(m, name) for m in modules for name in m.__all__ if name.endswith("_p")]
    assert set(standard_primitives()) == set(named)


def test_the_reason_of_a_hole_is_in_the_error():
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'sin' not implemented") as caught:
        calque_autodiff.linear_transpose(lax.sin, 1.0)(1.0)
    assert "There is none because it is not linear" in str(caught.value)


def test_the_command_prints_the_table():
    run = subprocess.run([sys.executable, "-m", "calque"], capture_output=True, text=True, check=True)
    header, *rows = run.stdout.split("\n\n")[0].splitlines()
    assert header.split() == list(KINDS)
    assert [row.split()[0] for row in rows] == [p.name for p in standard_primitives()]
    assert all(set(row.split()[1:]) <= {"+", "."} for row in rows)
    assert run.stdout.split("\n\n")[1].count("\n") >= sum(row.count(" .") for row in rows)


@pytest.mark.parametrize("primitive", standard_primitives(), ids=str)
def test_what_core_calls_elementwise_batches_as_such(primitive):
    """Reductions by a function rely on it: they apply a program of scalars to whole arrays."""
    form = getattr(primitive.rules.get("batch"), "__qualname__", "").partition(".")[0]
    assert primitive.is_elementwise == (form in ("_vectorize", "_broadcasting") or primitive is lax.add_any_p)
